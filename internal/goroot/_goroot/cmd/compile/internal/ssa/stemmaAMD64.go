package ssa

import (
	"cmd/compile/internal/types"
	"cmd/internal/obj"
	"strings"
)

var stemmaAMD64 = stemmaTarget{
	Halves:     true,
	Near:       true,
	Due:        true,
	WB:         OpAMD64LoweredWB,
	Load:       OpAMD64MOVQload,
	AtomicLoad: OpAMD64MOVQatomicload,
	Store:      OpAMD64MOVQstore,
	Const:      OpAMD64MOVQconst,
	Add:        OpAMD64ADDQ,
	AddLoad:    OpAMD64ADDQload,
	AddConst:   OpAMD64ADDQconst,
	closure:    OpAMD64LoweredGetClosurePtr,
	define:     stemmaDefineAMD64,
	lower:      stemmaLowerAMD64,
}

// stemmaDefineAMD64 makes the entries of our own operations. That which calls the slow path has the function in R12 and
// the node in R13, and preserves the general registers but R11 and R12.
func stemmaDefineAMD64() {
	count := opcodeTable[OpAMD64ADDQconstmodify] // for what it takes, and that it clobbers flags
	count.name, count.auxType, count.hasSideEffects = "StemmaCount", auxInt64, true
	count.faultOnNilArg0, count.symEffect = false, SymNone
	opcodeTable[OpStemmaCount] = count

	differs := opcodeTable[OpAMD64CMPLconstload]
	differs.name, differs.auxType = "StemmaDiffers", auxSym
	differs.faultOnNilArg0, differs.symEffect = false, SymNone
	opcodeTable[OpStemmaDiffers] = differs

	due := opcodeTable[OpAMD64CMPQconstload]
	due.name, due.auxType, due.hasSideEffects = "StemmaDue", auxInt64, true
	due.faultOnNilArg0, due.symEffect = false, SymNone
	opcodeTable[OpStemmaDue] = due

	enter := opcodeTable[OpAMD64LoweredWB]
	enter.name, enter.auxType, enter.symEffect = "StemmaEnter", auxSym, SymNone
	r13 := stemmaMask(1 << 13)
	enter.reg.clobbers = stemmaMask(stemmaMaskBits(enter.reg.clobbers) | 1<<11 | 1<<12)
	enter.argLen, enter.reg.inputs, enter.reg.outputs = 2, []inputInfo{{0, r13}}, []outputInfo{{0, r13}}
	opcodeTable[OpStemmaEnter] = enter
}

// stemmaLowerAMD64 makes comparisons of our own return the flags that they set, and additions to words load what they
// add.
func stemmaLowerAMD64(f *Func) {
	changed := false
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			changed = stemmaAddLoaded(v) || changed
		}
		if b.Kind != BlockAMD64NE || b.Controls[0].Op != OpAMD64TESTB {
			continue
		}
		own := b.Controls[0].Args[0]
		switch own.Op {
		case OpStemmaDiffers:
		case OpStemmaDue:
			b.Kind = BlockAMD64LT
		default:
			continue
		}
		b.ResetControls()
		own.Type = types.TypeFlags
		b.SetControl(own)
		changed = true
	}
	if changed {
		deadcode(f) // of tests for what is no bool any more, and of loads
	}
}

// stemmaAddLoaded makes v load what it adds to a word, if v is such an addition. The compiler's own rules do not where
// the word is loaded as if others could write it, since they do not look behind the memory which that gives; nor where
// it is the one of the entry, since that is also stored.
func stemmaAddLoaded(v *Value) bool {
	if v.Op != OpAMD64ADDQ || !v.Block.Func.Stemma.Moves {
		return false
	}
	for i, word := range v.Args {
		load := v.Args[1-i]
		if word.Op == OpPhi && word.Block == v.Block && stemmaIsAddition(load) && load.Block == v.Block {
			v.Op, v.Aux, v.AuxInt = OpAMD64ADDQload, load.Aux, load.AuxInt
			v.SetArgs3(word, load.Args[0], load.MemoryArg())
			return true
		}
		if word.Op != OpSelect0 || word.Args[0].Op != OpAMD64MOVQatomicload || word.Uses != 1 ||
			load.Op != OpAMD64MOVQload || load.Uses != 1 || load.Block != v.Block || word.Block != v.Block {
			continue
		}
		if mem := load.MemoryArg(); mem.Op != OpSelect1 || mem.Args[0] != word.Args[0] {
			continue
		}
		v.Op, v.Aux, v.AuxInt = OpAMD64ADDQload, load.Aux, load.AuxInt
		v.SetArgs3(word, load.Args[0], load.MemoryArg())
		return true
	}
	return false
}

// stemmaIsAddition reports whether v loads an addition value, for one use.
func stemmaIsAddition(v *Value) bool {
	sym, ok := v.Aux.(*obj.LSym)
	return ok && v.Op == OpAMD64MOVQload && v.Uses == 1 && strings.HasPrefix(sym.Name, "stemma:")
}
