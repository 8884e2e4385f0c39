#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// Names that begin with const_stemma are defined in stemma_asm.go. What g has
// for an engine begins with const_stemmaG.

// stemmaLucceEnter is called on entry of a function, if its call site had another callee
// first, or its step does not take the caller's id. It probes the table of edges, and where
// a known edge takes no such id, it begins a path, as ids.PairStack.push does.
// Argument: the function's data in g.stemma.Func. Result: the id in R25, the version
// in the pair in g. All other general registers but R16 and R17 are preserved, the other registers are
// not; it is no safe point, and it must not split the stack.
//
// All that it reads is found by way of an address that was written when it was complete.
TEXT runtime·stemmaLucceEnter<ABIInternal>(SB), NOSPLIT, $40-0
	STP	(R0, R1), 8(RSP)
	STP	(R2, R3), 24(RSP)
	MOVD	const_stemmaGCtx(g), R0
	MOVD	const_stemmaGFunc(g), R1
	MOVD	runtime·stemmaEdges(SB), R2
	MOVD	(R2), R2	// the table: its mask, and numbers of steps
	MOVD	$const_stemmaEdgeMul, R16
	MUL	R16, R0, R17
	ADD	R1, R17
	MUL	R16, R17
	LSR	$32, R17
probe:
	MOVWU	const_stemmaEdgeMask(R2), R16
	ANDW	R16, R17
	ADD	R17<<2, R2, R16
	MOVWU	const_stemmaEdgeSteps(R16), R16
	CBZ	R16, slow
	MOVD	runtime·stemmaSteps(SB), R3
	ADD	R16<<const_stemmaStepLog, R3, R16
	MOVD	const_stemmaStepCallee(R16), R3
	CMP	R3, R1
	BNE	next
	MOVD	const_stemmaStepCell(R16), R3
	CMP	R3, R0
	BEQ	found
next:
	ADDW	$1, R17
	JMP	probe
found:
	MOVD	const_stemmaGID(g), R25
	MOVD	const_stemmaStepBound(R16), R3
	CMP	R3, R25
	BHS	begin
	LSR	$const_stemmaStepShift, R25, R17
	MOVD	const_stemmaStepMask(R16), R3
	AND	R3, R17
	ADD	R17, R25
	MOVD	const_stemmaStepMul(R16), R3
	MUL	R3, R25
	MOVD	const_stemmaStepAdd(R16), R3
	ADD	R3, R25
done:
	LDP	8(RSP), (R0, R1)
	LDP	24(RSP), (R2, R3)
	RET
begin:
	TBNZ	$63, R25, slow	// lost
	MOVD	const_stemmaStepBegin(R16), R3
	CBZ	R3, slow	// no path has begun so
	MOVD	const_stemmaGPairs(g), R0
	CBZ	R0, slow
	MOVD	const_stemmaGVersion(g), R1
	LSR	$const_stemmaDepthShift, R1, R2
	ADD	$1, R2
	MOVD	const_stemmaEntryWord(R0), R17	// entry 0 says how many there are
	CMP	R17, R2
	BHS	slow
	ADD	R2<<const_stemmaEntryLog, R0
	MOVD	R25, const_stemmaEntryWord(R0)
	MOVD	R16, const_stemmaEntryPlace(R0)
	LSL	$32, R1	// the entry that it stands on is the kind; not interned
	MOVD	R1, const_stemmaEntryNode(R0)
	LSL	$const_stemmaDepthShift, R2
	MOVD	R2, const_stemmaGVersion(g)
	SUB	$1, R3, R25
	JMP	done
slow:
	LDP	8(RSP), (R0, R1)
	LDP	24(RSP), (R2, R3)
	CALL	runtime·stemmaLucceSlow<ABIInternal>(SB)
	RET

// stemmaLucceMiss calls the slow path for stemmaLucceEnterChecked, which has no frame.
TEXT runtime·stemmaLucceMiss<ABIInternal>(SB), NOSPLIT, $8-0
	CALL	runtime·stemmaLucceSlow<ABIInternal>(SB)
	RET

// stemmaLucceEnterChecked is called in a verify build on every function entry.
TEXT runtime·stemmaLucceEnterChecked<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	MOVD	$runtime·stemmaCountdown(SB), R17
	MOVD	(R17), R16
	SUBS	$1, R16
	MOVD	R16, (R17)
	BLE	slow
	JMP	runtime·stemmaLucceEnter<ABIInternal>(SB)
slow:
	JMP	runtime·stemmaLucceMiss<ABIInternal>(SB)

// stemmaLucceHere returns the ID of the context of its caller's call: func() (hi, lo, run uint64).
// The caller has left its pair in g.
TEXT runtime·stemmaLucceHere<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-24
	MOVD	$runtime·stemmaNoCell(SB), R3
	MOVD	const_stemmaGCtx(g), R4
	CMP	R3, R4
	BEQ	slow
	MOVWU	const_stemmaGVersion(g), R2
	CBZ	R2, slow	// what the version stands for may not be interned yet
	MOVD	const_stemmaGID(g), R0
	LSR	$const_stemmaIDLimit, R0, R3
	CBNZ	R3, slow
	MOVD	runtime·stemmaText(SB), R4
	SUB	R4, R30, R1
	LSR	$const_stemmaIDPCBits, R1, R3
	CBNZ	R3, slow
	MOVD	runtime·stemmaStamp(SB), R4
	ORR	R4, R1
	LSR	$const_stemmaIDBits, R0, R3
	LSL	$const_stemmaIDEpoch, R3
	ORR	R3, R1
	AND	$const_stemmaIDMask, R0
	ORR	R2<<32, R0
	MOVD	runtime·stemmaRun(SB), R2
	RET
slow:
	JMP	runtime·stemmaLucceHereSlow<ABIInternal>(SB)
