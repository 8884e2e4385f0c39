package noder

import (
	"cmd/compile/internal/ir"
	"cmd/compile/internal/ssagen"
	"cmd/compile/internal/syntax"
)

// stemmaBodyless returns the pragma of a function that is declared without a
// body. It travels in export data: a caller in another package counts the
// calls of such a function, which may not be able to count itself.
func stemmaBodyless(decl *syntax.FuncDecl) ir.PragmaFlag {
	if decl.Body == nil {
		return ssagen.StemmaBodyless
	}
	return 0
}
