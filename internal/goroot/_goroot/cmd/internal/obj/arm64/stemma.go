package arm64

import "cmd/internal/obj"

// isStemmaEnter reports whether s is the slow path of the entry of an instrumented function.
// It saves all registers and needs little stack, so that a function which
// calls nothing else is still a leaf.
func isStemmaEnter(s *obj.LSym) bool {
	return s != nil && (s.Name == "runtime.stemmaEnter" || s.Name == "runtime.stemmaEnterChecked" ||
		s.Name == "runtime.stemmaAcctEnter")
}

// stemmaKeepLink lets leaf functions call the slow path: its call takes the link register, which has the return address
// of a leaf. One without a frame gets one around the call, so that walks of the stack find the address; one with a
// frame has stored it there.
func (c *ctxt7) stemmaKeepLink(locals int64) {
	text := c.cursym.Func().Text
	if text.Mark&LEAF == 0 {
		return
	}
	const frame = 16
	for p := text; p != nil; p = p.Link {
		if p.As != ABL || !isStemmaEnter(p.To.Sym) {
			continue
		}
		if locals != 0 {
			p = c.stemmaMove(p, obj.Addr{Type: obj.TYPE_MEM, Reg: REGSP}, obj.Addr{Type: obj.TYPE_REG, Reg: REGLINK})
			continue
		}
		call := *p
		link, fp := obj.Addr{Type: obj.TYPE_REG, Reg: REGLINK}, obj.Addr{Type: obj.TYPE_REG, Reg: REGFP}
		below := obj.Addr{Type: obj.TYPE_MEM, Reg: REGSP, Offset: -8}
		// As in the prologue: the frame is whole as soon as SP says that it is there.
		p.As, p.From, p.To = AMOVD, link, obj.Addr{Type: obj.TYPE_MEM, Reg: REGSP, Offset: -frame}
		p.Scond, p.Spadj = C_XPRE, frame
		p = c.stemmaMove(p, fp, below)
		p = obj.Appendp(p, c.newprog)
		p.As, p.From, p.Reg, p.To = ASUB, obj.Addr{Type: obj.TYPE_CONST, Offset: 8}, REGSP, fp
		p = obj.Appendp(p, c.newprog)
		p.As, p.To = call.As, call.To
		p = c.stemmaMove(p, below, fp)
		p = c.stemmaMove(p, obj.Addr{Type: obj.TYPE_MEM, Reg: REGSP, Offset: frame}, link)
		p.Scond, p.Spadj = C_XPOST, -frame
	}
}

// stemmaMove adds a move behind p, and returns it.
func (c *ctxt7) stemmaMove(p *obj.Prog, from, to obj.Addr) *obj.Prog {
	p = obj.Appendp(p, c.newprog)
	p.As, p.From, p.To = AMOVD, from, to
	return p
}
