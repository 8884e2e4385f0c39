package ir

import "cmd/internal/src"

// stemmaInlined has, by its index in the inlining tree, the function that each
// inlined call calls. The front end, which inlines, is one goroutine.
var stemmaInlined = map[int]*Func{}

// StemmaInline notes that the inlined call with this index calls fn.
func StemmaInline(index int, fn *Func) { stemmaInlined[index] = fn }

// StemmaCalleePos returns the position of the function that an inlined call calls.
func StemmaCalleePos(index int) src.XPos {
	if fn := stemmaInlined[index]; fn != nil {
		return fn.Pos()
	}
	return src.NoXPos
}

// StemmaIsWrapper reports whether the inlined call with this index calls a wrapper: a function that passes a call on to
// a generic one or its method, with the dictionary that this needs. Values of generic functions and methods, and
// method expressions, lead to such wrappers. What they call has the position of the inlined call itself, and so is not
// inside: a wrapper that is inlined vanishes from tracebacks.
func StemmaIsWrapper(index int) bool {
	fn := stemmaInlined[index]
	return fn != nil && fn.Wrapper()
}
