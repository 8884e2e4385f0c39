package ssa

import "cmd/compile/internal/ir"

var stemmaARM64 = stemmaTarget{
	WB:         OpARM64LoweredWB,
	Load:       OpARM64MOVDload,
	AtomicLoad: OpStemmaWord,
	Store:      OpARM64MOVDstore,
	StorePair:  OpARM64STP,
	Const:      OpARM64MOVDconst,
	Add:        OpARM64ADD,
	AddConst:   OpARM64ADDconst,
	closure:    OpARM64LoweredGetClosurePtr,
	define:     stemmaDefineARM64,
	lower:      stemmaLowerARM64,
}

// stemmaDefineARM64 makes the entries of our own operations. An increment is several instructions, between which no
// goroutine may leave its P: stemmaCount in package arm64 says where safe points are. What calls the slow path has the
// function in R24 and the node in R25, and preserves the other general registers but R16 and R17, which veneers of the
// linker use, R19 to R21, and R30.
func stemmaDefineARM64() {
	load := opcodeTable[OpARM64MOVDload]
	general := load.reg.outputs[0].regs
	opcodeTable[OpStemmaCount] = opInfo{name: "StemmaCount", auxType: auxInt64, argLen: 2, hasSideEffects: true,
		needIntTemp: true, reg: regInfo{inputs: []inputInfo{{0, general}}}}

	word := opcodeTable[OpARM64LDAR] // for the tuple
	word.name, word.auxType, word.symEffect, word.faultOnNilArg0 = "StemmaWord", auxSymOff, SymRead, false
	word.reg = regInfo{inputs: load.reg.inputs, outputs: load.reg.outputs}
	opcodeTable[OpStemmaWord] = word

	// The table's registers are numbered without R18 and R27.
	const r19to21, r24, r25 = 7 << 18, 1 << 23, 1 << 24
	enter := opcodeTable[OpARM64LoweredWB]
	enter.name, enter.auxType, enter.symEffect = "StemmaEnter", auxSym, SymNone
	enter.reg.clobbers = stemmaMask(stemmaMaskBits(enter.reg.clobbers) | r19to21 | r24)
	enter.argLen = 2
	enter.reg.inputs, enter.reg.outputs = []inputInfo{{0, stemmaMask(r25)}}, []outputInfo{{0, stemmaMask(r25)}}
	opcodeTable[OpStemmaEnter] = enter
}

// stemmaLowerARM64 makes loads of the slot take the place of the slot as part of the instruction, which loads with an
// order cannot.
func stemmaLowerARM64(f *Func) {
	changed := false
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if v.Op != OpARM64LDAR {
				continue
			}
			at := v.Args[0]
			for at.Op == OpCopy {
				at = at.Args[0]
			}
			if n, ok := at.Aux.(*ir.Name); ok && at.Op == OpARM64MOVDaddr && n.Sym().Name == ".stemma" {
				v.Op, v.Aux, v.AuxInt = OpStemmaWord, at.Aux, at.AuxInt
				v.SetArgs2(at.Args[0], v.Args[1])
				changed = true
			}
		}
	}
	if changed {
		deadcode(f) // of addresses
	}
}
