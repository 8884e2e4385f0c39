#include "go_asm.h"
#include "go_tls.h"
#include "textflag.h"
#include "funcdata.h"

// Names that begin with const_stemma are defined in stemma_asm.go.

// stemmaEnter is called on entry of a function whose node is not the first child of the cell that the caller left:
// the cell is empty, or leads to a table, which is probed here. Arguments: the function ID in R12, and what the cell
// holds in R13. Result: the offset of the node in R13. R11 is not preserved, nor are registers that are not general;
// all others are, R12 included. It is no safe point, and it must not split the stack, because leaf functions call it
// without a stack check.
//
// Nearly all calls find the node at their first look. An entry that is empty leads to the header, whose first word is
// no function ID.
TEXT runtime·stemmaEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	CMPL	const_stemmaTableTag(R13), $const_stemmaTagTable
	JNE	slow
	IMUL3L	$const_stemmaHashMul, R12, R11
	SHRL	$const_stemmaHashBits, R11
	ANDL	const_stemmaTableMask(R13), R11
	MOVL	const_stemmaTableEntries(R13)(R11*4), R13
	CMPQ	const_stemmaNodeFunc(R13), R12
	JNE	probe
	RET
probe:
	MOVQ	const_stemmaGCtx(R14), R13
	MOVL	const_stemmaBase(R13), R13	// a table for good, but perhaps a larger one by now
	// Any page may become zeros meanwhile. So it is asked again whether there is a table, and its mask is read once:
	// with another one for each entry the probe might not end.
	CMPL	const_stemmaTableTag(R13), $const_stemmaTagTable
	JNE	slow
	PUSHQ	AX
	PUSHQ	BX
	IMUL3L	$const_stemmaHashMul, R12, R11
	SHRL	$const_stemmaHashBits, R11
	MOVL	const_stemmaTableMask(R13), BX
	TESTL	BX, BX
	JZ	none
again:
	ANDL	BX, R11
	MOVL	const_stemmaTableEntries(R13)(R11*4), AX
	TESTL	AX, AX
	JZ	none
	INCL	R11
	CMPQ	const_stemmaNodeFunc(AX), R12
	JNE	again
	MOVL	AX, R13
	POPQ	BX
	POPQ	AX
	RET
none:
	POPQ	BX
	POPQ	AX
slow:
	JMP	runtime·stemmaEnterSlow<ABIInternal>(SB)

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
	LEAQ	const_stemmaGCtx(R14), R11
	RET
none:
	LEAQ	runtime·stemmaNowhere(SB), R11
	RET

// stemmaEnterChecked is called on every function entry in a verify build, and for the accumulator, as stemmaEnter is.
TEXT runtime·stemmaEnterChecked<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	CMPB	runtime·stemmaTrigger(SB), $0
	JNE	trigger
	DECQ	runtime·stemmaCountdown(SB)
	JLE	slow
find:
	MOVQ	const_stemmaGCtx(R14), R13
	MOVL	const_stemmaBase(R13), R13
	CMPQ	const_stemmaNodeFunc(R13), R12
	JNE	table
	RET
table:
	JMP	runtime·stemmaEnter<ABIInternal>(SB)
trigger:
	CMPB	runtime·stemmaTrigger(SB), $2
	JEQ	slow
	// The index is that of stemmaAcctEntry.
	MOVQ	R12, R13
	SHRQ	$const_stemmaTriggerShift, R13
	ANDQ	$const_stemmaTriggerMask, R13
	LEAQ	runtime·stemmaFuncCounters(SB), R11
	DECL	(R11)(R13*4)
	JGT	find
slow:
	JMP	runtime·stemmaEnterSlow<ABIInternal>(SB)

// func stemmaGetBase(how uintptr) uintptr
// Returns the segment base GS of this thread, or 0 if the kernel does not tell. It needs no g, and no stack but its
// caller's.
TEXT ·stemmaGetBase(SB), NOSPLIT|NOFRAME, $0-16
	CMPQ	how+0(FP), $const_stemmaSegmentInst
	JNE	call
	RDGSBASEQ	AX
	MOVQ	AX, ret+8(FP)
	RET
call:
	MOVQ	$0, ret+8(FP)
	MOVL	$0x1004, DI	// ARCH_GET_GS
	LEAQ	ret+8(FP), SI
	MOVL	$158, AX	// arch_prctl
	SYSCALL
	RET

// func stemmaShardBase() uintptr
TEXT ·stemmaShardBase(SB), NOSPLIT|NOFRAME, $0-8
	MOVQ	·stemmaSigned(SB), AX
	CALL	·stemmaShardLoad(SB)
	MOVQ	AX, ret+0(FP)
	RET

// func stemmaShardLoad()
// Loads AX from that address behind the segment base GS. The load is its first instruction: see stemmaProbed.
TEXT ·stemmaShardLoad(SB), NOSPLIT|NOFRAME, $0-0
	BYTE	$0x65	// GS
	MOVQ	(AX), AX
	RET

// func stemmaShardNone()
TEXT ·stemmaShardNone(SB), NOSPLIT|NOFRAME, $0-0
	XORL	AX, AX
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
