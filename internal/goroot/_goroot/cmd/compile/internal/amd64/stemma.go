package amd64

import (
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/ssagen"
	"cmd/internal/obj"
	"cmd/internal/obj/x86"
	"internal/runtime/stemma/layout"
	"unsafe"
)

// stemmaGenValue emits the instruction of an operation of our own. It reports whether v is one.
func stemmaGenValue(s *ssagen.State, v *ssa.Value) bool {
	switch v.Op {
	case ssa.OpStemmaCount:
		p := s.Prog(x86.AINCQ)
		p.To = obj.Addr{Type: obj.TYPE_MEM, Reg: v.Args[0].Reg(), Index: x86.REG_GS, Scale: 1,
			Offset: layout.CounterBase + layout.CounterSize*v.AuxInt}
	case ssa.OpStemmaDiffers:
		id := obj.Addr{Type: obj.TYPE_MEM, Reg: v.Args[0].Reg(),
			Offset: layout.Base + int64(unsafe.Offsetof(layout.Node{}.Func))}
		x86.StemmaCompare(s.Prog(x86.ACMPL), id, v.Aux.(*obj.LSym))
	case ssa.OpStemmaDue:
		p := s.Prog(x86.ADECQ)
		p.To = obj.Addr{Type: obj.TYPE_MEM, Reg: v.Args[0].Reg(), Offset: v.AuxInt}
	case ssa.OpStemmaEnter:
		p := s.Prog(x86.ALEAQ)
		p.From = obj.Addr{Type: obj.TYPE_MEM, Name: obj.NAME_EXTERN, Sym: v.Aux.(*obj.LSym)}
		p.To = obj.Addr{Type: obj.TYPE_REG, Reg: x86.REG_R12}
		p = s.Prog(obj.ACALL)
		p.To = obj.Addr{Type: obj.TYPE_MEM, Name: obj.NAME_EXTERN, Sym: ssagen.StemmaSlowSym(layout.EnterAux)}
	default:
		return false
	}
	return true
}
