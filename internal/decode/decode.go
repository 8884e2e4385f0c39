// Package decode turns context IDs into stacks, by what the program recorded.
//
// # Terminology
//
// A state is how far decoding has come: a function f, and the context of one of its
// invocations as an epoch, an id and the number of an interned entry of the
// ccStack. From a state one gets to that of f's caller:
//
//   - If the id is 0 and f is the target of the interned entry, the entry tells the
//     caller and its state. Target wins over edges with addition 0: between two
//     entries of a ccStack a function is entered twice by way of a loop only, which
//     adds to the id.
//   - Otherwise the id lies in the interval of exactly one edge into f in the
//     dictionary of the epoch; the edge tells the call site, and the caller's id is
//     what the id is above the beginning of the interval (DACCE, section 3.1, with
//     intervals instead of numbers).
//
// That ends at a root, or where the program could not record what is further out.
// An id in no interval is an error: the ID is not one that the program made.
//
// # Sharing
//
// Contexts share their outer parts, so states are remembered with what they lead
// to: the context of an ID is one link on top of a chain that is there already,
// mostly. What is remembered is bounded, so that any number of IDs can be decoded.
package decode

import (
	"fmt"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/profile"
)

// A Via is how a function was entered.
type Via uint8

// The ways to be entered. Root and Cut are the ends of a stack.
const (
	ViaCall  Via = iota
	ViaGo        // by a go statement
	ViaFault     // by a run-time error or a signal: the function is a deferred one
	ViaRoot      // by what is no function of the program
	ViaCut       // in a way that was not recorded
)

// A Group is what one compiled function contributes to a stack. It has no frames
// if the function is a wrapper of the compiler.
type Group struct {
	Frames []cct.PathFrame // innermost first
	line   string          // the frames in one line
	tails  []*Group        // what Trim leaves of it, by the number of frames dropped

	// Return is an address that the call returns to, as runtime.Callers has it; 0 if it is not known. Trim changes the
	// frames only.
	Return uint64

	adapters []bool // for each frame whether its function is one
}

// A Link is a part of a stack and all that is further out.
type Link struct {
	Via    Via    // how the function further in was entered
	*Group        // the caller's; nil at the end
	Up     *Link  // nil at the end
	End    string // at ViaRoot the name of the root, at ViaCut the reason
}

// A Stack is a decoded context.
type Stack struct {
	*Group       // of the function that captured the context
	Up     *Link // how it was entered
}

// Cut returns why the outer part of the stack is not known, "" if it is.
func (s Stack) Cut() string {
	l := s.Up
	for l.Up != nil {
		l = l.Up
	}
	if l.Via == ViaCut {
		return l.End
	}
	return ""
}

// Path returns all frames of the stack, innermost first, through the go
// statements of the goroutine's ancestors.
func (s Stack) Path() []cct.PathFrame {
	path := append([]cct.PathFrame(nil), s.Frames...)
	for l := s.Up; l.Up != nil; l = l.Up {
		path = append(path, l.Frames...)
	}
	return path
}

// Bounds of what is remembered.
const (
	maxLinks = 1 << 19
	maxEdges = 1 << 20
	maxPath  = 1 << 22 // functions between two entries of a ccStack: loops go round some hundred times
)

// A Decoder decodes the IDs of one run. It is not for several goroutines.
type Decoder struct {
	p      *profile.Profile
	c      *ids.Encoding
	walker *cct.Walker

	groups map[groupKey]*Group
	code   map[uint32]int  // the code of each function, as an index
	heads  map[uint64]head // by return address
	edges  map[edgesKey][]ids.InEdge
	edged  int // edges in edges
	links  map[state]*Link
}

// A groupKey is a place: a call site of a function, or None; or a fault.
type groupKey struct {
	fn    uint32
	site  int32
	fault bool
}

// A head is the function that a return address lies in, and its frames there.
type head struct {
	fn    uint32
	group *Group
}

