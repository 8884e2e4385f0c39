// Package cct expands a recorded profile into the calling context tree that a
// stack trace would show.
//
// # Terminology
//
// A node of a [Tree] is one logical context: a function, entered from a call
// site of its parent. Inlined calls and natives are nodes like any other;
// compiler-generated wrappers are not in the tree. A pseudo-function, named in
// brackets, stands for what called a context that no function of the program
// called: [main], [init], [timer]; it is no call itself. [KEY=VALUE] stands
// where a goroutine got a label, and counts how often it did. The contexts below
// [overflow] are no true contexts: calls that the node budget had no room for
// are counted there, by function, and reported as truncated.
//
// # Expansion
//
// [New], or [Of] for other values than calls, walks the physical nodes of the profile, parents first, and finds or
// creates a logical node for each one, for each inlined call and native that
// was executed, and for whatever lies between a physical node and its children.
// A triple of parent, site and function is one node, so wrappers that lead to
// the same method, or instances of one generic function, need no special care.
package cct

import (
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/nodetable"
	"github.com/stemma-go/stemma/profile"
)

// A Tree is a calling context tree with one value. Nothing changes it once it is made.
type Tree struct {
	Nodes []Node // Nodes[0] is the root; a parent comes before its children
	Funcs []Func // Funcs[0] is the root's, a pseudo-function
	Sites []Site // Sites[0] is no place in particular

	Type profile.Metric // what Node.Count counts

	lines bool // each line of a function is a function of its own, see OfLines

	// inlinedAway has, by node, the calls that a function had inlined into itself, where recursion is folded: they are
	// counted with those that enter it, see Entered. Copies and parts of a tree do not have it.
	inlinedAway map[uint32]uint64
}

// Entered returns how many of the calls that Nodes[i] counts entered its function, in a tree that New has returned and
// nothing else: all, but for those that the function has inlined into itself. It counts calls that are inlined
// elsewhere.
func (t *Tree) Entered(i uint32) uint64 { return t.Nodes[i].Count - t.inlinedAway[i] }

// A Node is one context.
type Node struct {
	Parent uint32 // index into Nodes
	Func   uint32 // index into Funcs
	Site   uint32 // index into Sites: where in the parent's function the call is
	Fold   Fold
	Count  uint64 // invocations, or what Tree.Type says
}

// A Fold is where recursion was folded while the program ran: bits.
type Fold uint8

// What was folded at a node.
const (
	FoldHere Fold = 1 << iota // what calls further in call is shown here: between the frames there may have been others
	FoldAway                  // a call of a function further out; what it calls is shown there
)

// String returns the words that reports have for f, "" if nothing was folded.
func (f Fold) String() string {
	switch f {
	case FoldHere:
		return "recursive"
	case FoldAway:
		return "folded"
	case FoldHere | FoldAway:
		return "recursive, folded"
	}
	return ""
}

// A Func is a function by the name under which package runtime shows it. All
// instances of a generic function are one Func.
type Func struct {
	Name   string
	File   string // "" if the profile does not know it
	Line   int    // of the func keyword, 0 if not known
	Pseudo bool   // not a function of the program
	Type   bool   // what the runtime did for a function: new(TYPE), wait(REASON), delay(REASON), run(goroutine)
	Label  Label  // of a pseudo-function [KEY=VALUE]
	Asm    bool   // in assembly, which the compiler has a function of its own for: see profile.FuncAsm

	adapter bool // see profile.FuncAdapter
}

// A Site is a call site.
type Site struct {
	File string
	Line int
	Via  Via
	// Entered says that something is called though it is inlined: the compiler's wrapper has inlined it, and the call
	// enters the wrapper. Trees of samples do not know it.
	Entered bool
}

// A Via is how a site enters its callee.
type Via uint8

// The ways to enter a function.
const (
	ViaCall Via = iota
	ViaInlined
	ViaGo
	ViaDefer
	ViaNative
	ViaFault
)

var viaNames = [...]string{"call", "inlined", "go", "defer", "native", "fault"}

func (v Via) String() string { return viaNames[v] }

