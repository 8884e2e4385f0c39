package livedir_test

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/sample"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// A mover is a program that records a tree, with all that there may be beside one, or samples, or both.
type mover struct {
	r     *rand.Rand
	tree  *recordtest.Dir // nil without
	funcs []uint64
	nodes []int
	alloc uint64
	wait  uint64
	calls int // entries of the log
	stack int // strings of the checker
	still bool

	samples  *sample.Samples // nil without
	memory   fstest.MapFS
	requests []byte
	pending  []uint64
}

func newMover(seed uint64, tree, samples bool) *mover {
	m := &mover{r: rand.New(rand.NewPCG(seed, 7))}
	if tree {
		m.tree = recordtest.New(2, "prog")
		m.alloc, m.wait = m.tree.Alloc("main.T"), m.tree.Wait("sleep")
		m.tree.Header(func(h *layout.Header) { h.Flags |= layout.HdrFlagInuse })
		m.tree.Inuse = make([]byte, layout.InuseHeaderSize)
		m.nodes = []int{recordtest.Root}
		m.function()
	}
	if samples {
		m.samples = new(sample.Samples)
		m.memory = newSampledDirOf(m.samples, 1<<12, 1<<18)
		if tree {
			m.samples.Configure(layout.SamplerSPS, layout.WalkContext, 1e6, 0)
		}
		mem := make([]uint64, (layout.RequestsHeaderSize+32*layout.RequestSize)/8)
		m.requests = unsafe.Slice((*byte)(unsafe.Pointer(&mem[0])), 8*len(mem))
		m.samples.InitRequests(unsafe.Pointer(&mem[0]), uintptr(len(m.requests)))
	}
	m.act(20)
	return m
}

// files returns what is in use.
func (m *mover) files() map[string][]byte {
	files := make(map[string][]byte)
	if m.tree != nil {
		maps.Copy(files, m.tree.Files())
	}
	if m.samples != nil {
		h := raw.Load[layout.SampleHeader](m.memory["samples"].Data)
		files["samples"] = m.memory["samples"].Data[:layout.SampleHeaderSize+h.Used*layout.SampleNodeSize]
		files["places"] = m.memory["places"].Data[:h.Places]
		made := min(raw.Load[layout.RequestsHeader](m.requests).Made, 32)
		files["requests"] = m.requests[:layout.RequestsHeaderSize+made*layout.RequestSize]
	}
	return files
}

func (m *mover) act(times int) {
	for range times {
		if m.tree != nil && (m.samples == nil || m.r.IntN(2) == 0) {
			m.call()
		} else {
			m.sample()
		}
	}
}

// function records a new function, and all functions have three cells and two counters.
func (m *mover) function() {
	f := recordtest.Func{Name: fmt.Sprintf("main.f%d", len(m.funcs)), Files: []string{"main.go"}}
	for k := range 3 {
		f.Sites = append(f.Sites, recordtest.Site{Kind: layout.SiteCall, Line: k + 1, Cell: k + 1})
	}
	f.Inlined = []recordtest.Inlined{{Callee: "main.inlined", Line: 9, Counter: 2}}
	m.funcs = append(m.funcs, m.tree.Func(f))
}

// call does something that the tree, or a file beside it, has afterwards.
func (m *mover) call() {
	d, r := m.tree, m.r
	at := m.nodes[r.IntN(len(m.nodes))]
	switch k := r.IntN(20); {
	case k == 0:
		m.function()
	case k == 1 && len(d.Shards) < 9:
		d.Shards = append(d.Shards, make([]byte, len(d.Tree)))
		d.Header(func(h *layout.Header) { h.Shards = uint32(len(d.Shards)) })
	case k == 2:
		d.Table(4)
	case k < 5:
		n := d.Node(at, r.IntN(3), []uint64{m.alloc, m.wait}[r.IntN(2)])
		d.Count(r.IntN(len(d.Shards)), n, r.IntN(2), 1+r.Uint64N(9))
		if raw.Load[layout.Node](d.Tree[n:]).Func == m.alloc && !m.still {
			d.Counted(n, 1+r.Uint64N(9), 16)
		}
	case k < 8 && len(m.nodes) > 1:
		m.calls++
		d.Enter(1, m.nodes[len(m.nodes)-1])
	case k < 9:
		m.stack++
		d.AddCheck(recordtest.Check{Node: at, Events: 1, Start: recordtest.Root}, recordtest.Frame{
			Func: fmt.Sprintf("main.checked%d", m.stack), File: fmt.Sprintf("%d.go", m.stack), Line: 3})
	case k < 14:
		n := d.Node(at, r.IntN(3), m.funcs[r.IntN(len(m.funcs))])
		m.nodes = append(m.nodes, n)
		d.Count(r.IntN(len(d.Shards)), n, r.IntN(2), 1)
	case at != recordtest.Root:
		d.Count(r.IntN(len(d.Shards)), at, r.IntN(2), 1+r.Uint64N(9))
	}
}

