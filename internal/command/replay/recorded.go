package replay

import (
	"fmt"
	"io"
	"slices"

	"github.com/stemma-go/stemma/internal/encoder"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/profile"
)

// How recorded calls become events.
//
// The tree has its recursion in full, so that a node tells its whole path. When a
// goroutine enters a node, the frames above the node's parent have returned, and
// that is all there is to know of returns. The stack of a goroutine is a list of
// nodes, each the parent of the next one. They ascend, as parents come before
// their children, and so are found by binary search.
//
// A go statement is an event when it is executed. The called function is a part of
// the event, but is known only when the new goroutine enters it. So
// the log is read twice, the first time for what goroutines begin with.

// A recorded is the state of reading recorded calls.
type recorded struct {
	p       *profile.Profile
	prog    *encoder.Program
	log     *livedir.Calls
	offset  int64             // of the entry at hand
	first   map[uint32]uint32 // the node that a started goroutine enters first
	lanes   map[uint32]*lane  // by the goroutine's number in the log
	out     []Event
	last    encoder.Goroutine // that was started
	main    bool              // the main goroutine has begun
	implied uint64            // calls that were not in the log

	sites   map[siteKey]encoder.Site
	targets map[siteKey]uint32 // the function that a cell leads to, or several
	cells   [][]int32          // by function: the site of each cell
	names   []string           // of functions; by number, less 1
	places  []string           // of sites
	funcs   []encoder.Func     // by the profile's functions, 0 for those not met
}

// A lane is a goroutine of the log. It is several goroutines of the stream where
// the runtime calls from the root on top of it, or where it left its first frame.
type lane struct {
	runs    []run
	waiting bool // its first node was entered by the go statement
}

// A run is a goroutine of the stream.
type run struct {
	g     encoder.Goroutine
	nodes []uint32
	root  uint32 // the cell of the root that it began with, unless goes is set
	goes  bool   // a go statement started it; it cannot leave its first frame
}

// A siteKey is a call site: a cell of a function. A cell that starts goroutines has
// another one for what is called without.
type siteKey struct {
	fn, cell uint32
	goes     bool
}

// several stands for more than one target.
const several = ^uint32(0)

// NewRecorded reads the calls that a program has recorded. Errors call them name.
// [Reader.Close] must be called.
func NewRecorded(from *record.Record, name string) (*Reader, error) {
	first, err := firstNodes(from)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	log, err := from.Calls()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := from.Profile
	r := &Reader{p: encoder.NewProgram(), name: name}
	r.shadow = encoder.NewShadow(r.p)
	r.rec = &recorded{
		p: p, prog: r.p, log: log, first: first, lanes: make(map[uint32]*lane),
		sites: make(map[siteKey]encoder.Site), targets: make(map[siteKey]uint32),
		cells: make([][]int32, len(p.Funcs)), funcs: make([]encoder.Func, len(p.Funcs)),
	}
	for i := range p.Funcs {
		r.rec.cells[i] = p.Funcs[i].CellSites()
	}
	for i, n := range p.Nodes {
		if i == 0 {
			continue
		}
		k := r.rec.key(n)
		if old, ok := r.rec.targets[k]; ok && old != n.Func {
			r.rec.targets[k] = several
		} else {
			r.rec.targets[k] = n.Func
		}
	}
	return r, nil
}

// firstNodes reads the log for the first node of each goroutine that a go statement
// started. It takes memory for the goroutines, not for the calls.
func firstNodes(from *record.Record) (map[uint32]uint32, error) {
	log, err := from.Calls()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	first := make(map[uint32]uint32)
	for {
		e, err := log.Next()
		if err == io.EOF {
			return first, nil
		}
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case livedir.CallGo:
			first[e.Child] = 0
		case livedir.CallEnter:
			if n, ok := first[e.Goroutine]; ok && n == 0 {
				first[e.Goroutine] = e.Node
			}
		}
	}
}

