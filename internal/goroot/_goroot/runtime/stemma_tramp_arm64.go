// This architecture has no trampoline yet: no return address is ever replaced, and stacks are walked as a whole.

package runtime

const stemmaHasTrampoline = false

func stemmaTrampolineEntry() uintptr { return stemmaNoTramp }

func stemmaTrampolineSpans() {}

// stemmaStepInit begins to single-step the trampoline.
func stemmaStepInit(int64) {}

// stemmaStepped reports whether a trap is that of a step.
//
//go:nowritebarrierrec
func stemmaStepped(*sigctxt, *g) bool { return false }