type edgesKey struct{ epoch, fn uint32 }

// A state is a function with the context of one of its invocations.
type state struct{ epoch, fn, id, node uint32 }

// New returns a Decoder for a record of context IDs.
func New(r *record.Record) *Decoder {
	return &Decoder{
		p: r.Profile, c: r.IDs, walker: cct.NewIDWalker(r.Profile),
		groups: make(map[groupKey]*Group),
		heads:  make(map[uint64]head),
		edges:  make(map[edgesKey][]ids.InEdge),
		links:  make(map[state]*Link),
	}
}

// grown takes note of what the profile has got. What was remembered holds on: an epoch,
// an entry and a function never change. But an address that was the beginning of a
// function may be what a call returns to, of a function that was not known.
func (d *Decoder) grown() {
	clear(d.heads)
	d.code = nil
	d.walker.Grown()
}

// Walker returns the walker of the profile, to compare stacks with.
func (d *Decoder) Walker() *cct.Walker { return d.walker }

// Decode returns the context that the ID stands for. An ID of another run, or one
// that this run cannot have made, is an error; if the
// program could record only the inner part of a context, the stack shows it.
func (d *Decoder) Decode(id ctxid.ID) (Stack, error) {
	if id.Run != d.c.Run {
		return Stack{}, fmt.Errorf("ID of run %016x: this is the record of run %016x", id.Run, d.c.Run)
	}
	f := ctxid.Split(id.Hi, id.Lo)
	pc, s := d.c.Text+uint64(f.PC), state{f.Epoch, 0, f.ID, f.Node}
	if d.c.Log != nil {
		s.setID(uint64(f.Epoch)<<layout.IDIdBits | uint64(f.ID))
	}
	if f.PC == 0 {
		n, ok := d.c.Node(f.Node)
		switch {
		case ok && n.Kind == layout.InternCut:
			return Stack{&Group{}, d.cutAt(f.Node)}, nil
		case !ok || n.Kind != layout.InternAt:
			return Stack{}, fmt.Errorf("ID without an address, and node %d has none", f.Node)
		}
		pc, s = n.Place, state{n.Epoch, 0, n.ID, n.Parent}
	}
	h, err := d.head(pc)
	if err != nil {
		if l := d.cutAt(s.node); l != nil {
			return Stack{&Group{}, l}, nil // a function for which there was no room
		}
		return Stack{}, err
	}
	s.fn = h.fn
	up, err := d.link(s)
	return Stack{h.group, up}, err
}

// AtEntry reports whether the ID was captured at the entry of a function, and not
// at a call.
func (d *Decoder) AtEntry(id ctxid.ID) bool {
	f := ctxid.Split(id.Hi, id.Lo)
	pc := d.c.Text + uint64(f.PC)
	if n, ok := d.c.Node(f.Node); ok && f.PC == 0 && n.Kind == layout.InternAt {
		pc = n.Place
	}
	code := d.c.CodeAt(pc)
	return code != nil && code.Entry == pc
}

// head returns the function that makes the call that returns to pc, or that an instruction at pc - 1 has stopped by a
// fault.
func (d *Decoder) head(pc uint64) (head, error) {
	h, ok := d.heads[pc]
	if ok {
		return h, nil
	}
	code := d.c.CodeAt(pc)
	site := profile.None
	if code != nil {
		site = int(code.Site(pc))
	}
	_, faulted := d.c.Fault(pc - 1)
	switch {
	case site == profile.None && faulted: // in the instruction, not behind it
		l, at, err := d.fault(ids.Interned{Place: pc - 1}, state{})
		if err != nil {
			return h, err
		}
		h = head{at.fn, l.Group}
	case code == nil:
		return h, fmt.Errorf("address %#x lies in no function that was recorded", pc)
	default:
		h = head{code.Func, d.group(code.Func, int32(site))}
	}
	d.heads[pc] = h
	return h, nil
}

