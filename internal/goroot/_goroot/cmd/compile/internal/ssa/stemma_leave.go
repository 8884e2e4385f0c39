package ssa

// Two increments that are always executed together can be one. In a block they are, unless something between them
// leaves the function: a call, which may panic or never return, or a fault. The compiler checks a pointer for nil
// before it loads or stores, and until the end the check is a value of its own. It checks none for what it makes an
// instruction of instead of a call: an atomic operation, or a vector that is loaded or stored, faults on its own.
//
// A program that has called debug.SetPanicOnFault may recover from a fault at any address. To share no counter across
// any load would take 2 % more instructions for a call; so the runtime counts these faults as a loss
// (layout.LostFaults).

// StemmaMayLeave reports whether execution may leave the function at v. What is not known to stay may leave.
func StemmaMayLeave(v *Value) bool {
	if v.Op.IsCall() || v.Op == OpNilCheck {
		return true
	}
	switch v.Op {
	case OpPhi, OpCopy, OpFwdRef, OpUnknown, OpInlMark, OpVarDef, OpVarLive, OpKeepAlive, OpLocalAddr, OpGetG,
		OpConvert, OpSelect0, OpSelect1, OpSelectN, OpSelectNAddr, OpMakeResult, OpPrefetchCache,
		OpPrefetchCacheStreamed, OpWB, OpWBend, OpStemmaCount, OpStemmaDiffers, OpStemmaDue, OpStemmaEnter:
		return false
	case OpDereference, OpMove, OpZero:
		return false
	case OpLoad:
		return v.Type.IsSIMD() && !stemmaIsChecked(v.Args[0])
	case OpStore:
		return v.Args[1].Type.IsSIMD() && !stemmaIsChecked(v.Args[0])
	}
	touches := len(v.Args) > 0 && v.Args[len(v.Args)-1].Type.IsMemory()
	return touches && !stemmaIsChecked(v.Args[0])
}

// stemmaIsChecked reports whether an address is known not to be nil: it is one in the frame or in a variable of the
// program, or was checked.
func stemmaIsChecked(address *Value) bool {
	for {
		switch address.Op {
		case OpOffPtr, OpCopy, OpAddPtr, OpPtrIndex:
			address = address.Args[0]
		case OpNilCheck, OpLocalAddr, OpAddr, OpSP, OpGetG:
			return true
		default:
			return false
		}
	}
}

// stemmaBefore returns the memory before m, if making m cannot leave the function; else nil.
func stemmaBefore(m *Value) *Value {
	if m.Op == OpSelect1 || m.Op == OpSelectN {
		m = m.Args[0]
	}
	if m.Op == OpPhi || len(m.Args) == 0 || StemmaMayLeave(m) {
		return nil
	}
	return m.MemoryArg()
}
