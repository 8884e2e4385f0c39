package layout

import "unsafe"

// The slot of an instrumented frame lies right below what its frame pointer points to
// (varp): the node, the word, or a Pair whose id this is. The return address lies
// above.
const (
	SlotBelow   = 8
	ReturnAbove = 8
)

// A Pair is the slot of a frame with engine lucce.
type Pair struct {
	Version uint64 // where the path begins, see VersionDepth
	ID      uint64 // id of the invocation
}

// A cell of a FuncData that has led nowhere yet leads to the FuncData itself.
const (
	_ = -(unsafe.Offsetof(FuncData{}.Key) ^ unsafe.Offsetof(Step{}.Callee))
	_ = -(unsafe.Offsetof(FuncData{}.Limit) ^ unsafe.Offsetof(Step{}.Bound))
)