// group returns the frames of a function at one of its sites.
func (d *Decoder) group(fn uint32, site int32) *Group {
	key := groupKey{fn, site, false}
	g := d.groups[key]
	if g == nil {
		g = d.newGroup(d.walker.Site(&d.p.Funcs[fn], int(site)))
		g.Return = d.returnOf(fn, site)
		d.groups[key] = g
	}
	return g
}

// returnOf returns an address that the call at a site returns to, 0 if none is on record.
func (d *Decoder) returnOf(fn uint32, site int32) uint64 {
	if d.code == nil {
		d.code = make(map[uint32]int, len(d.c.Code))
		for i := range d.c.Code {
			d.code[d.c.Code[i].Func] = i
		}
	}
	i, ok := d.code[fn]
	if !ok || site == profile.None {
		return 0
	}
	return d.c.Code[i].Return(uint32(site))
}

func (d *Decoder) newGroup(frames []cct.PathFrame) *Group {
	adapters := make([]bool, len(frames))
	for i, f := range frames {
		adapters[i] = d.walker.Adapter(f.Func)
	}
	return newGroup(frames, adapters)
}

// link returns how the function of a state was entered, and all further out. It
// has no recursion: contexts are up to a million entries deep.
func (d *Decoder) link(s state) (*Link, error) {
	if l := d.links[s]; l != nil {
		return l, nil
	}
	type pending struct {
		state
		link *Link
	}
	var todo []pending
	var outer *Link
	plain, path := 0, 0 // functions since the id has become smaller, and since the last entry of the ccStack
	for outer == nil {
		l, next, err := d.entered(s)
		if err != nil {
			return nil, err
		}
		todo = append(todo, pending{s, l})
		if l.Via == ViaRoot || l.Via == ViaCut {
			break
		}
		plain, path = plain+1, path+1
		if next.node != s.node {
			plain, path = 0, 0
		} else if next.longID() < s.longID() {
			plain = 0
		}
		if plain > len(d.p.Funcs) || path > maxPath {
			return nil, fmt.Errorf("epoch %d: the edges around %s form a cycle", s.epoch, d.name(s.fn))
		}
		s = next
		outer = d.links[s]
	}
	if len(d.links)+len(todo) > maxLinks {
		d.links = make(map[state]*Link)
	}
	for i := len(todo) - 1; i >= 0; i-- {
		l := todo[i].link
		l.Up, outer = outer, l
		d.links[todo[i].state] = l
	}
	return outer, nil
}

// name returns the name of a function, for errors.
func (d *Decoder) name(fn uint32) string { return cct.DisplayName(d.p.String(d.p.Funcs[fn].Name)) }

// entered returns how the function of a state was entered, and the state of its
// caller.
func (d *Decoder) entered(s state) (l *Link, next state, err error) {
	if d.c.Log != nil {
		return d.enteredLogged(s)
	}
	if s.id == 0 && s.node != 0 {
		n, ok := d.c.Node(s.node)
		switch {
		case !ok:
			return nil, s, fmt.Errorf("node %d is not one of %d", s.node, len(d.c.Interned))
		case n.Kind == layout.InternCut:
			return &Link{Via: ViaCut, End: cutReason(n)}, s, nil
		case n.Kind != layout.InternAt && n.Target == s.fn:
			return d.pop(n)
		}
	}
	if int64(s.epoch) >= int64(len(d.c.Dict.Epochs)) || !d.c.Dict.Epochs[s.epoch].Known {
		return nil, s, fmt.Errorf("epoch %d has no dictionary", s.epoch)
	}
	edges := d.inEdges(s.epoch, s.fn)
	i := len(edges) - 1 // the last edge that does not begin behind the id
	for i >= 0 && edges[i].Addition > s.id {
		i--
	}
	if i < 0 || s.id-edges[i].Addition >= edges[i].NumCC {
		return nil, s, fmt.Errorf("epoch %d: no edge into %s has id %d", s.epoch, d.name(s.fn), s.id)
	}
	e := edges[i]
	next = state{s.epoch, e.Caller, s.id - e.Addition, s.node}
	return &Link{Via: ViaCall, Group: d.group(e.Caller, e.Site)}, next, nil
}

