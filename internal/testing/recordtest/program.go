package recordtest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// A Program calls, returns, starts goroutines, panics and re-encodes at random, and
// encodes its contexts as the runtime does. Beside that it keeps what its stack is.
type Program struct {
	D *Contexts

	r      *rand.Rand
	funcs  []progFunc
	epoch  uint32
	key    []uint32 // of each function in this epoch
	numCC  []uint32
	sites  map[progSite]EpochSite // what is encoded in this epoch
	stack  []progFrame            // of the running goroutine
	start  Captured               // where it was started
	known  map[Interned]uint32
	faults map[uint64]bool
}

// A progFunc is a function. Site i calls one of targets[i].
type progFunc struct {
	Func
	id      uint64
	targets [][]int
}

type progSite struct{ fn, site int }

// A progFrame is an invocation. entry is the entry of the ccStack that the call
// has pushed, if it has; id is on top of the nearest entry.
type progFrame struct {
	fn, site int // site is where it calls the next one
	id       uint32
	entry    *Interned // nil if the call is encoded
	node     uint32    // of the entry, 0 if it is not interned
}

// A Captured is a context ID and the stack that it must decode to, innermost frame
// first, as a walk shows it, with that of the goroutine's ancestors, down to the
// root.
type Captured struct {
	Hi, Lo uint64
	Own    []Frame // of the goroutine
	Start  *Captured
	Root   string
}

// NewProgram returns a program of about n functions.
func NewProgram(seed uint64, n int) *Program {
	p := &Program{D: NewContexts("prog"), r: rand.New(rand.NewPCG(seed, 2)), known: make(map[Interned]uint32),
		faults: make(map[uint64]bool)}
	for i := range n {
		p.function(i, n)
	}
	for i := range p.funcs {
		p.funcs[i].id = p.D.Func(p.funcs[i].Func)
	}
	p.key, p.numCC = make([]uint32, n), make([]uint32, n)
	p.sites = make(map[progSite]EpochSite)
	p.root(layout.RootMain)
	return p
}

// Grow adds a function, which roots, go statements and errors lead to, and which calls
// the others.
func (p *Program) Grow() {
	n := len(p.funcs)
	p.function(n, n+1)
	p.funcs[n].id = p.D.Func(p.funcs[n].Func)
	p.key, p.numCC = append(p.key, 0), append(p.numCC, 0)
	p.root(layout.RootMain)
	p.stack[0].fn, p.stack[0].entry.Target = n, p.funcs[n].id
}

// function makes function i of n, with inlined calls, wrappers among them.
func (p *Program) function(i, n int) {
	f := progFunc{Func: Func{Name: fmt.Sprintf("main.f%d", i), Line: 10 * i,
		Files: []string{fmt.Sprintf("/src/f%d.go", i)}}}
	if p.r.IntN(8) == 0 {
		f.Flags = layout.MetaFlagWrapper
	}
	for k := range p.r.IntN(3) {
		f.Inlined = append(f.Inlined, Inlined{In: p.r.IntN(k + 1), Callee: fmt.Sprint("main.in", k), Line: 7 + k})
	}
	for k := range 1 + p.r.IntN(5) {
		f.Sites = append(f.Sites,
			Site{Kind: layout.SiteCall, In: p.r.IntN(len(f.Inlined) + 1), Line: 10*i + k, Cell: k + 1})
		targets := []int{p.r.IntN(n)}
		if p.r.IntN(3) == 0 {
			targets = append(targets, p.r.IntN(n), p.r.IntN(n))
		}
		f.targets = append(f.targets, targets)
	}
	p.funcs = append(p.funcs, f)
}

// root begins a stack at a root.
func (p *Program) root(root uint64) {
	p.start = Captured{Root: layout.RootNames[root]}
	fn := p.r.IntN(len(p.funcs))
	p.stack = []progFrame{{fn: fn, entry: &Interned{Kind: layout.InternRoot, Place: root, Target: p.funcs[fn].id}}}
}

// top returns the innermost frame.
func (p *Program) top() *progFrame { return &p.stack[len(p.stack)-1] }

