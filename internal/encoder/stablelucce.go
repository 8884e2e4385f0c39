package encoder

import (
	"fmt"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// A StableLucce is Lucce as engine lucce has it: the numbering of ids.Lucce in plain Go. An edge keeps its ids, so
// that the newest graph decodes all contexts. Their version is that of an entry, which says where the path began.
type StableLucce struct {
	p       *Program
	limit   uint64 // of ids
	budget  int    // of entries
	rows    []stableRow
	steps   map[Call]*stableStep
	entries []beginning
	known   map[beginning]uint32
	roots   map[Call]bool // go statements, and what roots call: edges without ids
	lucceStacks

	calls, truncated, maxID uint64
	nodes, log              int
}

// A stableRow is how the in-edges of a function are numbered.
type stableRow struct {
	seen          bool
	pieces        []*stableStep
	num           uint64 // ids below are taken; it ends where the function is open
	begin         uint64 // 1 + the id of paths that begin here
	open          bool   // ids from num on belong to groups
	edges         uint32
	offset, scale uint64 // of the last group: its id x is id offset + x*scale of the function
	mod, next     uint32 // its remainders, and the next one that is free
	shared        bool   // its first site has all remainders but the last one
}

// A stableStep takes ids of a caller below bound to ids of the callee.
type stableStep struct {
	call            Call
	add, mul, bound uint64
	shared          bool
	grown           int
}

// A beginning is what is further out than where ids began again: a call, and the pair of who made it.
type beginning struct {
	call Call
	id   uint64
	v    uint32
}

// Limits as the runtime has them.
const (
	stableGrown  = 3
	stableNumCC  = 1 << 48
	stableScale  = 1 << 40
	stableMods   = 1 << 10
	sharedMod    = 1<<layout.StepShift + 1
	StableBudget = 1 << 24
)

// NewStableLucce returns the encoder. Ids stay below limit, and paths begin at no more than budget entries.
func NewStableLucce(p *Program, limit uint64, budget int) *StableLucce {
	l := &StableLucce{p: p, limit: min(limit, layout.IDLimit), budget: budget, steps: make(map[Call]*stableStep),
		entries: make([]beginning, 1), known: make(map[beginning]uint32), roots: make(map[Call]bool),
		lucceStacks: make(lucceStacks)}
	l.Start(Main)
	return l
}

// Name implements [Encoder].
func (l *StableLucce) Name() string { return "lucce" }

// Call implements [Encoder].
func (l *StableLucce) Call(g Goroutine, site Site, callee Func) {
	s := l.lucceStacks[g]
	s.frames = append(s.frames, l.enter(s, Call{site, callee}, false))
}

// Go implements [Encoder]. Ids of a goroutine begin again.
func (l *StableLucce) Go(g Goroutine, site Site, entry Func, child Goroutine) {
	l.lucceStacks[child] = &lucceStack{[]lucceFrame{l.enter(l.lucceStacks[g], Call{site, entry}, true)}, 0}
}

// enter returns the callee's frame.
func (l *StableLucce) enter(s *lucceStack, c Call, begins bool) lucceFrame {
	from := s.frames[len(s.frames)-1]
	to := lucceFrame{f: c.Func, lost: true}
	l.learn(c.Func)
	switch {
	case from.lost:
	case begins || from.f == Root:
		l.roots[c] = true
		to = l.begin(from, c)
	default:
		to = l.update(from, c)
	}
	l.calls++
	if to.lost {
		l.truncated++
	} else {
		l.maxID = max(l.maxID, to.id)
	}
	return to
}

// learn makes a function known.
func (l *StableLucce) learn(f Func) {
	for int(f) >= len(l.rows) {
		l.rows = append(l.rows, stableRow{})
	}
	if r := &l.rows[f]; !r.seen {
		r.seen = true
		l.nodes++
		l.log++
	}
}

// update is Lucce.Call of the runtime.
func (l *StableLucce) update(from lucceFrame, c Call) lucceFrame {
	s := l.steps[c]
	if s == nil || from.id >= s.bound {
		if grown := l.number(s, c, from.f); grown != nil {
			s = grown
			l.steps[c] = s
			l.rows[c.Func].pieces = append(l.rows[c.Func].pieces, s)
		}
	}
	if s == nil || from.id >= s.bound {
		return l.begin(from, c)
	}
	return lucceFrame{f: c.Func, id: s.apply(from.id), v: from.v}
}

// apply returns the callee's id for a caller's id below the bound, and invert the caller's.
func (s *stableStep) apply(id uint64) uint64 {
	if s.shared {
		id += id >> layout.StepShift
	}
	return id*s.mul + s.add
}

func (s *stableStep) invert(id uint64) (caller uint64, ok bool) {
	if id < s.add || (id-s.add)%s.mul != 0 {
		return 0, false
	}
	caller = (id - s.add) / s.mul
	if s.shared {
		if caller%sharedMod == sharedMod-1 {
			return 0, false
		}
		caller -= caller / sharedMod
	}
	return caller, caller < s.bound
}

// number gives an edge further ids, or returns nil.
func (l *StableLucce) number(old *stableStep, c Call, caller Func) *stableStep {
	if old != nil && old.grown > stableGrown {
		return nil
	}
	from, to := &l.rows[caller], &l.rows[c.Func]
	s := &stableStep{call: c, mul: 1}
	if old == nil {
		to.edges++
	} else {
		s.grown = old.grown + 1
	}
	if from.open || to.open || s.grown >= stableGrown || from.num+to.num >= min(stableNumCC, l.limit) {
		return l.remainder(s, to)
	}
	s.add, s.bound = to.num, from.num
	if old != nil && old.add+old.bound == to.num {
		s.add = old.add
	}
	to.num = s.add + s.bound
	l.log++
	return s
}

// remainder gives the step s the next remainder of the last group of its callee.
func (l *StableLucce) remainder(s *stableStep, r *stableRow) *stableStep {
	if (!r.open || r.next+1 == r.mod) && !l.group(r) {
		return nil
	}
	s.grown = stableGrown + 1
	s.add, s.mul = r.offset+uint64(r.next)*r.scale, r.scale*uint64(r.mod)
	s.shared, r.next = r.shared, r.next+1
	if r.shared {
		s.mul, r.next = r.scale, r.mod-1
	}
	if s.add < l.limit {
		s.bound = (l.limit - s.add) / s.mul
	}
	if r.shared {
		s.bound = s.bound / sharedMod << layout.StepShift
	}
	l.log++
	return s
}

// group begins the next group of a function.
func (l *StableLucce) group(r *stableRow) bool {
	mod, shared := min(max(2*r.edges, 4), stableMods), false
	if r.open {
		if r.scale*uint64(r.mod) > stableScale {
			return false
		}
		r.offset += uint64(r.mod-1) * r.scale
		r.scale *= uint64(r.mod)
	} else {
		r.open, r.offset, r.scale = true, r.num, 1
		if mod = min(r.edges+r.edges/2+1, stableMods); r.edges == 1 {
			mod, shared = sharedMod, true
		}
	}
	r.mod, r.next, r.shared = mod, 0, shared
	l.log++
	return true
}

// begin returns the frame of a function at which a path begins.
func (l *StableLucce) begin(from lucceFrame, c Call) lucceFrame {
	v := l.entry(beginning{c, from.id, from.v})
	r := &l.rows[c.Func]
	lost := v == 0 || r.begin == 0 && !l.beginID(r) || r.begin > l.limit
	return lucceFrame{f: c.Func, id: max(r.begin, 1) - 1, v: v, lost: lost}
}

// beginID takes an id for paths that begin at a function.
func (l *StableLucce) beginID(r *stableRow) bool {
	switch {
	case !r.open:
		r.num++
		r.begin = r.num
	case r.next+1 >= r.mod && !l.group(r):
		return false
	default:
		r.begin = r.offset + uint64(r.next)*r.scale + 1
		r.next++
	}
	l.log++
	return true
}

// entry returns the number of an entry, or 0 if there is no room for it.
func (l *StableLucce) entry(b beginning) uint32 {
	v := l.known[b]
	if v == 0 && len(l.entries) <= l.budget {
		v = uint32(len(l.entries))
		l.known[b] = v
		l.entries = append(l.entries, b)
	}
	return v
}

// Decode implements [Encoder]. Which edge an id comes from does not depend on when it was captured.
func (l *StableLucce) Decode(c Context) ([]Call, error) {
	if c.Truncated {
		return nil, &TruncatedError{c.Func}
	}
	var calls []Call
	n, id, v := c.Func, c.ID, c.Version
	for n != Root {
		call, before, ok := l.prev(n, id)
		switch {
		case int(n) < len(l.rows) && l.rows[n].begin == id+1 && int(v) < len(l.entries) && l.entries[v].call.Func == n:
			b := l.entries[v]
			call, before, v = b.call, b.id, b.v
		case !ok || len(calls) == maxPath:
			return nil, fmt.Errorf("after %d calls: %w", len(calls), unknownID(n, id))
		}
		calls = append(calls, call)
		n, id = l.p.Sites[call.Site].Caller, before
	}
	return reversed(calls), nil
}

// prev returns the in-edge from which an id of n comes, and the id of the caller.
func (l *StableLucce) prev(n Func, id uint64) (Call, uint64, bool) {
	if int(n) < len(l.rows) {
		for _, s := range l.rows[n].pieces {
			if before, ok := s.invert(id); ok {
				return s.call, before, true
			}
		}
	}
	return Call{}, 0, false
}

// Stats implements [Encoder].
func (l *StableLucce) Stats() Stats {
	s := Stats{Calls: l.calls, Nodes: l.nodes + 1, Edges: len(l.steps) + len(l.roots), Encoded: len(l.steps), NumCC: 1,
		MaxID:    l.maxID,
		Interned: len(l.entries) - 1, LogEntries: uint64(l.log), LogBytes: uint64(l.log) * layout.LogEntrySize,
		Truncated: l.truncated}
	for i := range l.rows {
		s.NumCC = addCapped(s.NumCC, l.rows[i].num)
		s.Bytes += uint64(unsafe.Sizeof(l.rows[i])) + uint64(len(l.rows[i].pieces))*layout.StepSize
	}
	s.Bytes += uint64(len(l.entries)) * layout.InternedSize
	return s
}
