package decode_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/encoder"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// A lucceProgram runs at random, encoded by package layout, beside a plain slice of calls and
// the reference encoder.
type lucceProgram struct {
	t       testing.TB
	l       *recordtest.Lucce
	ref     *encoder.Lucce
	prog    *encoder.Program
	funcs   []*recordtest.LucceFunc
	targets [][][]int // by function and site
	first   []encoder.Site
	root    encoder.Site
	stack   []lucceFrame
	from    [2]uint64 // what the goroutine began with
	took    []lucceContext
	cut     int // contexts of segments that have ended
}

// A lucceFrame is an invocation; outer is what is further out than the first frame of a goroutine.
type lucceFrame struct {
	recordtest.LucceFrame
	fn, site int // site is where it calls the next one
	outer    string
}

// A lucceContext is a context with what it must decode to.
type lucceContext struct {
	id   ctxid.ID
	want string
	ref  encoder.Context
	// calls is what the reference must decode to, nil if the program did what it does not know.
	calls []encoder.Call
}

// newLucceProgram makes a program of n functions. Each site may call any of a few functions.
func newLucceProgram(t testing.TB, next func(n int) int, n int, budget uint64) *lucceProgram {
	p := &lucceProgram{t: t, l: recordtest.NewLucce(t, budget), prog: encoder.NewProgram()}
	for i := range n {
		sites := 1 + next(4)
		p.funcs = append(p.funcs, p.l.Func(fmt.Sprint("main.f", i), sites))
		p.l.Root(p.l.Func(fmt.Sprint("main.none", i), 0), layout.RootInit) // it shares its first site with the next one
		f := p.prog.AddFunc()
		p.first = append(p.first, encoder.Site(len(p.prog.Sites)))
		var targets [][]int
		for range sites {
			p.prog.AddSite(f, encoder.Dynamic)
			var list []int
			for range 1 + next(3) {
				list = append(list, next(n))
			}
			targets = append(targets, list)
		}
		p.targets = append(p.targets, targets)
	}
	p.root = p.prog.AddSite(encoder.Root, encoder.Dynamic)
	p.ref = encoder.NewLucce(p.prog, encoder.LucceLimit, encoder.LucceBudget)
	p.enterRoot(0)
	return p
}

func (p *lucceProgram) enterRoot(fn int) {
	p.stack = []lucceFrame{{p.l.Root(p.funcs[fn], layout.RootMain), fn, 0, "[main]"}}
	p.from = [2]uint64{layout.RootMain, 0}
	p.ref.Unwind(encoder.Main, 0)
	p.ref.Call(encoder.Main, p.root, encoder.Func(fn+1))
}

// step lets the program do one thing.
func (p *lucceProgram) step(next func(n int) int) {
	top := &p.stack[len(p.stack)-1]
	top.site = next(len(p.targets[top.fn]))
	list := p.targets[top.fn][top.site]
	target := list[next(len(list))]
	switch op := next(100); {
	case op < 60 && len(p.stack) < 600:
		f := p.l.Call(top.LucceFrame, top.site, p.funcs[target])
		p.stack = append(p.stack, lucceFrame{f, target, 0, ""})
		if p.ref != nil {
			p.ref.Call(encoder.Main, p.first[top.fn]+encoder.Site(top.site), encoder.Func(target+1))
		}
	case op < 95:
		keep := max(1, len(p.stack)-1-next(3)*next(4))
		p.stack = p.stack[:keep]
		if p.ref != nil {
			p.ref.Unwind(encoder.Main, keep)
		}
	case op < 97: // the rest of the program is a goroutine
		p.from = p.l.Began(top.LucceFrame, top.site)
		f := p.l.Go(top.LucceFrame, top.site, p.funcs[target])
		p.stack, p.ref = []lucceFrame{{f, target, 0, p.want("go ")}}, nil
	case op < 98:
		f := p.l.Fault(top.LucceFrame, top.site, p.funcs[target])
		top.site += 999
		p.stack, p.ref = append(p.stack, lucceFrame{f, target, 0, ""}), nil
	case op < 99:
		p.ref = nil
		p.stack = []lucceFrame{{p.l.Root(p.funcs[target], layout.RootTimer), target, 0, "[timer]"}}
		p.from = [2]uint64{layout.RootTimer, 0}
	default: // as the runtime calls back what empties pools
		p.ref = nil
		f := p.l.RootOn(top.LucceFrame, p.funcs[target], layout.RootGC)
		p.stack = append(p.stack, lucceFrame{f, target, 0, "[gc]"})
	}
}