// Step does something at random.
func (p *Program) Act() {
	top := p.top()
	top.site = p.r.IntN(len(p.funcs[top.fn].Sites))
	targets := p.funcs[top.fn].targets[top.site]
	fn := targets[p.r.IntN(len(targets))]
	switch k := p.r.IntN(100); {
	case k < 50 && len(p.stack) < 200:
		p.call(fn)
	case k < 94 && len(p.stack) > 1:
		p.stack = p.stack[:len(p.stack)-1-p.r.IntN(min(3, len(p.stack)-1))] // a panic skips frames
	case k < 96:
		p.goStmt(fn)
	case k < 97:
		p.root(uint64(p.r.IntN(layout.RootOverflow)))
	case k < 98:
		p.fault(fn)
	case k < 99:
		p.Reencode()
	}
}

// call enters fn from the site where the innermost frame is.
func (p *Program) call(fn int) {
	f := progFrame{fn: fn}
	p.enter(&f, p.top())
	p.stack = append(p.stack, f)
}

// enter gives f its id, or the entry that the call pushes.
func (p *Program) enter(f *progFrame, caller *progFrame) {
	s, ok := p.sites[progSite{caller.fn, caller.site}]
	if ok && (s.Target == p.funcs[f.fn].id || s.Target < layout.NumKeys && s.Target == uint64(p.key[f.fn])) {
		f.id, f.entry, f.node = caller.id+s.Addition, nil, 0
		return
	}
	f.id, f.node = 0, 0
	f.entry = &Interned{Kind: layout.InternCall, Place: p.D.Return(p.funcs[caller.fn].id, caller.site),
		Target: p.funcs[f.fn].id}
}

// goStmt goes on in a new goroutine.
func (p *Program) goStmt(fn int) {
	c := p.Capture()
	node := uint32(c.Hi >> 32)
	entry := &Interned{Parent: node, Epoch: p.epoch, ID: p.top().id, Kind: layout.InternGo, Place: Text +
		c.Lo&(1<<28-1),
		Target: p.funcs[fn].id}
	p.start = c
	p.stack = []progFrame{{fn: fn, entry: entry}}
}

// fault runs fn as a deferred function of the innermost frame, after an error there.
func (p *Program) fault(fn int) {
	top := p.top()
	f := &p.funcs[top.fn]
	pc := p.D.Return(f.id, 0) + 3
	if frames := p.faultFrames(f); !p.faults[pc] {
		p.faults[pc] = true
		p.D.FaultAt(pc, "runtime.sigpanic", frames...)
	}
	top.site = -1
	p.stack = append(p.stack,
		progFrame{fn: fn, entry: &Interned{Kind: layout.InternFault, Place: pc, Target: p.funcs[fn].id}})
}

func (p *Program) faultFrames(f *progFunc) []Frame {
	return []Frame{{Func: "main.bad", File: f.Files[0], Line: 99, Inlined: true},
		{Func: f.Name, File: f.Files[0], Line: 98}}
}

// Reencode begins an epoch with edges, ranks and groups at random, and rewrites
// the stack.
func (p *Program) Reencode() {
	n := len(p.funcs)
	rank := p.r.Perm(n)
	key, numCC, next := make([]uint32, n), make([]uint32, n), make([]uint32, n)
	sites := make(map[progSite]EpochSite)
	order := make([]int, n) // functions by rank
	for f, r := range rank {
		order[r] = f
	}
	p.groups(key)
	maxID := uint32(0)
	for _, f := range order { // callers come before callees, so that numCC is known
		numCC[f] = max(1, next[f])
		maxID = max(maxID, numCC[f]-1)
		for i, targets := range p.funcs[f].targets {
			members := targets[:1]
			target := p.funcs[targets[0]].id
			if k := key[targets[0]]; len(targets) > 1 && k != 0 {
				target, members = uint64(k), nil
				for g := range key {
					if key[g] == k {
						members = append(members, g)
					}
				}
			} else if len(targets) > 1 {
				continue
			}
			add, ok := uint32(0), p.r.IntN(5) > 0
			for _, g := range members {
				add, ok = max(add, next[g]), ok && rank[g] > rank[f]
			}
			if !ok || add > 1<<20 {
				continue
			}
			for _, g := range members {
				next[g] = add + numCC[f]
			}
			sites[progSite{f, i}] = EpochSite{p.funcs[f].id, uint32(i), add, target}
		}
	}
	p.publish(maxID, key, numCC, sites)
}

