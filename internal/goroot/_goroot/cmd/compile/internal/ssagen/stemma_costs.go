package ssagen

import (
	"cmd/compile/internal/base"
	"cmd/compile/internal/ir"
	"cmd/compile/internal/objw"
	"cmd/compile/internal/ssa"
	"cmd/internal/obj"
	"cmd/internal/objabi"
	"encoding/binary"
	rtabi "internal/abi"
	"internal/runtime/stemma/layout"
	"strings"
)

// A build for costs (engine=costs) makes plain code, for any machine, and says beside it what the counters of a build
// that counts operations stand for in it, see ssa/stemma_machine.go. No hook does anything else in such a build.

// stemmaCostsEngine asks for such a build.
const stemmaCostsEngine = "costs"

// stemmaCosts reports whether this compilation is one of such a build, and of a package that may have counters.
func stemmaCosts(fn *ir.Func) bool {
	return stemmaOptions.engine == stemmaCostsEngine && !base.Flag.CompilingRuntime &&
		!stemmaNative[base.Ctxt.Pkgpath] && !strings.HasPrefix(fn.LSym.Name, "type:.")
}

// stemmaAskCosts makes the passes find the counters of s. It runs before they do.
func (s *state) stemmaAskCosts() {
	if stemmaCosts(s.curfn) {
		s.f.Stemma = ssa.StemmaCounters{Ops: true, Plain: true, Number: 1}
	}
}

// A stemmaRange is the code of a block: from an instruction to the one before which that of the next block begins.
type stemmaRange struct {
	block *ssa.Block
	begin *obj.Prog
}

// stemmaRanges notes where the code of each block begins, and where that of the last one ends: before an instruction
// without a size, since the assembler may put code behind the last one.
func stemmaRanges(s *State, f *ssa.Func) {
	if !f.Stemma.Plain {
		return
	}
	list := make([]stemmaRange, 0, len(f.Blocks)+1)
	for _, b := range f.Blocks {
		list = append(list, stemmaRange{b, s.bstart[b.ID]})
	}
	end := s.pp.Prog(obj.APCDATA)
	end.From.SetConst(rtabi.PCDATA_ArgLiveIndex)
	end.To.SetConst(0)
	f.Stemma.Code = append(list, stemmaRange{nil, end})
}

// stemmaMeasure says what the counters of f stand for. The code of f was assembled, and is there still.
func stemmaMeasure(f *ssa.Func, fn *ir.Func, text *obj.Prog) {
	ranges, _ := f.Stemma.Code.([]stemmaRange)
	if len(ranges) == 0 || f.Stemma.Flow == nil {
		return
	}
	c := &stemmaCode{ranges: ranges, begins: map[*ssa.Block]*obj.Prog{}, bytes: text.From.Sym.P}
	for _, r := range ranges[:len(ranges)-1] {
		c.begins[r.block] = r.begin
	}
	c.prologue(text, f.Entry)
	for i, r := range ranges[:len(ranges)-1] {
		c.add(r.block, r.begin, ranges[i+1].begin)
	}
	m := newStemmaMeta(fn)
	m.sym = base.Ctxt.Lookup(layout.CostsPrefix + strings.TrimSuffix(strings.TrimPrefix(m.sym.Name, "stemma:"), "·f"))
	m.weights = f.StemmaInstructions(c.list)
	for i := f.Stemma.First; i < f.Stemma.Number; i++ {
		m.placed = append(m.placed, i)
	}
	m.publish()
}

// A stemmaCode is the code of a function.
type stemmaCode struct {
	ranges []stemmaRange
	begins map[*ssa.Block]*obj.Prog // the same
	bytes  []byte
	list   []ssa.StemmaCode
}

// add adds the code of a block. What is behind its branch is on the way that the branch does not take, and what is
// behind a jump fills up: the assembler puts it there.
func (c *stemmaCode) add(b *ssa.Block, begin, end *obj.Prog) {
	var on *ssa.Block
	loops := ssa.StemmaLoops(b)
	known := map[*obj.Prog]int{}
	for p := begin; p != nil && p != end; p = p.Link {
		known[p] = len(c.list)
		if n := c.instructions(p); n != 0 {
			inlined := base.Ctxt.InnermostPos(p.Pos).Base().InliningIndex()
			c.list = append(c.list, ssa.StemmaCode{From: b, To: on, Inlined: inlined, N: n})
		}
		to := stemmaTarget(p)
		if p.As == obj.ARET || p.As == obj.AJMP && !c.goesOn(p, end) {
			return
		}
		if to == nil {
			continue
		}
		if p.As == obj.AJMP {
			c.detour(known, begin, p)
			continue
		}
		first, isBack := known[to]
		switch taken := c.successor(b, to); {
		case taken != nil && len(b.Succs) == 2:
			if on = b.Succs[0].Block(); on == taken {
				on = b.Succs[1].Block()
			}
		case taken == nil && isBack && len(loops) > 0:
			rounds := stemmaRounds(begin, to, p, loops[0])
			for i := first; i < len(c.list); i++ {
				c.list[i].N *= rounds
			}
			loops = loops[1:]
		}
	}
}

