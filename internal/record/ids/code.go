package ids

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/profile"
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
		return profile.None
	}
	i, ok := slices.BinarySearchFunc(c.calls, uint32(pc-c.Entry),
		func(call codeCall, off uint32) int { return cmp.Compare(call.ret, off) })
	if !ok {
		return profile.None
	}
	return int(c.calls[i].site)
}

// Return returns the first address that a call at a site returns to, 0 if there is none.
func (c *Code) Return(site uint32) uint64 {
	for _, call := range c.calls {
		if call.site == site {
			return c.Entry + uint64(call.ret)
		}
	}
	return 0
}

// CodeAt returns the function that makes the call that returns to the address pc,
// or nil. A call may be the last instruction of its function, so that what it
// returns to is behind it. An address where a function begins, and which no call
// returns to, stands for the entry of that function.
func (c *Encoding) CodeAt(pc uint64) *Code {
	i, begins := slices.BinarySearchFunc(c.Code, pc,
		func(code Code, pc uint64) int { return cmp.Compare(code.Entry, pc) })
	if begins && (i == 0 || c.Code[i-1].Site(pc) == profile.None) {
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

// addCode adds a record of return addresses.
func (c *Encoding) addCode(from *livedir.Code) error {
	code := Code{Entry: from.Entry, Size: from.Size, Func: from.Func, calls: make([]codeCall, len(from.Calls))}
	for i, call := range from.Calls {
		code.calls[i] = codeCall{call[0], call[1]}
	}
	slices.SortFunc(code.calls, func(a, b codeCall) int { return cmp.Compare(a.ret, b.ret) })
	c.Code = append(c.Code, code)
	return nil
}

// sortCode puts the functions in the order of their addresses. Two threads may
// have recorded one twice.
func (c *Encoding) sortCode() error {
	slices.SortStableFunc(c.Code, func(a, b Code) int { return cmp.Compare(a.Entry, b.Entry) })
	c.Code = slices.CompactFunc(c.Code,
		func(a, b Code) bool { return a.Entry == b.Entry && a.Size == b.Size && a.Func == b.Func })
	for i := 1; i < len(c.Code); i++ {
		if a, b := c.Code[i-1], c.Code[i]; a.Entry+uint64(a.Size) > b.Entry {
			return fmt.Errorf("%d bytes of code at %#x overlap those at %#x", a.Size, a.Entry, b.Entry)
		}
	}
	return nil
}
