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
func stemmaPragma(decl *syntax.FuncDecl) ir.PragmaFlag {
	switch {
	case decl.Body == nil:
		return ssagen.StemmaBodyless
	case decl.Recv == nil && ssagen.StemmaReplaces(base.Ctxt.Pkgpath+"."+decl.Name.Value):
		return ir.Noinline
	}
	return 0
}

// stemmaHasRead is told of each function whose body has been read.
func stemmaHasRead(fn *ir.Func) { ssagen.StemmaFindAdapter(fn) }