// sample takes a sample, and answers one that it was asked for.
func (m *mover) sample() {
	s, base := m.samples, uint32(0)
	if m.tree != nil {
		base = s.Child(0, layout.PCNode|uintptr(m.nodes[m.r.IntN(len(m.nodes))]))
	}
	pcs := make([]uintptr, 1+m.r.IntN(4))
	for i := range pcs {
		pcs[i] = uintptr(1010 + 10*m.r.IntN(50)) // no wrappers, see describe
	}
	n := s.Stack(base, pcs)
	s.Add(n, m.r.IntN(2), 10, 1)
	switch m.r.IntN(6) {
	case 0:
		s.Request(uint64(m.r.IntN(100)), 5, 1, n, true)
	case 1:
		m.pending = append(m.pending, s.Request(7, 5, 1, s.Child(s.Child(0, layout.PCPending), pcs[0]), false))
	case 2:
		for _, q := range m.pending {
			s.Answer(q, n)
		}
		m.pending = nil
	}
	describe(s)
}

// valuesOf returns the values of a profile by path, and 1 for each context, but for what is known of requests: that
// goes when they are answered.
func valuesOf(p *profile.Profile) map[string]uint64 {
	paths, values := make([]string, len(p.Nodes)), make(map[string]uint64)
	for i, n := range p.Nodes {
		f := &p.Funcs[n.Func]
		name := p.String(f.Name)
		for _, fr := range f.Frames {
			name += p.String(fr.Func)
		}
		if i > 0 {
			paths[i] = fmt.Sprintf("%s/%d %s", paths[n.Parent], n.Cell, name)
		}
		if strings.Contains(paths[i], "[pending]") {
			continue
		}
		values["context "+paths[i]] = 1
		for _, c := range p.Columns {
			if c.Name != profile.Calls.Name {
				values[c.Name+paths[i]] += c.Values[i]
			}
		}
		if p.Has(profile.Calls) {
			for k, v := range p.NodeCounts(i) {
				values[fmt.Sprint("calls ", k, paths[i])] += v
			}
		}
	}
	return values
}

// check reads the directory while the program does what act says, and compares what was read with what there was
// before and afterwards.
func (m *mover) check(t *testing.T, what string, dir *recordtest.Moving) {
	t.Helper()
	frozen := func() map[string]uint64 {
		p, err := readInuse(&recordtest.Moving{Files: m.files, Ended: dir.Ended})
		if err != nil {
			t.Fatalf("%s: what stands still: %v", what, err)
		}
		return valuesOf(p)
	}
	before, calls, stack := frozen(), m.calls, m.stack
	l, err := livedir.Open(dir)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	have, after := valuesOf(l.Profile), frozen()
	p := l.Process()
	if len(p.Notes) > 0 || len(p.Losses) > 0 && m.samples == nil {
		t.Fatalf("%s: notes %q, losses %+v", what, p.Notes, p.Losses)
	}
	for key, n := range before {
		if have[key] < n {
			t.Fatalf("%s: %s: %d, was %d before", what, key, have[key], n)
		}
	}
	for key, n := range have {
		if after[key] < n {
			t.Fatalf("%s: %s: %d, is %d afterwards", what, key, n, after[key])
		}
		if strings.Contains(key, "unknown") {
			t.Fatalf("%s: %s was described at once", what, key)
		}
	}
	if m.tree != nil {
		m.checkBeside(t, what, l, calls, stack)
	}
}

// checkBeside reads the log of calls and the checks: as many as there were, and all that they refer to is there.
func (m *mover) checkBeside(t *testing.T, what string, l *livedir.Dir, calls, stack int) {
	t.Helper()
	if c, err := l.Calls(); err == nil {
		n := 0
		for ; err == nil; n++ {
			_, err = c.Next()
		}
		if n--; err != io.EOF || n < calls {
			t.Fatalf("%s: %d entries, %v, were %d before", what, n, err, calls)
		}
		c.Close()
	} else if calls > 0 {
		t.Fatalf("%s: %v", what, err)
	}
	n := 0
	err := l.Checks(func(c *livedir.Check) error {
		n++
		if want := fmt.Sprint("main.checked", n); c.Frames[0].Func != want {
			return fmt.Errorf("check %d has %q, want %s", n, c.Frames[0].Func, want)
		}
		return nil
	})
	if err != nil || n < stack {
		t.Fatalf("%s: %d checks, %v, were %d before", what, n, err, stack)
	}
}

// TestMoving stops the reader at each of its steps, and lets the program go on there: a little, so much that all files
// grow, or to its end, where they are cut. Then it does something before each step.
func TestMoving(t *testing.T) {
	livedir.Window(t, 200)
	steps := 0
	for seed := range uint64(4) {
		tree, samples := seed%3 != 1, seed%3 != 0
		still := newMover(seed, tree, samples)
		count := &recordtest.Moving{Files: still.files}
		still.check(t, "nothing happens", count)
		for at := 0; at < count.Steps; at += level.Rounds(5, 1) + int(seed/3) {
			for _, burst := range []int{3, 150, -150} {
				m := newMover(seed, tree, samples)
				dir := &recordtest.Moving{Files: m.files}
				dir.Act = func(step int) {
					if step == at {
						m.act(max(burst, -burst))
						dir.Ended = burst < 0
					}
				}
				m.check(t, fmt.Sprintf("seed %d, step %d of %d, %d actions", seed, at, count.Steps, burst), dir)
				steps++
			}
		}
		m := newMover(seed, tree, samples)
		dir := &recordtest.Moving{Files: m.files, Act: func(int) {
			m.act(m.r.IntN(3))
		}}
		m.still = true // else there would always be another count of what is reachable
		for round := range 5 {
			m.check(t, fmt.Sprintf("seed %d, round %d", seed, round), dir)
		}
	}
	t.Logf("%d steps", steps)
}
