package ssagen

import (
	"cmd/compile/internal/ir"
	"internal/runtime/stemma/layout"
)

// stemmaAdapters has the functions whose body is one call, of what their caller has given them: http.HandlerFunc's
// ServeHTTP, say. Recursion is not folded at them, see package layout. For each it has the variable that it calls, or
// that has what it calls as a part.
//
// They are found when their bodies are read, before anything is inlined, so that a profile makes no difference. That
// is in one goroutine; the back end only reads.
var stemmaAdapters = map[*ir.Func]*ir.Name{}

// StemmaFindAdapter looks at a function whose body has just been read.
func StemmaFindAdapter(fn *ir.Func) {
	if len(fn.Body) != 1 {
		return
	}
	switch fn.Body[0].Op() {
	case ir.OCALLFUNC, ir.OCALLINTER, ir.ORETURN:
	default:
		return
	}
	var calls []*ir.CallExpr
	ir.VisitList(fn.Body, func(n ir.Node) {
		switch n.Op() {
		case ir.OCALL, ir.OCALLFUNC, ir.OCALLINTER, ir.OCALLMETH:
			calls = append(calls, n.(*ir.CallExpr))
		}
	})
	if len(calls) != 1 {
		return
	}
	if given := stemmaGiven(calls[0].Fun); given != nil {
		stemmaAdapters[fn] = given
	}
}

// stemmaGiven returns the receiver, argument or captured variable that an expression is, or is a part of, else nil.
func stemmaGiven(n ir.Node) *ir.Name {
	for {
		switch n.Op() {
		case ir.ONAME:
			if name := n.(*ir.Name); name.Class == ir.PPARAM || name.IsClosureVar() {
				return name
			}
			return nil
		case ir.ODOT, ir.ODOTPTR, ir.ODOTINTER:
			n = n.(*ir.SelectorExpr).X
		case ir.ODEREF:
			n = n.(*ir.StarExpr).X
		case ir.OPAREN:
			n = n.(*ir.ParenExpr).X
		case ir.OCONVNOP, ir.OCONVIFACE:
			n = n.(*ir.ConvExpr).X
		default:
			return nil
		}
	}
}

// stemmaIsAdapter reports whether fn is an adapter. A variable that is captured by reference changes: a function that
// calls itself through one is no adapter.
func stemmaIsAdapter(fn *ir.Func) bool {
	given := stemmaAdapters[fn]
	return given != nil && (!given.IsClosureVar() || given.Byval())
}

// stemmaMayBeNew reports whether fn is an adapter, or a wrapper that has inlined something, as it does the method that
// it stands for: then it is that method to whoever looks at contexts.
func stemmaMayBeNew(fn *ir.Func) bool {
	return stemmaIsAdapter(fn) || fn.LSym.Wrapper() && !fn.ABIWrapper() &&
		ir.Any(fn, func(n ir.Node) bool { return n.Op() == ir.OINLMARK || n.Op() == ir.OINLCALL })
}

// stemmaMarkAdapter tells the runtime of such functions, whatever is compiled into them.
func stemmaMarkAdapter(fn *ir.Func) {
	if stemmaMayBeNew(fn) {
		fn.LSym.Func().FuncFlag |= layout.FuncFlagAdapter
	}
}
