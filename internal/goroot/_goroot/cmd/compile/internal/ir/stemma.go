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
