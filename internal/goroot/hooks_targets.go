package goroot

import "slices"

// targetHooks returns the hooks in the files of the compiler and the assembler that an architecture has for itself.
func targetHooks() []Hook { return slices.Concat(amd64Hooks(), arm64Hooks()) }

func amd64Hooks() []Hook {
	const (
		amd64 = "cmd/compile/internal/amd64/ssa.go"
		asm6  = "cmd/internal/obj/x86/asm6.go"
		obj6  = "cmd/internal/obj/x86/obj6.go"
	)
	return []Hook{
		{File: amd64, Decl: "func ssaGenValue",
			Anchor: `v.Fatalf("genValue not implemented: %s", v.LongString())`, Where: Before,
			Lines: []string{"if stemmaGenValue(s, v) {", "break", "}"},
			Why:   "Operations of our own."},
		{File: asm6, Decl: "func span6",
			Anchor: "ab.asmins(ctxt, s, p)", Where: After,
			Lines: []string{"stemmaRelocate(ctxt, s, p, ab.Len())"},
			Why:   "A constant is an address that the linker knows."},
		{File: amd64, Decl: "func ssaGenValue",
			Anchor: "p.To.Sym = ir.Syms.GCWriteBarrier[v.AuxInt-1]", Where: Before,
			Lines: []string{
				"if v.AuxInt >= ssagen.StemmaEnterAux {",
				"p.To.Sym = ssagen.StemmaSlowSym(v.AuxInt); break",
				"}",
			},
			Why: "The slow path of function entry is called like a write barrier."},
		{File: obj6, Decl: "func preprocess",
			Anchor: "if q.As == obj.ACALL || q.As == obj.ADUFFCOPY || q.As == obj.ADUFFZERO {", Where: Before,
			Lines: []string{"if q.As == obj.ACALL && isStemmaEnter(q.To.Sym) {", "continue", "}"},
			Why:   "The slow path does not make a leaf function need a frame."},
		{File: obj6, Decl: "func isZeroArgRuntimeCall",
			Anchor: "switch s.Name {", Where: Before,
			Lines: []string{"if isStemmaEnter(s) {", "return true", "}"},
			Why:   "The slow path does not make a leaf function need a stack check."},
	}
}

func arm64Hooks() []Hook {
	const (
		arm64 = "cmd/compile/internal/arm64/ssa.go"
		obj7  = "cmd/internal/obj/arm64/obj7.go"
	)
	return []Hook{
		{File: arm64, Decl: "func ssaGenValue",
			Anchor: `v.Fatalf("genValue not implemented: %s", v.LongString())`, Where: Before,
			Lines: []string{"if stemmaGenValue(s, v) {", "break", "}"},
			Why:   "Operations of our own."},
		{File: arm64, Decl: "func ssaGenValue",
			Anchor: "p.To.Sym = ir.Syms.GCWriteBarrier[v.AuxInt-1]", Where: Before,
			Lines: []string{
				"if v.AuxInt >= ssagen.StemmaEnterAux {",
				"p.To.Sym = ssagen.StemmaSlowSym(v.AuxInt); break",
				"}",
			},
			Why: "The slow path of function entry is called like a write barrier."},
		{File: obj7, Decl: "func preprocess",
			Anchor: "c.cursym.Func().Text.Mark &^= LEAF", Where: Before,
			Lines: []string{"if isStemmaEnter(p.To.Sym) {", "continue", "}"},
			Why:   "The slow path does not make a leaf function need a frame."},
		{File: obj7, Decl: "func preprocess",
			Anchor: "var q *obj.Prog", Where: Before,
			Lines: []string{"c.stemmaKeepLink(textstksiz)"},
			Why:   "The slow path does not take away the return address of a leaf function."},
	}
}