// Close closes what r reads from, if that are recorded calls.
func (r *Reader) Close() error {
	if r.rec != nil {
		return r.rec.log.Close()
	}
	return nil
}

// Notes tells, after the last event, in what a recording is not the whole run.
func (r *Reader) Notes() []string {
	if r.rec == nil {
		return nil
	}
	var notes []string
	if why := r.rec.log.Cut(); why != "" {
		notes = append(notes, "the beginning of the run: "+why)
	}
	if n := r.rec.implied; n > 0 {
		notes = append(notes,
			fmt.Sprintf("calls that are not in the log and were added, since what they call was entered: %d", n))
	}
	return notes
}

// fail returns an error about the entry at hand.
func (r *recorded) fail(err error) error { return fmt.Errorf("calls: offset %d: %w", r.offset, err) }

// next appends the events of the next entry to out.
func (r *recorded) next(out []Event) ([]Event, error) {
	e, err := r.log.Next()
	if err != nil {
		return out, err
	}
	r.offset, r.out = e.Offset, out
	switch e.Kind {
	case livedir.CallEnter:
		r.enter(r.lane(e.Goroutine), e.Node)
	case livedir.CallGo:
		r.goes(r.lane(e.Goroutine), e.Node, e.Child)
	case livedir.CallExit:
		if l := r.lanes[e.Goroutine]; l != nil {
			l.leave(r, 0)
			delete(r.lanes, e.Goroutine)
		}
	}
	return r.out, nil
}

// lane returns the goroutine of the log with this number.
func (r *recorded) lane(g uint32) *lane {
	l := r.lanes[g]
	if l == nil {
		l = &lane{}
		r.lanes[g] = l
	}
	return l
}

// emit adds an event.
func (r *recorded) emit(e Event) { r.out = append(r.out, e) }

// enter makes a goroutine enter node n.
func (r *recorded) enter(l *lane, n uint32) {
	if l.waiting {
		l.waiting = false // that was the node
		return
	}
	r.settle(l, r.p.Nodes[n].Parent, n)
	r.call(l.top(), n)
}

// goes makes a goroutine execute a go statement in node n, unless what it starts has
// entered nothing yet. The runtime's call for iter.Pull, which makes a coroutine, is
// one as well.
func (r *recorded) goes(l *lane, n, child uint32) {
	begin := r.first[child]
	if begin == 0 || r.p.Nodes[begin].Parent != n {
		return // it calls nothing that is instrumented, or begins elsewhere
	}
	r.settle(l, n, begin)
	r.last++
	r.emit(Event{Kind: Go, G: l.top().g, Call: r.callOf(begin, true), Child: r.last})
	r.lanes[child] = &lane{[]run{{g: r.last, nodes: []uint32{begin}, goes: true}}, true}
}

// settle unwinds a goroutine to node n, from which it goes on to node to. Frames that
// are not on its stack are called: they were entered without being logged.
func (r *recorded) settle(l *lane, n, to uint32) {
	var missing []uint32
	for ; n != 0; n = r.p.Nodes[n].Parent {
		if l.unwind(r, n) {
			break
		}
		missing = append(missing, n)
		to = n
	}
	if n == 0 {
		r.fromRoot(l, r.p.Nodes[to].Cell)
	}
	r.implied += uint64(len(missing))
	for _, n := range slices.Backward(missing) {
		r.call(l.top(), n)
	}
}

// fromRoot makes a goroutine go on at the root. What it was in has returned, unless
// that is interrupted.
func (r *recorded) fromRoot(l *lane, cell uint32) {
	if t := l.top(); t != nil && !t.interrupted(cell) {
		r.cut(t, 0)
		t.root = cell
		return
	}
	g := encoder.Main
	if r.main || cell > layout.RootInit {
		r.last++
		g = r.last
		r.emit(Event{Kind: Start, G: g})
	}
	r.main = r.main || g == encoder.Main
	l.runs = append(l.runs, run{g: g, root: cell})
}

