package ssa

import (
	"cmd/internal/obj"
	rec "internal/runtime/stemma/layout"
	"strings"
)

// What is counted as an operation is the same for all machines (CCCP, section 5.1). It is read off SSA before the
// compiler decides which arguments and results go through registers: machines have more of them or fewer. Later some
// branches become selections, which also depends on the machine. So those count as selections which do on the machine
// that has fewest (stemmaLeastSelections). Counters keep the others branches, on each machine.

// stemmaCounted returns the operations of each block, by families.
func stemmaCounted(f *Func, own map[*Value]bool) map[ID][]stemmaN {
	c := &stemmaCounter{parts: stemmaPartsOf(f), ops: make([]stemmaList, f.NumBlocks())}
	for _, b := range f.Blocks {
		c.block(b, own)
	}
	selected := c.selections(f)
	for _, b := range f.Blocks {
		if stemmaBranches(b) && !selected[b] {
			c.ops[b.ID].add(stemmaInlinedAt(b.Pos), rec.OpBranch, 1)
		}
	}
	counted := map[ID][]stemmaN{}
	for id, list := range c.ops {
		counted[ID(id)] = list
	}
	return counted
}

// A stemmaCounter is the state of stemmaCounted.
type stemmaCounter struct {
	parts map[*Value]int
	ops   []stemmaList // by block
}

// block counts what b executes, but for its branch.
func (c *stemmaCounter) block(b *Block, own map[*Value]bool) {
	for _, v := range b.Values {
		if !own[v] {
			class, _ := stemmaClassOf(v)
			c.ops[b.ID].add(stemmaInlinedAt(v.Pos), class, c.operations(v))
		}
	}
	at := stemmaInlinedAt(b.Pos)
	switch b.Kind {
	case BlockJumpTable, BlockDefer:
		c.ops[b.ID].add(at, rec.OpBranch, 1)
	case BlockRet, BlockRetJmp:
		c.ops[b.ID].add(at, rec.OpReturn, 1)
	}
}

// stemmaBranches reports whether the program goes one way or another at the end of b.
func stemmaBranches(b *Block) bool {
	ways := 0
	stemmaSuccs(b, func(int, *Block) { ways++ })
	return b.Kind == BlockIf && ways > 1 && !stemmaAsksMachine(b)
}

// stemmaAsksMachine reports whether block b ends in a choice by what the processor has, which not all machines ask.
func stemmaAsksMachine(b *Block) bool {
	c := b.Controls[0]
	return c.Op == OpHasCPUFeature || stemmaIsFeature(c)
}

// stemmaIsFeature reports whether v loads a variable of the runtime that tells compiled code what the processor has.
func stemmaIsFeature(v *Value) bool {
	if v.Op != OpLoad || v.Args[0].Op != OpAddr {
		return false
	}
	s, ok := v.Args[0].Aux.(*obj.LSym)
	return ok && strings.HasPrefix(s.Name, "runtime.") && strings.Contains(s.Name, "Has")
}

// stemmaWhole are operations that put values together or take them apart. They are none of the machine's.
var stemmaWhole = map[string]bool{"StringMake": true, "StringPtr": true, "StringLen": true, "SliceMake": true,
	"SlicePtr": true, "SlicePtrUnchecked": true, "SliceLen": true, "SliceCap": true, "IMake": true, "ITab": true,
	"IData": true, "ComplexMake": true, "ComplexReal": true, "ComplexImag": true, "StructMake": true,
	"StructSelect": true, "ArrayMake1": true, "ArraySelect": true}

// operations returns how many v stands for: a value of several words is read and written in as many.
func (c *stemmaCounter) operations(v *Value) int {
	switch {
	case stemmaWhole[v.Op.String()] || stemmaIsFeature(v):
		return 0
	case v.Op == OpLoad:
		return c.parts[v]
	case v.Op == OpDereference: // of an argument or result
		if stemmaFixed(v.Args[0]).Op == OpLocalAddr && c.parts[v] == 0 {
			return 0
		}
		return stemmaWords(v)
	case v.Op == OpStore && stemmaIsHome(v):
		return 0
	case v.Op == OpStore:
		return stemmaWords(v.Args[1])
	case v.Op == OpStaticLECall && stemmaIsMove(v):
		return int(v.Args[2].AuxInt+7) / 8
	}
	_, ops := stemmaClassOf(v)
	return ops
}

// stemmaIsHome reports whether v stores a parameter, or a result that no register holds as a whole, where others are
// from the beginning that are passed in memory.
func stemmaIsHome(v *Value) bool {
	to, what := stemmaFixed(v.Args[0]), v.Args[1]
	if to.Op != OpLocalAddr {
		return false
	}
	switch what.Op {
	case OpArg:
		return what.Aux == to.Aux
	case OpArgIntReg, OpArgFloatReg:
		return what.Aux.(*AuxNameOffset).Name == to.Aux
	}
	return what.Op == OpSelectN && !CanSSA(what.Type)
}

// stemmaIsMove reports whether v calls what copies memory for so few bytes that some machine copies them here.
func stemmaIsMove(v *Value) bool {
	const most = 64 // bytes, see isInlinableMemmove
	fn := v.Aux.(*AuxCall).Fn
	return fn != nil && fn.Name == "runtime.memmove" && v.Args[2].Op == OpConst64 && v.Args[2].AuxInt <= most
}

// stemmaWords returns how many words v takes, 1 at least.
func stemmaWords(v *Value) int {
	size := v.Block.Func.Config.PtrSize
	return max(int((v.Type.Size()+size-1)/size), 1)
}

// stemmaPartsOf returns for each load how many of its words anything uses, 1 at least, and for each value that is more
// than a result 1.
func stemmaPartsOf(f *Func) map[*Value]int {
	selected := map[*Value]map[string]bool{}
	parts := map[*Value]int{}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			name := v.Op.String()
			for _, a := range v.Args {
				switch {
				case a.Op == OpDereference && v.Op != OpMakeResult:
					parts[a] = 1
				case a.Op != OpLoad:
				case stemmaWhole[name] && len(v.Args) == 1 && !strings.HasSuffix(name, "Make"):
					if selected[a] == nil {
						selected[a] = map[string]bool{}
					}
					selected[a][strings.TrimSuffix(name, "Unchecked")] = true
				default:
					parts[a] = stemmaWords(a)
				}
			}
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Op == OpLoad && parts[v] == 0 {
				parts[v] = max(len(selected[v]), 1)
			}
		}
	}
	return parts
}