// want returns the stack, with a word behind its first arrow, innermost frame first.
func (p *lucceProgram) want(how string) string {
	var b strings.Builder
	for i := len(p.stack) - 1; i >= 0; i-- {
		f := &p.stack[i]
		fmt.Fprintf(&b, "%s%s m.go:%d ← ", how, f.Func.Name, f.site+1)
		how = ""
		if f.outer != "" {
			return b.String() + f.outer
		}
	}
	return b.String()
}

func (p *lucceProgram) capture(next func(n int) int) {
	top := &p.stack[len(p.stack)-1]
	top.site = next(len(p.targets[top.fn]))
	hi, lo := p.l.Capture(top.LucceFrame, top.site)
	c := lucceContext{id: ctxid.ID{Hi: hi, Lo: lo, Run: p.l.Run}, want: p.want("")}
	if p.ref != nil {
		c.ref = p.ref.Capture(encoder.Main)
		c.calls = []encoder.Call{{Site: p.root, Func: encoder.Func(p.stack[0].fn + 1)}}
		for i := range p.stack[1:] {
			c.calls = append(c.calls,
				encoder.Call{Site: p.first[p.stack[i].fn] + encoder.Site(p.stack[i].site),
					Func: encoder.Func(p.stack[i+1].fn + 1)})
		}
	}
	p.took = append(p.took, c)
}

// check decodes all that was captured, and returns how many contexts were truncated.
func (p *lucceProgram) check(ref *encoder.Lucce) (truncated int) {
	p.t.Helper()
	return p.checkIn(p.l.FS(), ref)
}

// checkIn is check for a record.
func (p *lucceProgram) checkIn(files fs.FS, ref *encoder.Lucce) (truncated int) {
	p.t.Helper()
	prof, err := record.Open(files)
	if err != nil {
		p.t.Fatal(err)
	}
	d := decode.New(prof)
	for i, c := range p.took {
		s, err := d.Decode(c.id)
		if err != nil {
			p.t.Fatalf("context %d: %v", i, err)
		}
		have := strings.ReplaceAll(string(s.AppendLine(nil, -1)), "←go ", "← go ")
		if outer, ok := strings.CutSuffix(have, "[truncated: "+s.Cut()+"]"); ok && s.Cut() != "" {
			truncated++
			if !strings.HasPrefix(c.want, outer) {
				p.t.Fatalf("context %d: have %s, want a beginning of %s", i, have, c.want)
			}
			continue
		}
		if have != c.want {
			p.t.Fatalf("context %d:\nhave %s\nwant %s", i, have, c.want)
		}
		if c.calls == nil {
			continue
		}
		calls, err := ref.Decode(c.ref)
		if lost := (*encoder.TruncatedError)(nil); err != nil && !errors.As(err, &lost) ||
			err == nil && !slices.Equal(calls, c.calls) {
			p.t.Fatalf("context %d: the reference has %v, %v, want %v", i, calls, err, c.calls)
		}
	}
	return truncated
}

// TestLucceTheorem1 decodes the contexts of random programs: De(n, En(π)) = π. Recursion
// takes them far beyond 63 bits. Where few are captured, most entries of the ccStack are
// overwritten before anything interns them.
func TestLucceTheorem1(t *testing.T) {
	contexts, versions, entries, slow, steps, beyond := 0, uint64(0), 0, 0, 0, 0
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		p := newLucceProgram(t, r.IntN, 2+int(seed%25), 0)
		ref := p.ref
		seldom := []int{1, 10, 200}[seed%3]
		for range 3000 * min(seldom, 20) {
			p.step(r.IntN)
			if r.IntN(seldom) == 0 {
				p.capture(r.IntN)
			}
			steps++
		}
		if n := p.check(ref); n > 0 {
			t.Errorf("seed %d: %d contexts are truncated", seed, n)
		}
		contexts += len(p.took)
		versions += p.l.Header().NodesUsed
		entries += int(p.l.Stats().LogUsed / layout.LogEntrySize)
		slow += p.l.Slow
		beyond += p.beyond()
	}
	t.Logf("%d contexts, %d versions, %d entries in logs, %d of %d calls not on the fast path", contexts, versions,
		entries, slow, steps)
	if beyond < 100 {
		t.Errorf("%d paths went beyond 63 bits, want many", beyond)
	}
}

