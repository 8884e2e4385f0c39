#include "go_asm.h"
#include "go_tls.h"
#include "textflag.h"
#include "funcdata.h"

// Names that begin with const_stemma are defined in stemma_asm.go. g has the caller's id in
// stemmaStack, and its version in stemmaCap.

// stemmaLucceEnter is called on entry of a function, if its call site had another callee
// first, or its step does not take the caller's id. It probes the table of edges.
// Argument: the function's data in g.stemmaFunc. Result: the id in R11, the version
// in g.stemmaCap. All other general registers are preserved, the other registers are
// not; it is no safe point, and it must not split the stack.
TEXT runtime·stemmaLucceEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	PUSHQ	AX
	PUSHQ	CX
	PUSHQ	R12
	PUSHQ	R13
	MOVQ	g_stemmaCtx(R14), R12
	MOVQ	g_stemmaFunc(R14), R13
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
	MOVQ	g_stemmaStack(R14), R11
	CMPQ	R11, const_stemmaStepBound(CX)
	JCC	slow
	MOVQ	R11, AX
	SHRQ	$const_stemmaStepShift, AX
	ANDQ	const_stemmaStepMask(CX), AX
	ADDQ	AX, R11
	IMULQ	const_stemmaStepMul(CX), R11
	ADDQ	const_stemmaStepAdd(CX), R11
	POPQ	R13
	POPQ	R12
	POPQ	CX
	POPQ	AX
	RET
slow:
	POPQ	R13
	POPQ	R12
	POPQ	CX
	POPQ	AX
	JMP	stemmaLucceSlow<>(SB)

// stemmaLucceEnterChecked is called in a verify build on every function entry.
TEXT runtime·stemmaLucceEnterChecked<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	DECQ	runtime·stemmaCountdown(SB)
	JLE	slow
	JMP	runtime·stemmaLucceEnter<ABIInternal>(SB)
slow:
	JMP	stemmaLucceSlow<>(SB)

// stemmaLucceSlow saves the registers that stemmaLucceEnter must preserve and calls
// Go. It is jumped to, with the return address of stemmaLucceEnter's caller.
TEXT stemmaLucceSlow<>(SB), NOSPLIT, $104-0
	MOVQ	AX, 8(SP)
	MOVQ	BX, 16(SP)
	MOVQ	CX, 24(SP)
	MOVQ	DX, 32(SP)
	MOVQ	SI, 40(SP)
	MOVQ	DI, 48(SP)
	MOVQ	R8, 56(SP)
	MOVQ	R9, 64(SP)
	MOVQ	R10, 72(SP)
	MOVQ	R12, 80(SP)
	MOVQ	R13, 88(SP)
	MOVQ	R15, 96(SP)
	MOVQ	(BP), AX // this frame's frame pointer leads to the function's
	MOVQ	AX, 0(SP)
	CALL	runtime·stemmaLucceEnterGo(SB)
	MOVQ	g_stemmaNode(R14), R11
	MOVQ	8(SP), AX
	MOVQ	16(SP), BX
	MOVQ	24(SP), CX
	MOVQ	32(SP), DX
	MOVQ	40(SP), SI
	MOVQ	48(SP), DI
	MOVQ	56(SP), R8
	MOVQ	64(SP), R9
	MOVQ	72(SP), R10
	MOVQ	80(SP), R12
	MOVQ	88(SP), R13
	MOVQ	96(SP), R15
	RET

// stemmaLucceHere returns the ID of the context of its caller's call: func() (hi, lo, run uint64).
// The caller has left its pair in g.
TEXT runtime·stemmaLucceHere<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-24
	LEAQ	runtime·stemmaNoCell(SB), CX
	CMPQ	CX, g_stemmaCtx(R14)
	JEQ	slow
	MOVQ	g_stemmaStack(R14), AX
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
	MOVQ	g_stemmaCap(R14), CX
	SHLQ	$32, CX
	ORQ	CX, AX
	MOVQ	runtime·stemmaRun(SB), CX
	RET
slow:
	JMP	runtime·stemmaLucceHereSlow<ABIInternal>(SB)
