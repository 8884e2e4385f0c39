#include "go_asm.h"
#include "go_tls.h"
#include "textflag.h"
#include "funcdata.h"

// Names that begin with const_stemma are defined in stemma_asm.go. What g has
// for an engine begins with const_stemmaG.

// stemmaLucceEnter is called on entry of a function, if its call site had another callee
// first, or its step does not take the caller's id. It probes the table of edges, and where
// a known edge takes no such id, it begins a path, as ids.PairStack.push does.
// Argument: the function's data in g.stemma.Func. Result: the id in R11, the version
// in the pair in g. All other general registers are preserved, the other registers are
// not; it is no safe point, and it must not split the stack.
TEXT runtime·stemmaLucceEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	PUSHQ	AX
	PUSHQ	CX
	PUSHQ	R12
	PUSHQ	R13
	MOVQ	const_stemmaGCtx(R14), R12
	MOVQ	const_stemmaGFunc(R14), R13
	MOVQ	runtime·stemmaEdges(SB), AX
	MOVQ	(AX), AX // the table: its mask, and numbers of steps
	MOVQ	$const_stemmaEdgeMul, CX
	MOVQ	R12, R11
	IMULQ	CX, R11
	ADDQ	R13, R11
	IMULQ	CX, R11
	SHRQ	$32, R11
probe:
	ANDL	const_stemmaEdgeMask(AX), R11
	MOVL	const_stemmaEdgeSteps(AX)(R11*4), CX
	TESTL	CX, CX
	JZ	slow
	SHLQ	$const_stemmaStepLog, CX
	ADDQ	runtime·stemmaSteps(SB), CX
	CMPQ	const_stemmaStepCallee(CX), R13
	JNE	next
	CMPQ	const_stemmaStepCell(CX), R12
	JEQ	found
next:
	INCL	R11
	JMP	probe
found:
	MOVQ	const_stemmaGID(R14), R11
	CMPQ	R11, const_stemmaStepBound(CX)
	JCC	begin
	MOVQ	R11, AX
	SHRQ	$const_stemmaStepShift, AX
	ANDQ	const_stemmaStepMask(CX), AX
	ADDQ	AX, R11
	IMULQ	const_stemmaStepMul(CX), R11
	ADDQ	const_stemmaStepAdd(CX), R11
done:
	POPQ	R13
	POPQ	R12
	POPQ	CX
	POPQ	AX
	RET
begin:
	CMPQ	const_stemmaStepBegin(CX), $0
	JEQ	slow // no path has begun so
	TESTQ	R11, R11
	JLT	slow // lost
	MOVQ	const_stemmaGPairs(R14), AX
	TESTQ	AX, AX
	JZ	slow
	MOVQ	const_stemmaGVersion(R14), R13
	MOVQ	R13, R12
	SHRQ	$const_stemmaDepthShift, R12
	INCQ	R12
	CMPQ	R12, const_stemmaEntryWord(AX) // entry 0 says how many there are
	JCC	slow
	SHLQ	$const_stemmaEntryLog, R12
	ADDQ	R12, AX
	MOVQ	R11, const_stemmaEntryWord(AX)
	MOVQ	CX, const_stemmaEntryPlace(AX)
	SHLQ	$32, R13 // the entry that it stands on is the kind; not interned
	MOVQ	R13, const_stemmaEntryNode(AX)
	SHLQ	$(const_stemmaDepthShift-const_stemmaEntryLog), R12
	MOVQ	R12, const_stemmaGVersion(R14)
	MOVQ	const_stemmaStepBegin(CX), R11
	DECQ	R11
	JMP	done
slow:
	POPQ	R13
	POPQ	R12
	POPQ	CX
	POPQ	AX
	JMP	runtime·stemmaLucceSlow<ABIInternal>(SB)

// stemmaLucceEnterChecked is called in a verify build on every function entry.
TEXT runtime·stemmaLucceEnterChecked<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	DECQ	runtime·stemmaCountdown(SB)
	JLE	slow
	JMP	runtime·stemmaLucceEnter<ABIInternal>(SB)
slow:
	JMP	runtime·stemmaLucceSlow<ABIInternal>(SB)

// stemmaLucceHere returns the ID of the context of its caller's call: func() (hi, lo, run uint64).
// The caller has left its pair in g.
TEXT runtime·stemmaLucceHere<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-24
	LEAQ	runtime·stemmaNoCell(SB), CX
	CMPQ	CX, const_stemmaGCtx(R14)
	JEQ	slow
	MOVL	const_stemmaGVersion(R14), SI
	TESTL	SI, SI
	JZ	slow // what the version stands for may not be interned yet
	MOVQ	const_stemmaGID(R14), AX
	MOVQ	AX, DX
	SHRQ	$const_stemmaIDLimit, DX
	JNZ	slow
	MOVQ	0(SP), BX
	SUBQ	runtime·stemmaText(SB), BX
	MOVQ	BX, DX
	SHRQ	$const_stemmaIDPCBits, DX
	JNZ	slow
	ORQ	runtime·stemmaStamp(SB), BX
	MOVQ	AX, DX
	SHRQ	$const_stemmaIDBits, DX
	SHLQ	$const_stemmaIDEpoch, DX
	ORQ	DX, BX
	ANDL	$const_stemmaIDMask, AX
	SHLQ	$32, SI
	ORQ	SI, AX
	MOVQ	runtime·stemmaRun(SB), CX
	RET
slow:
	JMP	runtime·stemmaLucceHereSlow<ABIInternal>(SB)