// rotate ends a segment, and decodes what was captured in it. It does not while a root has begun on top of others: then
// the world is stopped.
func (p *lucceProgram) rotate(r *rand.Rand) {
	var g *recordtest.LucceGoroutine
	old := p.l.Rotate(r, func() {
		for n := r.IntN(30); n > 0 || p.onTop(); n-- {
			p.step(r.IntN)
		}
	}, func() *recordtest.LucceGoroutine {
		g = &recordtest.LucceGoroutine{From: p.from}
		for i := range p.stack {
			f := &p.stack[i]
			site, pc := f.site, f.Func.Return(f.site)
			if site >= 999 {
				site, pc = -1, f.Func.Return(site-999)+1
			}
			g.Frames, g.Returns, g.Sites = append(g.Frames, &f.LucceFrame), append(g.Returns, pc), append(g.Sites, site)
		}
		return g
	})
	if old != nil {
		p.from = g.From
		p.cut += p.checkIn(old, nil)
		p.took = p.took[:0]
	}
}

// onTop reports whether a root has begun on top of others.
func (p *lucceProgram) onTop() bool {
	return slices.ContainsFunc(p.stack[1:], func(f lucceFrame) bool { return f.outer != "" })
}

// TestLucceSegments ends segments of random programs at any moment, and decodes each ID by its segment. Walks have room
// for few steps, and stacks are walked part by part. With a small budget contexts are cut, and never wrong.
func TestLucceSegments(t *testing.T) {
	contexts, segments, left, beyond, started := 0, 0, 0, 0, 0
	for seed := range level.Rounds[uint64](150, 1000) {
		r := rand.New(rand.NewPCG(seed, 19))
		budget := uint64(0)
		if seed%4 == 3 {
			budget = 8 + seed
		}
		p := newLucceProgram(t, r.IntN, 2+int(seed%25), budget)
		p.ref = nil
		p.l.Segmented(1 + r.IntN(4))
		seldom := []int{1, 10, 50}[seed%3]
		for range 200 * seldom {
			p.step(r.IntN)
			if r.IntN(seldom) == 0 {
				p.capture(r.IntN)
				contexts++
			}
			if r.IntN(40*seldom) == 0 {
				beyond += p.beyond()
				p.rotate(r)
			}
			if p.from[1] != 0 {
				started++
			}
		}
		if p.cut += p.check(nil); p.cut > 0 && budget == 0 {
			t.Errorf("seed %d: %d contexts are cut", seed, p.cut)
		}
		segments, left = segments+p.l.Segments, left+p.l.Left
	}
	t.Logf("%d contexts, %d segments, %d did not begin, %d entries beyond 63 bits", contexts, segments, left, beyond)
	if segments < 100 || left < 10 || beyond < 50 || started < 1000 {
		t.Error("want many")
	}
}

// TestLucceSegmentsLost loses pages while segments end. Without interned entries contexts are cut, and never wrong.
// Without a part of the log no segment begins any more, and the one that is there decodes all.
func TestLucceSegmentsLost(t *testing.T) {
	segments, stay, cut := 0, 0, 0
	for seed := range level.Rounds[uint64](30, 300) {
		r := rand.New(rand.NewPCG(seed, 23))
		p := newLucceProgram(t, r.IntN, 2+int(seed%20), 0)
		p.ref = nil
		p.l.Segmented(1 + r.IntN(9))
		for i := range 1500 {
			p.step(r.IntN)
			p.capture(r.IntN)
			switch {
			case seed%4 == 0 && i == 700:
				p.l.LoseLog(r)
			case r.IntN(100) == 0:
				p.l.LoseNodes(r)
			case r.IntN(60) == 0:
				before, left := p.l.Segments, p.l.Left
				p.rotate(r)
				if seed%4 == 0 && i > 700 {
					stay += p.l.Left - left
					if p.l.Segments != before {
						t.Fatalf("seed %d: a segment begins without a part of the log", seed)
					}
				}
			}
		}
		cut += p.cut + p.check(nil)
		segments += p.l.Segments
	}
	t.Logf("%d segments, %d did not begin, %d contexts are cut", segments, stay, cut)
	if segments < 100 || stay < 20 || cut == 0 {
		t.Error("want many")
	}
}

