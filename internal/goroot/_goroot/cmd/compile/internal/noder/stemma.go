package noder

import (
	"cmd/compile/internal/base"
	"cmd/compile/internal/ir"
	"cmd/compile/internal/ssagen"
	"cmd/compile/internal/syntax"
	"cmd/compile/internal/types2"
	"internal/pkgbits"
)

// stemmaPragma returns what stemma has to say about a function; it travels in
// export data. A caller in another package counts the calls of a function that is
// declared without a body, which may not be able to count itself. And it does not
// inline the one in whose place it calls the runtime.
// Nor are those inlined that add to a metric of a module.
func stemmaPragma(w *pkgWriter, decl *syntax.FuncDecl) ir.PragmaFlag {
	switch {
	case decl.Body == nil:
		if problem := ssagen.StemmaBodylessRule(stemmaName(w, decl)); problem != "" {
			w.errorf(decl, "%s", problem)
		}
		return ssagen.StemmaBodyless
	case ssagen.StemmaAddsTo(stemmaName(w, decl), stemmaPragmaFlag(decl)):
		return ir.Noinline
	case decl.Recv == nil && ssagen.StemmaReplaces(base.Ctxt.Pkgpath+"."+decl.Name.Value):
		return ir.Noinline
	}
	return 0
}

// stemmaName returns the name of a function as layout.MatchFunc has it, without its package: F, T.F or (*T).F. A
// receiver may be declared with an alias of its type.
func stemmaName(w *pkgWriter, decl *syntax.FuncDecl) string {
	fn, ok := w.info.Defs[decl.Name].(*types2.Func)
	if !ok || fn.Signature().Recv() == nil {
		return decl.Name.Value
	}
	t := types2.Unalias(fn.Signature().Recv().Type())
	pointer, isPointer := t.(*types2.Pointer)
	if isPointer {
		t = types2.Unalias(pointer.Elem())
	}
	named, ok := t.(*types2.Named)
	switch {
	case !ok:
		return decl.Name.Value
	case isPointer:
		return "(*" + named.Obj().Name() + ")." + decl.Name.Value
	}
	return named.Obj().Name() + "." + decl.Name.Value
}

// stemmaPragmaFlag returns what directives say of a function.
func stemmaPragmaFlag(decl *syntax.FuncDecl) ir.PragmaFlag {
	if p, ok := decl.Pragma.(*pragmas); ok {
		return p.Flag
	}
	return 0
}

// stemmaHasRead is told of each function whose body has been read.
func stemmaHasRead(fn *ir.Func) { ssagen.StemmaFindAdapter(fn) }

// stemmaWriteLeaf writes to export data whether a function is a leaf, and stemmaReadLeaf reads it.
func stemmaWriteLeaf(w *pkgbits.Encoder, fn *ir.Func) { w.Bool(ssagen.StemmaIsLeaf(fn)) }

func stemmaReadLeaf(r *reader, fn *ir.Func) {
	if r.Bool() {
		ssagen.StemmaSetLeaf(fn)
	}
}
