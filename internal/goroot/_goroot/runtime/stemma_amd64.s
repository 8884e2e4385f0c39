#include "go_asm.h"
#include "go_tls.h"
#include "textflag.h"
#include "funcdata.h"

// Names that begin with const_stemma are defined in stemma_asm.go.

// stemmaEnter is called on entry of a function whose node is not the first
// child of the cell that the caller left: the cell is empty, or leads to a
// table, which is probed here. Argument: the function ID in g.stemmaFunc.
// Result: the offset of the node in R11. All other general registers are
// preserved, the other registers are not; it is no safe point, and it must not
// split the stack, because leaf functions call it without a stack check.
TEXT runtime·stemmaEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	PUSHQ	AX
	PUSHQ	R12
	PUSHQ	R13
	MOVQ	g_stemmaFunc(R14), R12
	MOVQ	g_stemmaCtx(R14), R13
	MOVL	(R13), R13
	CMPL	const_stemmaTableTag(R13), $const_stemmaTagTable
	JNE	slow
	MOVQ	R12, R11
	SHRQ	$const_stemmaHashShift, R11
	IMULL	$const_stemmaHashMul, R11
	SHRL	$const_stemmaHashBits, R11
probe:
	ANDL	const_stemmaTableMask(R13), R11
	MOVL	const_stemmaTableEntries(R13)(R11*4), AX
	TESTL	AX, AX
	JZ	slow
	CMPQ	const_stemmaNodeFunc(AX), R12
	JEQ	hit
	INCL	R11
	JMP	probe
hit:
	MOVL	AX, R11
	POPQ	R13
	POPQ	R12
	POPQ	AX
	RET
slow:
	POPQ	R13
	POPQ	R12
	POPQ	AX
	JMP	stemmaEnterSlow<>(SB)

// stemmaPlace returns in R11 the address of the context in g, for a function that must not
// split the stack and may therefore run without a g: then R14 is not what the thread has
// in its thread-local storage, or that is nothing, and the address is one that nobody
// reads. It runs anywhere, preserves all other registers and needs no stack.
TEXT runtime·stemmaPlace<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	get_tls(R11)
	MOVQ	g(R11), R11
	CMPQ	R11, R14
	JNE	none
	TESTQ	R11, R11
	JZ	none
	LEAQ	g_stemmaCtx(R14), R11
	RET
none:
	LEAQ	runtime·stemmaNowhere(SB), R11
	RET

// stemmaEnterChecked is called on every function entry in a verify build, and for the
// accumulator.
TEXT runtime·stemmaEnterChecked<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	CMPB	runtime·stemmaTrigger(SB), $0
	JNE	trigger
	DECQ	runtime·stemmaCountdown(SB)
	JLE	slow
find:
	MOVQ	g_stemmaCtx(R14), R11
	MOVL	(R11), R11
	PUSHQ	AX
	MOVQ	g_stemmaFunc(R14), AX
	CMPQ	const_stemmaNodeFunc(R11), AX
	POPQ	AX
	JNE	table
	RET
table:
	JMP	runtime·stemmaEnter<ABIInternal>(SB)
trigger:
	CMPB	runtime·stemmaTrigger(SB), $2
	JEQ	slow
	// The index is that of stemmaAcctEntry.
	PUSHQ	AX
	MOVQ	g_stemmaFunc(R14), AX
	SHRQ	$const_stemmaTriggerShift, AX
	ANDQ	$const_stemmaTriggerMask, AX
	LEAQ	runtime·stemmaFuncCounters(SB), R11
	DECL	(R11)(AX*4)
	POPQ	AX
	JGT	find
slow:
	JMP	stemmaEnterSlow<>(SB)

// stemmaEnterSlow saves the registers that stemmaEnter must preserve and
// calls Go. It is jumped to, with the return address of stemmaEnter's caller.
TEXT stemmaEnterSlow<>(SB), NOSPLIT, $96-0
	MOVQ	AX, 0(SP)
	MOVQ	BX, 8(SP)
	MOVQ	CX, 16(SP)
	MOVQ	DX, 24(SP)
	MOVQ	SI, 32(SP)
	MOVQ	DI, 40(SP)
	MOVQ	R8, 48(SP)
	MOVQ	R9, 56(SP)
	MOVQ	R10, 64(SP)
	MOVQ	R12, 72(SP)
	MOVQ	R13, 80(SP)
	MOVQ	R15, 88(SP)
	CALL	runtime·stemmaEnterGo(SB)
	MOVQ	g_stemmaNode(R14), R11
	MOVQ	0(SP), AX
	MOVQ	8(SP), BX
	MOVQ	16(SP), CX
	MOVQ	24(SP), DX
	MOVQ	32(SP), SI
	MOVQ	40(SP), DI
	MOVQ	48(SP), R8
	MOVQ	56(SP), R9
	MOVQ	64(SP), R10
	MOVQ	72(SP), R12
	MOVQ	80(SP), R13
	MOVQ	88(SP), R15
	RET

// func stemmaSetBase(how, base uintptr) (errno uintptr)
// Sets the segment base GS of this thread. It needs no g, and no stack but its caller's.
TEXT ·stemmaSetBase(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	base+8(FP), SI
	CMPQ	how+0(FP), $const_stemmaSegmentInst
	JNE	call
	WRGSBASEQ	SI
	MOVQ	$0, errno+16(FP)
	RET
call:
	MOVL	$0x1001, DI	// ARCH_SET_GS
	MOVL	$158, AX	// arch_prctl
	SYSCALL
	NEGQ	AX
	MOVQ	AX, errno+16(FP)
	RET