// TestLucceRootOnTop lets a root begin on top of a deep recursion and recur as deep: what it pushes must not
// lie where the frames below have their entries.
func TestLucceRootOnTop(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	p := newLucceProgram(t, r.IntN, 9, 0)
	p.ref = nil
	deep := func(n int) {
		for want := len(p.stack) + n; len(p.stack) < want; {
			top := &p.stack[len(p.stack)-1]
			top.site = r.IntN(len(p.targets[top.fn]))
			list := p.targets[top.fn][top.site]
			target := list[r.IntN(len(list))]
			p.stack = append(p.stack, lucceFrame{p.l.Call(top.LucceFrame, top.site, p.funcs[target]), target, 0, ""})
		}
	}
	for range 20 { // the edges are known, and there is room
		deep(300)
		p.stack = p.stack[:1]
	}
	for range 20 {
		deep(200)
		top := &p.stack[len(p.stack)-1]
		p.stack = append(p.stack, lucceFrame{p.l.RootOn(top.LucceFrame, p.funcs[0], layout.RootGC), 0, 0, "[gc]"})
		deep(200)
		p.capture(r.IntN)
		p.stack = p.stack[:200]
		p.capture(r.IntN)
		p.stack = p.stack[:1]
	}
	if n := p.check(nil); n > 0 {
		t.Errorf("%d contexts are truncated", n)
	}
}

// beyond returns how many versions begin at a call: there an id would have passed 63 bits.
func (p *lucceProgram) beyond() (n int) {
	nodes := p.l.FS()["nodes"].Data
	for ; len(nodes) > 0; nodes = nodes[layout.InternedSize:] {
		if raw.Load[layout.Interned](nodes).Kind == layout.InternSite {
			n++
		}
	}
	return n
}

// TestLucceBudget checks that contexts are truncated, and never wrong, when there is no room.
func TestLucceBudget(t *testing.T) {
	truncated := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 8))
		p := newLucceProgram(t, r.IntN, 10, 8+seed)
		ref := p.ref
		for range 2000 {
			p.step(r.IntN)
			p.capture(r.IntN)
		}
		truncated += p.check(ref)
		if have := p.l.Header().NodesUsed; have > 8+seed {
			t.Errorf("%d versions, want at most %d", have, 8+seed)
		}
	}
	if truncated == 0 {
		t.Error("no context was truncated")
	}
}

// TestLucceCrowded enters functions for which there is no room: their contexts are cut, and the record is read.
func TestLucceCrowded(t *testing.T) {
	l := recordtest.NewSmallLucce(t)
	const sites = 1<<13 - 1
	f := l.Root(l.Func("main.main", 1), layout.RootMain)
	for i := range recordtest.SmallSites / sites {
		f = l.Call(f, 0, l.Func(fmt.Sprint("main.f", i), sites))
	}
	refused := l.Func("main.refused", sites)
	id := func(f recordtest.LucceFrame) ctxid.ID {
		hi, lo := l.Capture(f, 0)
		return ctxid.ID{Hi: hi, Lo: lo, Run: recordtest.Run}
	}
	whole := id(f)
	var cut []ctxid.ID
	for _, g := range []recordtest.LucceFrame{l.Call(f, 0, refused), l.Fault(f, 0, refused),
		l.Root(refused, layout.RootTimer), l.RootOn(f, refused, layout.RootGC)} {
		cut = append(cut, id(g), id(l.Call(g, 0, l.Func("main.leaf", 1))), id(l.Go(g, 0, l.Func("main.started", 1))))
	}
	prof, err := record.Open(l.FS())
	if err != nil {
		t.Fatal(err)
	}
	d := decode.New(prof)
	if s, err := d.Decode(whole); err != nil || len(s.Path()) != 1+recordtest.SmallSites/sites || s.Cut() != "" {
		t.Errorf("have %v, %v, want a whole context", s.Path(), err)
	}
	for i, id := range cut {
		if s, err := d.Decode(id); err != nil || s.Cut() == "" || len(s.Path()) > 1 {
			t.Errorf("context %d: have %v, %v, want one that is cut", i, s.Path(), err)
		}
	}
}

