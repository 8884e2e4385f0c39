package x86

import "cmd/internal/obj"

// stemmaEnterName is the slow path of the entry of an instrumented function.
// It saves all registers and needs little stack, so that a function which
// calls nothing else is still a leaf.
const stemmaEnterName = "runtime.stemmaEnter"

func isStemmaEnter(p *obj.Prog) bool {
	return p.As == obj.ACALL && p.To.Sym != nil && p.To.Sym.Name == stemmaEnterName
}