// pop returns how the target of an interned entry was entered.
func (d *Decoder) pop(n ids.Interned) (*Link, state, error) {
	next := state{n.Epoch, 0, n.ID, n.Parent}
	switch n.Kind {
	case layout.InternRoot:
		return &Link{Via: ViaRoot, End: layout.RootNames[n.Place]}, next, nil
	case layout.InternFault:
		return d.fault(n, next)
	}
	if n.Kind == layout.InternSite {
		fn, site, ok := d.c.Log.Site(d.p, uint32(n.Place))
		if !ok {
			return nil, next, fmt.Errorf("there is no site %d", n.Place)
		}
		next.fn = fn
		return &Link{Via: ViaCall, Group: d.group(fn, site)}, next, nil
	}
	via, place := ViaCall, n.Place
	if n.Kind == layout.InternGo {
		via = ViaGo
		// A go statement whose ID did not hold its address.
		if at, ok := d.c.Node(n.Parent); ok && at.Kind == layout.InternAt {
			place, next = at.Place, state{at.Epoch, 0, at.ID, at.Parent}
		}
	}
	h, err := d.head(place)
	if err != nil {
		if l := d.cutAt(next.node); l != nil {
			return l, next, nil
		}
	}
	next.fn = h.fn
	return &Link{Via: via, Group: h.group}, next, err
}

// cutAt returns the end of a stack on top of an interned entry that says that what is further out is not known, nil for
// any other entry.
func (d *Decoder) cutAt(node uint32) *Link {
	if n, ok := d.c.Node(node); ok && n.Kind == layout.InternCut {
		return &Link{Via: ViaCut, End: cutReason(n)}
	}
	return nil
}

// fault returns how a deferred function was entered that runs because of a
// run-time error: the place of the error has a record of its own.
func (d *Decoder) fault(n ids.Interned, next state) (*Link, state, error) {
	code := d.c.CodeAt(n.Place + 1) // the address of an instruction, not behind it
	fn, ok := d.c.Fault(n.Place)
	switch {
	case code != nil:
		next.fn = code.Func
	case ok:
		// A function that calls nothing is known by its faults only.
		next.fn = fn
	default:
		return nil, next, fmt.Errorf("address %#x of a fault lies in no function that was recorded", n.Place)
	}
	if !ok {
		return &Link{Via: ViaFault, Group: d.group(code.Func, profile.None)}, next, nil
	}
	key := groupKey{fn, profile.None, true}
	g := d.groups[key]
	if g == nil {
		g = d.newGroup(d.walker.Fault(&d.p.Funcs[fn]))
		g.Return = n.Place + 1
		d.groups[key] = g
	}
	return &Link{Via: ViaFault, Group: g}, next, nil
}

// inEdges returns the edges into a function in an epoch.
func (d *Decoder) inEdges(epoch, fn uint32) []ids.InEdge {
	key := edgesKey{epoch, fn}
	edges, ok := d.edges[key]
	if !ok {
		if edges = d.c.Dict.InEdges(epoch, fn); d.edged > maxEdges {
			d.edges, d.edged = make(map[edgesKey][]ids.InEdge), 0
		}
		d.edges[key] = edges
		d.edged += len(edges) + 1
	}
	return edges
}

// cutReason returns why what is further out is not known.
func cutReason(n ids.Interned) string {
	switch n.Place {
	case layout.CutDepth:
		return "the ccStack was full"
	case layout.CutInterned:
		return "there was no room for more contexts"
	case layout.CutLog:
		return "the log was full"
	case layout.CutSegment:
		return "it began in an earlier segment, which does not show all of it"
	}
	return fmt.Sprintf("reason %d", n.Place)
}