// TestLucceRefused calls a function that has no bound from more sites than its ids can tell apart: a call of a further
// one is interned, and no edge is counted for it, however often it is repeated.
func TestLucceRefused(t *testing.T) {
	l := recordtest.NewLucce(t, 1<<20)
	const sites = 8000
	main := l.Root(l.Func("main.main", sites), layout.RootMain)
	f := l.Func("main.f", 2)
	for top, i := l.Call(main, 0, f), 0; i < 100; i++ {
		top = l.Call(top, i%2, f) // the levels take the bound away
	}
	var after []uint64
	for range 2 {
		for i := range sites {
			l.Call(main, i, f)
		}
		after = append(after, uint64(l.Header().Edges))
	}
	if after[0] != after[1] || after[0] < 1000 || after[0] >= sites {
		t.Errorf("%d edges after the first round, %d after the second", after[0], after[1])
	}
	hi, lo := l.Capture(l.Call(main, sites-1, f), 0)
	prof, err := record.Open(l.FS())
	if err != nil {
		t.Fatal(err)
	}
	s, err := decode.New(prof).Decode(ctxid.ID{Hi: hi, Lo: lo, Run: l.Run})
	if err != nil || s.Cut() != "" || len(s.Path()) != 2 {
		t.Errorf("have %v, %v, want a whole context", s.Path(), err)
	}
}

// TestLucceLost loses pages of the record while the program goes on: IDs must be those
// that the whole record decodes.
func TestLucceLost(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 14))
		p := newLucceProgram(t, r.IntN, 2+int(seed), 0)
		ref := p.ref
		for i := range 3000 {
			p.step(r.IntN)
			p.capture(r.IntN)
			if i%100 == 99 {
				p.l.Lose(r)
			}
		}
		if n := p.check(ref); n > 0 {
			t.Errorf("seed %d: %d contexts are truncated", seed, n)
		}
	}
}

// FuzzLucce runs the program that the input tells.
func FuzzLucce(f *testing.F) {
	f.Add([]byte{3, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, uint8(3))
	f.Add([]byte("calls and returns at random"), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, budget uint8) {
		next := func(n int) int {
			if len(data) == 0 {
				return 0
			}
			b := int(data[0])
			data = data[1:]
			return b % n
		}
		p := newLucceProgram(t, next, 1+next(12), 2+uint64(budget)*uint64(budget))
		ref := p.ref
		for len(data) > 0 {
			p.step(next)
			p.capture(next)
		}
		p.check(ref)
	})
}

// TestLucceExamples has the numbers of the paper: figure 3 (example 2), and example 4.
func TestLucceExamples(t *testing.T) {
	l := recordtest.NewLucce(t, 0)
	fn := func(name string) *recordtest.LucceFunc { return l.Func(name, 3) }
	a, x, b, c, d, e := fn("A"), fn("X"), fn("B"), fn("C"), fn("D"), fn("E")
	ids := func(f recordtest.LucceFrame, path ...any) (ids []uint64) {
		ids = append(ids, f.C)
		for i := 0; i < len(path); i += 2 {
			f = l.Call(f, path[i].(int), path[i+1].(*recordtest.LucceFunc))
			ids = append(ids, f.C)
		}
		return ids
	}
	for i, c := range []struct{ have, want []uint64 }{
		{ids(l.Root(a, layout.RootMain), 0, b, 0, c, 0, e), []uint64{0, 0, 0, 0}},
		{ids(l.Root(a, layout.RootMain), 0, b, 1, d, 0, e), []uint64{0, 0, 0, 1}},
		{ids(l.Root(x, layout.RootMain), 0, b, 1, d, 0, e), []uint64{0, 1, 1, 2}},
	} {
		if !slices.Equal(c.have, c.want) {
			t.Errorf("figure 3, graph %d: have %v, want %v", i+1, c.have, c.want)
		}
	}
	l = recordtest.NewLucce(t, 0)
	a, x, b, c, d = fn("A"), fn("A'"), fn("B"), fn("C"), fn("D")
	ids(l.Root(a, layout.RootMain), 0, b, 0, c, 0, d)
	if have, want := ids(l.Root(x, layout.RootMain), 0, b, 0, c, 0, d, 0, b, 0, c),
		[]uint64{0, 1, 1, 1, 3, 3}; !slices.Equal(have, want) {
		t.Errorf("example 4: have %v, want %v", have, want)
	}
	before := l.Stats().LogUsed
	f := l.Root(a, layout.RootMain)
	for range 40 {
		f = l.Call(l.Call(l.Call(f, 0, b), 0, c), 0, d)
		before = max(before, l.Stats().LogUsed)
	}
	log := l.Stats().LogUsed
	for range 10000 {
		f = l.Call(l.Call(l.Call(f, 0, b), 0, c), 0, d)
	}
	if have := l.Stats().LogUsed; have != log {
		t.Errorf("recursion: the log grows from %d to %d bytes", log, have)
	}
}