// interrupted reports whether a run goes on when the runtime has called from a cell of
// the root: the collector calls from whatever goroutine started it, plugins
// are initialised while main runs, and what a go statement began is not the root's.
func (t *run) interrupted(cell uint32) bool {
	switch cell {
	case t.root:
		return t.goes
	case layout.RootGC, layout.RootInit:
		return t.goes || len(t.nodes) > 0
	}
	return t.goes
}

// top returns what a goroutine runs, nil before its first call.
func (l *lane) top() *run {
	if len(l.runs) == 0 {
		return nil
	}
	return &l.runs[len(l.runs)-1]
}

// unwind unwinds to node n, and returns false if it is not on the stack.
func (l *lane) unwind(r *recorded, n uint32) bool {
	for i := len(l.runs) - 1; i >= 0; i-- {
		if k, ok := slices.BinarySearch(l.runs[i].nodes, n); ok {
			l.leave(r, i+1)
			r.cut(&l.runs[i], k+1)
			return true
		}
	}
	return false
}

// leave ends what is above the first n runs.
func (l *lane) leave(r *recorded, n int) {
	for i := len(l.runs) - 1; i >= n; i-- {
		if t := &l.runs[i]; t.g == encoder.Main {
			r.cut(t, 0) // it stays, at the root
		} else {
			r.emit(Event{Kind: Exit, G: t.g})
		}
	}
	l.runs = l.runs[:n]
}

// cut unwinds a run to depth frames.
func (r *recorded) cut(t *run, depth int) {
	if len(t.nodes) > depth {
		t.nodes = t.nodes[:depth]
		r.emit(Event{Kind: Unwind, G: t.g, Depth: depth})
	}
}

// call makes a run enter node n.
func (r *recorded) call(t *run, n uint32) {
	t.nodes = append(t.nodes, n)
	r.emit(Event{Kind: Call, G: t.g, Call: r.callOf(n, false)})
}

// key returns the cell through which a node is entered. A fault has none.
func (r *recorded) key(n profile.Node) siteKey {
	k := siteKey{fn: r.p.Nodes[n.Parent].Func, cell: n.Cell}
	if r.p.Funcs[n.Func].Kind == profile.FuncFault {
		k.cell = several
	}
	return k
}

// site returns the site through which a node is entered, nil for one of the runtime.
func (r *recorded) site(n profile.Node) *profile.Site {
	k := r.key(n)
	if cells := r.cells[k.fn]; uint64(k.cell) < uint64(len(cells)) && cells[k.cell] != profile.None {
		return &r.p.Funcs[k.fn].Sites[cells[k.cell]]
	}
	return nil
}

// callOf returns the call that enters a node.
func (r *recorded) callOf(i uint32, goes bool) encoder.Call {
	n := r.p.Nodes[i]
	k := r.key(n)
	k.goes = goes
	caller, callee := r.function(k.fn), r.function(n.Func)
	s, ok := r.sites[k]
	if !ok {
		kind, at := r.siteKind(n)
		if goes {
			kind = encoder.Go
		}
		s = r.prog.AddSite(caller, kind)
		r.sites[k] = s
		r.places = append(r.places, at)
	}
	return encoder.Call{Site: s, Func: callee}
}

// siteKind returns what kind of site a node is entered through, and where that is.
func (r *recorded) siteKind(n profile.Node) (encoder.SiteKind, string) {
	kind, at := encoder.Static, ""
	if r.targets[r.key(n)] == several {
		kind = encoder.Dynamic
	}
	if s := r.site(n); s != nil {
		at = fmt.Sprintf("%s:%d", r.p.String(s.File), s.Line)
		if s.Callee == 0 {
			kind = encoder.Dynamic
		}
	}
	return kind, at
}

// function returns the number of a function of the profile.
func (r *recorded) function(i uint32) encoder.Func {
	if i != 0 && r.funcs[i] == encoder.Root {
		r.funcs[i] = r.prog.AddFunc()
		r.names = append(r.names, r.p.String(r.p.Funcs[i].Name))
	}
	return r.funcs[i]
}