// A Frame is one line of a context as a stack trace shows it: a function, and
// the place in it where it calls the next one. For the innermost frame that
// place is the function's beginning.
type Frame struct {
	Func string
	File string
	Line int
	Via  Via // how the function was entered
	Fold Fold
}

// DisplayName returns the name that package runtime shows for a symbol since go1.27:
// type arguments are left out, of a method's receiver and of the method itself. A pseudo-function, which is
// all in brackets, keeps its name.
func DisplayName(symbol string) string {
	if strings.HasPrefix(symbol, "[") {
		return symbol
	}
	var name strings.Builder
	depth, end := 0, 0 // end of the last type arguments
	for i := range len(symbol) {
		switch symbol[i] {
		case '[':
			if depth++; depth == 1 {
				name.WriteString(symbol[end:i])
				name.WriteString("[...]")
			}
		case ']':
			if depth--; depth < 0 {
				return symbol
			}
			end = i + 1
		}
	}
	if end == 0 || depth != 0 {
		return symbol
	}
	name.WriteString(symbol[end:])
	return name.String()
}

// Stack returns the frames of context n, innermost first, through the go
// statements of the goroutines' ancestors down to the pseudo-function.
func (t *Tree) Stack(n uint32) []Frame {
	f := t.Funcs[t.Nodes[n].Func]
	file, line := f.File, f.Line
	var stack []Frame
	for n != 0 {
		node := t.Nodes[n]
		s := t.Sites[node.Site]
		stack = append(stack, Frame{t.Funcs[node.Func].Name, file, line, s.Via, node.Fold})
		file, line, n = s.File, s.Line, node.Parent
	}
	return stack
}

// A builder finds and appends the nodes of a tree.
type builder struct {
	t     *Tree
	table nodetable.Table // of all nodes but the root, which is nobody's child
}

// newBuilder gives t its root and returns a builder with room for as many as nodes before the table has to grow.
func newBuilder(t *Tree, nodes int) *builder {
	t.Nodes = append(make([]Node, 0, nodes+1), Node{})
	return &builder{t, nodetable.New(nodes)}
}

// key returns the key of a node.
func (b *builder) key(i uint32) nodetable.Key {
	n := &b.t.Nodes[i]
	return nodetable.Key{Parent: n.Parent, Place: n.Site, Func: n.Func}
}

// node returns the node with this parent, call site and function; it appends one if there is none.
func (b *builder) node(parent, site, fn uint32) uint32 {
	k := nodetable.Key{Parent: parent, Place: site, Func: fn}
	for s := b.table.Search(k); ; {
		slot := s.Next()
		i, ok := b.table.Node(slot)
		if ok && b.key(i) == k {
			return i
		}
		if !ok {
			return b.append(slot, k)
		}
	}
}

// append appends the node that belongs into a slot.
func (b *builder) append(slot int, k nodetable.Key) uint32 {
	i := uint32(len(b.t.Nodes))
	b.t.Nodes = append(b.t.Nodes, Node{Parent: k.Parent, Site: k.Place, Func: k.Func})
	if b.table.Put(slot, i); b.table.Full() {
		b.table.Grow(b.key)
	}
	return i
}

// reserve makes room for some nodes in all, but no more than sixteen times what there are.
func (b *builder) reserve(nodes int) {
	have := len(b.t.Nodes)
	nodes = min(nodes, 16*have)
	b.t.Nodes = slices.Grow(b.t.Nodes, max(nodes-have, 0))
	b.table.Reserve(nodes, b.key)
}

// pseudo returns the name of a pseudo-function. Brackets cannot begin the name
// of a real one.
func pseudo(name string) string { return "[" + name + "]" }

// viaOf returns how the callee of a recorded site is entered.
func viaOf(k profile.SiteKind) Via {
	switch k {
	case profile.SiteGo:
		return ViaGo
	case profile.SiteDefer, profile.SiteDeferReturn:
		return ViaDefer
	case profile.SiteNative, profile.SitePanic:
		return ViaNative
	}
	return ViaCall
}
