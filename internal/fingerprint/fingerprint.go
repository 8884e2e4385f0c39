// Package fingerprint names a calling context by 64 bits that are the same in every process and every build.
//
// A fingerprint is a hash of a text, which is made of the names of functions. docs/reference/fingerprints.md defines
// the text. Whatever changes it changes all fingerprints that people have stored: then [Version] must change as well.
//
// # How it works
//
// A [Tree] takes the frames of contexts one by one, each with the frame that it is called from, so that contexts share
// what their outer parts have in common. Three rules make the text shorter than the stack:
//
//   - Natives between others do not enter: a context ID does not know them.
//   - A call of a function that is on the path already leads back to it, as in a record with folded recursion. So
//     neither the depth of a recursion matters, nor by which functions it went.
//   - Of functions of the standard library that call each other only the first enters. The others are not what the
//     program calls, and a patch release may change them.
//
// The innermost function enters in any case. The text of lines has no such rules, but for that of natives.
package fingerprint

import "strconv"

// Version is the number of the definition.
const Version = 1

// A Value is a fingerprint. 0 stands for none.
type Value uint64

// String returns 16 hexadecimal digits, or "" for none.
func (v Value) String() string {
	if v == 0 {
		return ""
	}
	s := strconv.FormatUint(uint64(v), 16)
	return "0000000000000000"[len(s):] + s
}

// MarshalText implements encoding.TextMarshaler. The error is always nil.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// A Sum has both fingerprints of a context.
type Sum struct {
	Functions Value // of its functions
	Lines     Value // of its functions and the lines of their calls

	check uint64 // another hash of the text of functions
}

// A Kind is what a function is to a fingerprint.
type Kind uint8

// The kinds of functions.
const (
	Ordinary Kind = iota
	Adapter       // only passes a call on: it may be on the path again without recursion
	Native        // enters as the innermost function only
)

// A Frame is a function on the path, and how it was called.
type Frame struct {
	Func string // as package runtime shows it
	Kind Kind
	Go   bool   // called by a go statement
	File string // of the call
	Line int    // of the call, 0 if it is not known
}

// Names of roots that records do not name.
const (
	Unknown   = "[unknown]"
	Truncated = "[truncated]" // the outer part of the context is not known
)

// A Tree has the frames of contexts. Its zero value is empty.
type Tree struct {
	nodes   []node
	entries []entry
	funcs   []function
	byName  map[string]uint32
	natives []called
}

// A called is where a native was called, and so where it calls back: it is left out.
type called struct {
	lines uint64 // hash of the text of lines before the place
	place
}

// A node is a frame of a context.
type node struct {
	fn    uint32
	entry uint32 // the innermost one
	waits bool   // a native was called by a go statement since
	from  uint32 // of a native 1 + an index in Tree.natives
	lines uint64 // hash of the text of lines
}

// An entry is a function of the path once recursion is folded, natives left out.
type entry struct {
	up, fn uint32
	ends   uint32 // the innermost entry that no call of an adapter leads back across
	enters bool   // the text has it
	goes   bool   // called by a go statement, or, if it does not enter, one lies behind the last that does
	hash   uint64
	check  uint64
}

// A function is what is known of a name.
type function struct {
	text     string // what enters
	name     string // what enters with lines
	standard bool
	runtime  bool
}

type place struct {
	file string
	line int
}

// Root returns the beginning of paths below a root, such as "[main]".
func (t *Tree) Root(name string) uint32 {
	if name == "" {
		name = Unknown
	}
	if name == "[overflow]" {
		name = Truncated
	}
	fn := t.function(name)
	t.entries = append(t.entries, entry{fn: fn, enters: true, hash: fnv1a(offset, name), check: mix(offset, name)})
	e := uint32(len(t.entries) - 1)
	t.entries[e].up, t.entries[e].ends = e, e
	return t.append(node{fn: fn, entry: e, lines: fnv1a(offset, name)})
}

func (t *Tree) append(n node) uint32 {
	t.nodes = append(t.nodes, n)
	return uint32(len(t.nodes) - 1)
}

