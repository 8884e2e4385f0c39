package profile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// A Code is where the code of a function lies, and its calls in it.
type Code struct {
	Entry uint64
	Size  uint32
	Func  uint32 // index into Funcs
	calls []codeCall
}

// A codeCall says that the call that returns to an offset in the code is a site.
type codeCall struct{ ret, site uint32 }

// Site returns the index of the site whose call returns to the address pc, or
// None: not all calls are sites.
func (c *Code) Site(pc uint64) int {
	if pc-c.Entry > uint64(c.Size) {
		return None
	}
	i, ok := slices.BinarySearchFunc(c.calls, uint32(pc-c.Entry), func(call codeCall, off uint32) int { return cmp.Compare(call.ret, off) })
	if !ok {
		return None
	}
	return int(c.calls[i].site)
}

// CodeAt returns the function that makes the call that returns to the address pc,
// or nil. A call may be the last instruction of its function, so that what it
// returns to is behind it. An address where a function begins, and which no call
// returns to, stands for the entry of that function.
func (c *Contexts) CodeAt(pc uint64) *Code {
	i, begins := slices.BinarySearchFunc(c.Code, pc, func(code Code, pc uint64) int { return cmp.Compare(code.Entry, pc) })
	if begins && (i == 0 || c.Code[i-1].Site(pc) == None) {
		return &c.Code[i]
	}
	if i == 0 {
		return nil
	}
	if code := &c.Code[i-1]; pc-code.Entry <= uint64(code.Size) { // code[i-1] begins before pc
		return code
	}
	return nil
}

// pairSize is the size of a pair in a record of return addresses.
const pairSize = 8

// code reads a record of kind rt.RecPCs, which b is the whole of.
func (r *funcsReader) code(b []byte) error {
	le := binary.LittleEndian
	id, pairs := le.Uint64(b[8:]), uint64(le.Uint32(b[28:]))
	code := Code{Entry: le.Uint64(b[16:]), Size: le.Uint32(b[24:])}
	fn, ok := r.byID[id]
	if !ok {
		if r.unknown[id] != 0 || r.live.pagesLost() {
			return nil
		}
		return fmt.Errorf("return addresses of a function without a record")
	}
	code.Func = fn
	switch {
	case pairs > uint64(len(b)-rt.FuncHeaderSize)/pairSize:
		return fmt.Errorf("%d return addresses in a record of %d bytes", pairs, len(b))
	case code.Entry+uint64(code.Size) < code.Entry:
		return fmt.Errorf("%d bytes of code at %#x", code.Size, code.Entry)
	}
	code.calls = make([]codeCall, pairs)
	for i := range code.calls {
		pair := b[rt.FuncHeaderSize+pairSize*i:]
		c := codeCall{le.Uint32(pair), le.Uint32(pair[4:])}
		if c.ret > code.Size || uint64(c.site) >= uint64(len(r.p.Funcs[fn].Sites)) {
			return fmt.Errorf("return address %d: offset %d of %d bytes, site %d of %d", i, c.ret, code.Size, c.site, len(r.p.Funcs[fn].Sites))
		}
		code.calls[i] = c
	}
	slices.SortFunc(code.calls, func(a, b codeCall) int { return cmp.Compare(a.ret, b.ret) })
	r.p.Contexts.Code = append(r.p.Contexts.Code, code)
	return nil
}

// sortCode puts the functions in the order of their addresses. Two threads may
// have recorded one twice.
func (c *Contexts) sortCode() error {
	slices.SortStableFunc(c.Code, func(a, b Code) int { return cmp.Compare(a.Entry, b.Entry) })
	c.Code = slices.CompactFunc(c.Code, func(a, b Code) bool { return a.Entry == b.Entry && a.Size == b.Size && a.Func == b.Func })
	for i := 1; i < len(c.Code); i++ {
		if a, b := c.Code[i-1], c.Code[i]; a.Entry+uint64(a.Size) > b.Entry {
			return fmt.Errorf("%d bytes of code at %#x overlap those at %#x", a.Size, a.Entry, b.Entry)
		}
	}
	return nil
}
