package arm64

import (
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/ssagen"
	"cmd/internal/obj"
	"cmd/internal/obj/arm64"
	"internal/runtime/stemma/layout"
)

// stemmaGenValue emits the instructions of an operation of our own. It reports whether v is one.
func stemmaGenValue(s *ssagen.State, v *ssa.Value) bool {
	switch v.Op {
	case ssa.OpStemmaCount:
		stemmaCount(s, v)
	case ssa.OpStemmaWord:
		p := s.Prog(arm64.AMOVD)
		p.From = obj.Addr{Type: obj.TYPE_MEM, Reg: v.Args[0].Reg()}
		ssagen.AddAux(&p.From, v)
		p.To = obj.Addr{Type: obj.TYPE_REG, Reg: v.Reg0()}
	case ssa.OpStemmaEnter:
		p := s.Prog(arm64.AMOVD)
		p.From = obj.Addr{Type: obj.TYPE_ADDR, Name: obj.NAME_EXTERN, Sym: v.Aux.(*obj.LSym)}
		p.To = obj.Addr{Type: obj.TYPE_REG, Reg: arm64.REG_R24}
		p = s.Prog(obj.ACALL)
		p.To = obj.Addr{Type: obj.TYPE_MEM, Name: obj.NAME_EXTERN, Sym: ssagen.StemmaSlowSym(layout.EnterAux)}
	default:
		return false
	}
	return true
}

// stemmaCount emits an increment in the shard of the P that the goroutine has, as g says. No safe point lies in
// between.
func stemmaCount(s *ssagen.State, v *ssa.Value) {
	const low = 1<<12 - 1 // bits of an offset that a load may have
	reg := func(r int16) obj.Addr { return obj.Addr{Type: obj.TYPE_REG, Reg: r} }
	p := s.Prog(arm64.AMOVD)
	p.From = obj.Addr{Type: obj.TYPE_MEM, Reg: arm64.REGG, Offset: layout.GShard}
	p.To = reg(arm64.REGTMP)
	node, offset := v.Args[0].Reg(), layout.CounterSize*v.AuxInt
	counter := obj.Addr{Type: obj.TYPE_MEM, Reg: arm64.REGTMP, Index: node}
	if offset != 0 {
		p = s.Prog(arm64.AADD)
		p.From, p.To = reg(node), reg(arm64.REGTMP)
		if offset > low {
			p = s.Prog(arm64.AADD)
			p.From, p.To = obj.Addr{Type: obj.TYPE_CONST, Offset: offset &^ low}, reg(arm64.REGTMP)
		}
		counter = obj.Addr{Type: obj.TYPE_MEM, Reg: arm64.REGTMP, Offset: offset & low}
	}
	p = s.Prog(arm64.AMOVD)
	p.From, p.To = counter, reg(v.RegTmp())
	p = s.Prog(arm64.AADD)
	p.From, p.To = obj.Addr{Type: obj.TYPE_CONST, Offset: 1}, reg(v.RegTmp())
	p = s.Prog(arm64.AMOVD)
	p.From, p.To = reg(v.RegTmp()), counter
}
