// Package fold says where recursion is folded.
//
// That is which calls are back edges, and where their homes are. The runtime asks it while it records, and readers ask
// it the same of what was recorded. See the terminology of package layout.
//
// In the program it runs where a node is made: under the lock of the tree, on the system stack, and where a sample
// is taken, also in a signal handler and without a P. It allocates nothing, takes no lock and stores nothing.
package fold

// A Kind is what a function is to recursion.
type Kind uint8

// The kinds of what a path has.
const (
	Ordinary Kind = iota
	Adapter       // only passes a call on, or is a wrapper with something inlined
	Wrapper       // contexts do not show it; also an adapter of an older record
	None          // is no function: a fault, say
)

// KindOf returns the kind of a function. Adapts says that it is an adapter or a wrapper, mayBeNew that it has the flag
// of those that can be new to a path.
func KindOf(adapts, mayBeNew bool) Kind {
	switch {
	case mayBeNew:
		return Adapter
	case adapts:
		return Wrapper
	}
	return Ordinary
}

// A Path is a path of functions, which F tells apart. Its places have numbers.
type Path[F comparable] interface {
	// Func returns what is at a place. Nobody asks for the home of what is no function.
	Func(n uint32) F
	// Kind returns what the function at a place is to recursion. It is asked for adapters and wrappers only.
	Kind(n uint32) Kind
	// Up returns the next place outwards. It reports false at the last one, and where functions further out are none
	// of the path: at labels.
	Up(n uint32) (up uint32, ok bool)
}

// Home returns the place in path p, which ends at place n, that a call of fn leads back to. It reports false if the
// call leads to a place of its own.
//
// That is the nearest place of fn. An adapter leads back only if nothing between is new to the path there: an ordinary
// function, which always is, or an adapter that is the first of its function. What only adapters lead to is so in its
// place, and each turn of a recursion still ends. A wrapper leads back only if nothing but wrappers lies between: so
// contexts, which do not show wrappers, are the same as without them.
//
// Between two places of one adapter lies the first one of another function. So a path has at most f·(a+1) places of f
// functions that are no wrappers, a of them adapters, and one more of each wrapper than that.
//
// It calls nothing but the methods of p, and itself once.
func Home[F comparable, P Path[F]](p P, n uint32, fn F, kind Kind) (home uint32, ok bool) {
	for ok = true; ok; n, ok = p.Up(n) {
		at := p.Func(n)
		if at == fn {
			return n, true
		}
		if kind != Ordinary && ends(p, n, at, kind) {
			return 0, false
		}
	}
	return 0, false
}

// ends reports whether place n of path p, of function fn, is what no call of an adapter or a wrapper leads back across.
func ends[F comparable, P Path[F]](p P, n uint32, fn F, kind Kind) bool {
	switch p.Kind(n) {
	case Ordinary:
		return true // it is new: the path would have led back
	case Adapter:
		if kind == Wrapper {
			return true
		}
		up, ok := p.Up(n)
		if ok {
			_, ok = Home(p, up, fn, Ordinary)
		}
		return !ok
	}
	return false
}
