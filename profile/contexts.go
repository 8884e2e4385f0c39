package profile

import (
	"iter"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// A Context is a context that a profile has a node for, with its values.
type Context struct {
	Node int // index into Profile.Nodes
	p    *Profile
	// sites has, for each function of the profile, the site of each cell.
	sites [][]int32
}

// A StackFrame is a function in a context, and the place in it where it calls the one before it. The first one
// has the place where the function begins.
type StackFrame struct {
	Func, File string
	Line       int
	Inlined    bool // into the next frame
}

// Contexts returns the contexts that the profile has nodes for, callers first. There is one for each context of a
// compiled function, and for what it allocated, waited for or was sampled at there; none for the compiler's wrappers.
// Calls that were inlined into a function, and natives that it called, have no nodes: counters of its node count them,
// see [Profile.NodeCounts]. They do appear in the stacks of what they call in turn. A context may be kept as long as
// the profile does not change.
func (p *Profile) Contexts() iter.Seq[Context] {
	return func(yield func(Context) bool) {
		sites := make([][]int32, len(p.Funcs))
		for i := range p.Funcs {
			sites[i] = p.Funcs[i].CellSites()
		}
		for i := range p.Nodes {
			f := &p.Funcs[p.Nodes[i].Func]
			if f.Kind == FuncRoot || f.Kind == FuncOverflow || f.Flags&FuncWrapper != 0 {
				continue
			}
			if !yield(Context{i, p, sites}) {
				return
			}
		}
	}
}

// Calls returns how often the function was called in this context, 0 in a profile without calls.
func (c Context) Calls() uint64 {
	if counts := c.p.NodeCounts(c.Node); len(counts) > 0 {
		return counts[0]
	}
	return 0
}

// Value returns the context's own number in a metric that has one for each node, see [Profile.Value].
func (c Context) Value(m Metric) uint64 { return c.p.Value(m, c.Node) }

// Kind returns what the innermost frame is: a function, or the type of what was allocated, say.
func (c Context) Kind() FuncKind { return c.p.Funcs[c.p.Nodes[c.Node].Func].Kind }

// Root returns what called the outermost function, for example main.
func (c Context) Root() string {
	n := c.p.Nodes[c.Node]
	for n.Parent != 0 {
		n = c.p.Nodes[n.Parent]
	}
	if int(n.Cell) < len(layout.RootNames) {
		return layout.RootNames[n.Cell]
	}
	return ""
}

// Stack returns the frames of the context, innermost first, through the go statements of the goroutine's ancestors.
func (c Context) Stack() iter.Seq[StackFrame] {
	return func(yield func(StackFrame) bool) {
		p := c.p
		f := &p.Funcs[p.Nodes[c.Node].Func]
		if f.Kind != FuncPlace && !yield(p.stackFrame(f.Name, f.File, f.Line, false)) {
			return
		}
		for i := c.Node; i != 0; i = int(p.Nodes[i].Parent) {
			if !c.caller(i, yield) {
				return
			}
		}
	}
}

// caller yields the frames of the function that node i was entered from, at the place of the call. A place in a
// function, of a fault or of a sample, has these itself. That of a sample below another place has its own.
func (c Context) caller(i int, yield func(StackFrame) bool) bool {
	p := c.p
	n := p.Nodes[i]
	f, up := &p.Funcs[n.Func], &p.Funcs[p.Nodes[n.Parent].Func]
	if f.Kind == FuncFault || f.Kind == FuncPlace {
		for k, fr := range f.Frames {
			if !yield(p.stackFrame(fr.Func, fr.File, fr.Line, k < len(f.Frames)-1)) {
				return false
			}
		}
		return true
	}
	sites := c.sites[p.Nodes[n.Parent].Func]
	if up.Kind != FuncOrdinary || uint64(n.Cell) >= uint64(len(sites)) || sites[n.Cell] == None {
		return true
	}
	s := up.Sites[sites[n.Cell]]
	file, line := s.File, s.Line
	for k := s.Inlined; k != None; k = up.Inlined[k].Parent {
		in := &up.Inlined[k]
		if !yield(p.stackFrame(in.Callee, file, line, true)) {
			return false
		}
		file, line = in.File, in.Line
	}
	return up.Flags&FuncWrapper != 0 || yield(p.stackFrame(up.Name, file, line, false))
}

func (p *Profile) stackFrame(name, file, line uint32, inlined bool) StackFrame {
	return StackFrame{p.String(name), p.String(file), int(line), inlined}
}