// Add adds a frame that is called from the frame parent, and returns it.
func (t *Tree) Add(parent uint32, f Frame) uint32 {
	up := t.nodes[parent]
	n := node{fn: t.function(f.Func), entry: up.entry}
	at := called{up.lines, place{f.File, f.Line}}
	if up.from > 0 {
		native := t.natives[up.from-1]
		if at.lines = native.lines; at.line == 0 {
			at.place = native.place
		}
	}
	n.lines = named(at.hash(at.lines), f.Go || up.waits, t.funcs[n.fn].name)
	if f.Kind == Native || t.funcs[n.fn].runtime {
		n.waits = up.waits || f.Go
		t.natives = append(t.natives, at)
		n.from = uint32(len(t.natives))
		return t.append(n)
	}
	if home, ok := t.home(up.entry, n.fn, f.Kind); ok {
		n.entry = home
		return t.append(n)
	}
	n.entry = t.enter(up, n.fn, f)
	return t.append(n)
}

// enter adds an entry for a function that is called from a node.
func (t *Tree) enter(up node, fn uint32, f Frame) uint32 {
	last, known := t.entries[up.entry], t.funcs[fn]
	e := entry{up: up.entry, fn: fn, ends: last.ends, goes: f.Go || up.waits, hash: last.hash, check: last.check}
	if !last.enters {
		e.goes = e.goes || last.goes
	}
	if e.enters = !known.standard || !t.funcs[last.fn].standard; e.enters {
		e.hash, e.check = named(e.hash, e.goes, known.text), namedCheck(e.check, e.goes, known.text)
	}
	again := false
	if f.Kind == Adapter {
		_, again = t.home(up.entry, fn, Ordinary)
	}
	if !again {
		e.ends = uint32(len(t.entries))
	}
	t.entries = append(t.entries, e)
	return uint32(len(t.entries) - 1)
}

// home returns the entry that a call of a function from entry e leads back to. Package fold has the rule; what no
// adapter leads back across is kept here, since a hostile record may have thousands of adapters on a path.
func (t *Tree) home(e, fn uint32, kind Kind) (uint32, bool) {
	for {
		at := &t.entries[e]
		switch {
		case at.fn == fn:
			return e, true
		case at.up == e, kind == Adapter && at.ends == e:
			return 0, false
		}
		e = at.up
	}
}

// Sum returns the fingerprints of the context whose innermost frame is n, which has no line.
func (t *Tree) Sum(n uint32) Sum {
	at := t.nodes[n]
	e := t.entries[at.entry]
	s := Sum{Value(e.hash), Value(at.lines), e.check}
	if goes, ok := t.innermost(at); ok {
		text := t.funcs[at.fn].text
		s.Functions, s.check = Value(named(e.hash, goes, text)), namedCheck(e.check, goes, text)
	}
	return s
}

// innermost reports whether the function of a node enters only because it is the innermost one, and whether a go
// statement lies before it.
func (t *Tree) innermost(n node) (goes, ok bool) {
	e := t.entries[n.entry]
	if e.fn == n.fn {
		return e.goes, !e.enters
	}
	return n.waits || !e.enters && e.goes, true
}

// SumAt returns the fingerprints of the context of a call in the innermost frame.
func (t *Tree) SumAt(n uint32, file string, line int) Sum {
	s := t.Sum(n)
	s.Lines = Value(place{file, line}.hash(uint64(s.Lines)))
	return s
}

// Text returns the text of functions of a context.
func (t *Tree) Text(n uint32) string {
	at := t.nodes[n]
	text := ""
	if goes, ok := t.innermost(at); ok {
		text = line(goes, t.funcs[at.fn].text)
	}
	for i := at.entry; ; {
		e := t.entries[i]
		if e.up == i {
			return t.funcs[e.fn].text + text
		}
		if e.enters {
			text = line(e.goes, t.funcs[e.fn].text) + text
		}
		i = e.up
	}
}