// goesOn reports whether there is code behind p, before the end of its block, but for what fills up.
func (c *stemmaCode) goesOn(p, end *obj.Prog) bool {
	for p = p.Link; p != nil && p != end; p = p.Link {
		if p.As != obj.ANOP && c.instructions(p) > 0 {
			return true
		}
	}
	return false
}

// detour takes out what is executed seldom: a division has code for -1 in front, from where p jumps behind it. What is
// before p, behind the branch to what p jumps over, is that.
func (c *stemmaCode) detour(known map[*obj.Prog]int, begin, p *obj.Prog) {
	for from := begin; from != p; from = from.Link {
		if over := stemmaTarget(from); over != nil && over == p.Link {
			c.list = c.list[:known[from]+1]
			return
		}
	}
}

// stemmaRounds returns how many rounds a loop makes that clears or copies so many bytes, in the code of a block: as
// many as the instruction before it says, or as it takes with the largest constant that it adds to a pointer.
func stemmaRounds(block, begin, end *obj.Prog, bytes int64) int {
	const least, most = 8, 1024 // bytes of a round
	for p := block; p != begin; p = p.Link {
		n := stemmaConstant(p)
		if p.Link == begin && n > 1 && p.Reg == 0 && bytes/n >= least && bytes/n <= most {
			return int(n)
		}
	}
	step := int64(0)
	for p := begin; p != end; p = p.Link {
		step = max(step, stemmaConstant(p))
	}
	if step < least {
		return 1 // not known
	}
	return max(int(bytes/step), 1)
}

// stemmaConstant returns the constant that p adds to a register, or puts there; 0 for none.
func stemmaConstant(p *obj.Prog) int64 {
	if p.From.Type != obj.TYPE_CONST || p.To.Type != obj.TYPE_REG {
		return 0
	}
	return p.From.Offset
}

// stemmaTarget returns where p jumps to, nil if nowhere. When code was assembled some branches have only the distance.
func stemmaTarget(p *obj.Prog) *obj.Prog {
	to, _ := p.To.Val.(*obj.Prog)
	if to == p || p.To.Sym != nil {
		return nil // a call, or a jump to another function
	}
	return to
}

// successor returns the successor of b whose code begins at an instruction, nil if none does.
func (c *stemmaCode) successor(b *ssa.Block, at *obj.Prog) *ssa.Block {
	for _, e := range b.Succs {
		if c.begins[e.Block()] == at {
			return e.Block()
		}
	}
	return nil
}

// prologue adds the code before that of the first block, as it is executed where the stack is large enough and nothing
// panics: what there is for that is jumped over, or lies elsewhere.
func (c *stemmaCode) prologue(text *obj.Prog, entry *ssa.Block) {
	begin := c.ranges[0].begin
	within := func(p, to *obj.Prog) bool {
		for p != nil && p != to && p != begin {
			p = p.Link
		}
		return p == to
	}
	more := func(p, to *obj.Prog) bool {
		for ; p != nil && p != to; p = p.Link {
			if p.To.Sym != nil && strings.HasPrefix(p.To.Sym.Name, "runtime.morestack") {
				return true
			}
		}
		return false
	}
	for p := text; p != nil && p != begin; {
		if n := c.instructions(p); n != 0 {
			c.list = append(c.list, ssa.StemmaCode{From: entry, Inlined: -1, N: n})
		}
		if to := stemmaTarget(p); to != nil && within(p.Link, to) && !more(to, begin) {
			p = to
			continue
		}
		p = p.Link
	}
}

// instructions returns how many instructions p has become.
func (c *stemmaCode) instructions(p *obj.Prog) (n int) {
	if p.Link == nil { // behind the last one may be what fills up the function
		if p.As == obj.AXXX {
			return 0
		}
		return 1
	}
	switch p.As {
	case obj.ATEXT, obj.APCALIGN, obj.APCALIGNMAX:
		return 0
	}
	if ssa.StemmaIsPrefix(p.As.String()) {
		return 0
	}
	return ssa.StemmaInstructionsIn(c.bytes[p.Pc:p.Link.Pc])
}

// emitCosts writes what m says: its strings, each behind its length, and its blob. What is left of the function in the
// program keeps that.
func (m *stemmaMeta) emitCosts() {
	blob := m.blob() // collects the strings
	b := binary.AppendUvarint(nil, uint64(len(m.strings)))
	for _, s := range m.strings {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	b = append(b, blob...)
	m.sym.WriteBytes(base.Ctxt, 0, b)
	objw.Global(m.sym, int32(len(b)), obj.RODATA)
	m.sym.Set(obj.AttrLocal, true)
	m.fn.LSym.AddRel(base.Ctxt, obj.Reloc{Type: objabi.R_KEEP, Sym: m.sym})
}
