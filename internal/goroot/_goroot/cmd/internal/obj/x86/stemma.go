package x86

import (
	"cmd/internal/obj"
	"cmd/internal/objabi"
)

// isStemmaEnter reports whether s is the slow path of the entry of an instrumented function.
// It saves all registers and needs little stack, so that a function which
// calls nothing else is still a leaf.
func isStemmaEnter(s *obj.LSym) bool {
	return s != nil && (s.Name == "runtime.stemmaEnter" || s.Name == "runtime.stemmaEnterChecked" ||
		s.Name == "runtime.stemmaAcctEnter")
}

// StemmaCompare makes p compare 4 bytes of memory with the address of sym: a constant of 32 bits, the last bytes of the
// instruction, which the linker fills in.
func StemmaCompare(p *obj.Prog, mem obj.Addr, sym *obj.LSym) {
	const long = 1<<31 - 1 // so that the constant has all its bytes
	p.As, p.From, p.To = ACMPL, mem, obj.Addr{Type: obj.TYPE_CONST, Offset: long}
	p.From.Val = sym // no other operand in memory has a value
}

// stemmaRelocate tells the linker of the address that an instruction of n bytes, p, ends with, if it does.
func stemmaRelocate(ctxt *obj.Link, s *obj.LSym, p *obj.Prog, n int) {
	if p.As != ACMPL || p.From.Val == nil {
		return
	}
	s.AddRel(ctxt, obj.Reloc{Type: objabi.R_ADDR, Off: int32(p.Pc) + int32(n) - 4, Siz: 4,
		Sym: p.From.Val.(*obj.LSym)})
}
