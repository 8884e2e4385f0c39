package noder

import (
	"cmd/compile/internal/base"
	"cmd/compile/internal/ir"
	"cmd/compile/internal/ssagen"
	"cmd/compile/internal/syntax"
)

// stemmaPragma returns what stemma has to say about a function; it travels in
// export data. A caller in another package counts the calls of a function that is
// declared without a body, which may not be able to count itself. And it does not
// inline the one in whose place it calls the runtime.
// Nor are those inlined that add to a metric of a module.
func stemmaPragma(w *pkgWriter, decl *syntax.FuncDecl) ir.PragmaFlag {
	switch {
	case decl.Body == nil:
		if problem := ssagen.StemmaBodylessRule(stemmaName(decl)); problem != "" {
			w.errorf(decl, "%s", problem)
		}
		return ssagen.StemmaBodyless
	case ssagen.StemmaAddsTo(stemmaName(decl)):
		return ir.Noinline
	case decl.Recv == nil && ssagen.StemmaReplaces(base.Ctxt.Pkgpath+"."+decl.Name.Value):
		return ir.Noinline
	}
	return 0
}

// stemmaName returns the name of a function as layout.MatchFunc has it, without its package: F, T.F or (*T).F.
func stemmaName(decl *syntax.FuncDecl) string {
	if decl.Recv == nil {
		return decl.Name.Value
	}
	pointer := false
	for t := decl.Recv.Type; ; {
		switch x := t.(type) {
		case *syntax.ParenExpr:
			t = x.X
		case *syntax.IndexExpr:
			t = x.X
		case *syntax.Operation:
			pointer, t = true, x.X
		case *syntax.Name:
			if pointer {
				return "(*" + x.Value + ")." + decl.Name.Value
			}
			return x.Value + "." + decl.Name.Value
		default:
			return decl.Name.Value // types2 has reported it
		}
	}
}

// stemmaHasRead is told of each function whose body has been read.
func stemmaHasRead(fn *ir.Func) { ssagen.StemmaFindAdapter(fn) }
