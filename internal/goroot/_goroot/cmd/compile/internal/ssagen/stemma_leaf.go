package ssagen

import (
	"cmd/compile/internal/ir"
	"cmd/compile/internal/types"
	"internal/runtime/stemma/layout"
)

// stemmaLeaves has the functions that call nothing but natives. With engines that encode contexts such a function
// reads nothing of what its caller leaves in g, and so its callers leave a constant there: many calls of an
// interpreter are of functions that only move data. Whatever is executed in its place, since somebody has patched the
// program, or since it turned out to call something, is led to the slow path by that.
//
// They are found when their bodies are ready for the back end, and no function of the package is compiled yet; those of
// other packages come with export data. Both is done in one goroutine, and the back end only reads.
var stemmaLeaves = map[*ir.Func]bool{}

// StemmaFindLeaf looks at a function that is ready for the back end.
func StemmaFindLeaf(fn *ir.Func) {
	switch engine := stemmaEngine(); {
	case engine == nil || engine.data == nil || stemmaOptions.natives:
		return
	case fn.Dupok() || fn.Wrapper() || fn.LSym.DuplicateOK():
		return // the linker may take another package's copy, which has inlined less: it would always take the slow path
	case fn.Sym().Pkg != types.LocalPkg || stemmaModeOf(fn) != stemmaFull || ir.Any(fn, stemmaIsSite):
		return
	}
	stemmaLeaves[fn] = true
}

// stemmaIsSite reports whether a function with the statement or expression n has a context of its own to leave.
func stemmaIsSite(n ir.Node) bool {
	switch n.Op() {
	case ir.OGO, ir.ODEFER, ir.OTAILCALL, ir.OCALL, ir.OCALLMETH, ir.OCALLINTER:
		return true
	case ir.OCALLFUNC:
		_, kind := stemmaCallee(n.(*ir.CallExpr))
		return kind != 0 && kind != layout.SiteNative
	}
	return false
}

// StemmaIsLeaf and StemmaSetLeaf are for export data.
func StemmaIsLeaf(fn *ir.Func) bool { return stemmaLeaves[fn] }

// StemmaSetLeaf tells that fn, of another package, is a leaf.
func StemmaSetLeaf(fn *ir.Func) { stemmaLeaves[fn] = true }

// stemmaCallsLeaf reports whether a call, of the given kind, is of a leaf.
func stemmaCallsLeaf(n *ir.CallExpr, kind int) bool {
	if kind != layout.SiteCall || n.Op() != ir.OCALLFUNC || n.Fun.Op() != ir.ONAME {
		return false
	}
	name := n.Fun.(*ir.Name)
	return name.Class == ir.PFUNC && name.Func != nil && stemmaLeaves[name.Func]
}
