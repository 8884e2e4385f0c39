package ssa

import "internal/buildcfg"

// A stemmaTarget is what the passes need to know of an architecture. stemmaAMD64.go and stemmaARM64.go have one each.
type stemmaTarget struct {
	// Halves: an operation compares half of a function's ID with an address that is part of the instruction.
	Halves bool

	// Near: an instruction has room for layout.Base as a displacement. Else it is loaded from g.
	Near bool

	// Due: there is OpStemmaDue.
	Due bool

	// Operations of the architecture that passes look for. One that it does not have is OpInvalid, which no value is.
	WB, Load, AtomicLoad, Store, StorePair, Const, Add, AddLoad, AddConst, closure Op

	define func()        // makes the entries of our own operations
	lower  func(f *Func) // what stemmaLower does; nil for nothing
}

// stemmaLeastSelections is the machine on which fewest branches become selections.
const stemmaLeastSelections = "amd64"

// StemmaTarget is what this compilation is for. Programs for others are not instrumented: nothing is defined there.
var StemmaTarget = map[string]stemmaTarget{"amd64": stemmaAMD64, "arm64": stemmaARM64}[buildcfg.GOARCH]

// StemmaInstructionsIn returns how many instructions there are in what an instruction of the assembler has become.
func StemmaInstructionsIn(code []byte) (n int) {
	switch buildcfg.GOARCH {
	case "386", "amd64", "s390x": // of any length, and one each
		return min(len(code), 1)
	case "riscv64": // of two bytes or four
		for len(code) > 0 {
			size := 2
			if code[0]&3 == 3 {
				size = 4
			}
			code = code[min(size, len(code)):]
			n++
		}
		return n
	}
	return len(code) / 4
}

// StemmaIsPrefix reports whether an instruction of the assembler is a part of the next one, by its name.
func StemmaIsPrefix(name string) bool {
	switch name {
	case "LOCK", "REP", "REPN":
		return true
	}
	return false
}
