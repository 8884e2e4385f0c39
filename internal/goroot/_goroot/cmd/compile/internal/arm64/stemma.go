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

// stemmaCount emits an increment in the shard of the P that the goroutine has, as g says. The first instruction may be
// a safe point: before it nothing is read. Emulators look for signals where blocks begin. A loop that begins with an
// increment could not be preempted there otherwise. The assembler has no safe point at instructions with REGTMP, so
// the address is in the temporary register of the operation.
func stemmaCount(s *ssagen.State, v *ssa.Value) {
	const low = 1<<12 - 1 // bits of an offset that a load may have
	reg := func(r int16) obj.Addr { return obj.Addr{Type: obj.TYPE_REG, Reg: r} }
	at, value := v.RegTmp(), int16(arm64.REGTMP)
	p := s.Prog(arm64.AMOVD)
	p.From = obj.Addr{Type: obj.TYPE_MEM, Reg: arm64.REGG, Offset: layout.GShard}
	p.To = reg(at)
	s.StemmaNoSafePoint()
	node, offset := v.Args[0].Reg(), layout.CounterSize*v.AuxInt
	counter := obj.Addr{Type: obj.TYPE_MEM, Reg: at, Index: node}
	if offset != 0 {
		p = s.Prog(arm64.AADD)
		p.From, p.To = reg(node), reg(at)
		if offset > low {
			p = s.Prog(arm64.AADD)
			p.From, p.To = obj.Addr{Type: obj.TYPE_CONST, Offset: offset &^ low}, reg(at)
		}
		counter = obj.Addr{Type: obj.TYPE_MEM, Reg: at, Offset: offset & low}
	}
	p = s.Prog(arm64.AMOVD)
	p.From, p.To = counter, reg(value)
	p = s.Prog(arm64.AADD)
	p.From, p.To = obj.Addr{Type: obj.TYPE_CONST, Offset: 1}, reg(value)
	p = s.Prog(arm64.AMOVD)
	p.From, p.To = reg(value), counter
}