// groups gives some functions keys.
func (p *Program) groups(key []uint32) {
	for k := range uint32(3) {
		for range 2 + p.r.IntN(2) {
			key[p.r.IntN(len(key))] = 5 + k
		}
	}
}

// publish writes what the epoch changes, and rewrites the stack. Entries that are
// interned stay.
func (p *Program) publish(maxID uint32, key, numCC []uint32, sites map[progSite]EpochSite) {
	var funcs []EpochFunc
	var changed []EpochSite
	for f := range p.funcs {
		if key[f] != p.key[f] || numCC[f] != p.numCC[f] {
			funcs = append(funcs, EpochFunc{p.funcs[f].id, key[f], numCC[f]})
		}
		for i := range p.funcs[f].Sites {
			s, ok := sites[progSite{f, i}]
			old, had := p.sites[progSite{f, i}]
			switch {
			case ok && (!had || s != old):
				changed = append(changed, s)
			case had && !ok:
				changed = append(changed, EpochSite{old.Func, old.Cell, layout.NoAddition, 0})
			}
		}
	}
	p.key, p.numCC, p.sites = key, numCC, sites
	p.epoch = p.D.Epoch(maxID, funcs, changed)
	for i := 1; i < len(p.stack); i++ {
		f := &p.stack[i]
		if f.node == 0 && (f.entry == nil || f.entry.Kind == layout.InternCall) {
			p.enter(f, &p.stack[i-1])
		} else if f.entry == nil {
			panic("an interned frame without an entry")
		}
	}
}

// Capture returns the context of the innermost frame at its site.
func (p *Program) Capture() Captured {
	node := uint32(0)
	for i := range p.stack {
		f := &p.stack[i]
		if f.entry != nil && f.node == 0 {
			e := *f.entry
			if i > 0 { // the goroutine's first entry has its own parent
				e.Parent, e.Epoch, e.ID = node, p.epoch, p.stack[i-1].id
			}
			f.node = p.intern(e)
		}
		if f.entry != nil {
			node = f.node
		}
	}
	top := p.top()
	if top.site < 0 {
		top.site = 0
	}
	hi, lo := p.D.ID(node, top.id, p.epoch, p.D.Return(p.funcs[top.fn].id, top.site))
	c := Captured{Hi: hi, Lo: lo, Root: p.start.Root, Own: p.frames()}
	if p.start.Lo != 0 {
		start := p.start
		c.Start = &start
	}
	return c
}

// intern returns the number of an entry.
func (p *Program) intern(e Interned) uint32 {
	n, ok := p.known[e]
	if !ok {
		n = p.D.Intern(e)
		p.known[e] = n
	}
	return n
}

// frames returns the stack of the goroutine as a walk shows it.
func (p *Program) frames() []Frame {
	var frames []Frame
	for i, f := range slices.Backward(p.stack) {
		fn := &p.funcs[f.fn]
		if i+1 < len(p.stack) && p.stack[i+1].entry != nil && p.stack[i+1].entry.Kind == layout.InternFault {
			fault := p.faultFrames(fn)
			fault[1].Wrapper = fn.Flags != 0
			frames = append(frames, fault...)
			continue
		}
		s := fn.Sites[f.site]
		line := s.Line
		for k := s.In; k != 0; k = fn.Inlined[k-1].In {
			frames = append(frames, Frame{fn.Inlined[k-1].Callee, fn.Files[0], line, true, false})
			line = fn.Inlined[k-1].Line
		}
		frames = append(frames, Frame{fn.Name, fn.Files[0], line, false, fn.Flags != 0})
	}
	return frames
}

// All returns all frames, through the ancestors, but for wrappers.
func (c *Captured) All() []Frame {
	frames := slices.Clone(c.Own)
	for c = c.Start; c != nil; c = c.Start {
		frames = append(frames, c.Own...)
	}
	return slices.DeleteFunc(frames, func(f Frame) bool { return f.Wrapper })
}
