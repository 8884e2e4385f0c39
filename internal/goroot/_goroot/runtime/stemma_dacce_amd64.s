#include "go_asm.h"
#include "go_tls.h"
#include "textflag.h"
#include "funcdata.h"

// Names that begin with const_stemma are defined in stemma_asm.go.

// stemmaDacceEnter is called on entry of a function, in place of the word in g, which
// is not encoded or void. It finds the caller's frame by way of the frame
// pointers and return addresses that are known, and does what needs no lock: the
// addition, if the edge is encoded after all, and a push, if it is known not to
// be, or was seen and is counted. Argument: the function's data in g.stemma.Func. Result: its word in R11. All
// other general registers are preserved, the other registers are not; it is no
// safe point, and it must not split the stack.
TEXT runtime·stemmaDacceEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	PUSHQ	AX
	PUSHQ	CX
	PUSHQ	R12
	PUSHQ	R13
	MOVQ	BP, R12
frame:
	MOVQ	const_stemmaReturnAt(R12), R13
	MOVQ	$const_stemmaPCMul, R11
	IMULQ	R13, R11
	SHRQ	$const_stemmaPCShift, R11
probe:
	MOVQ	R11, AX
	SHLQ	$const_stemmaPCLog, AX
	ADDQ	runtime·stemmaPCs(SB), AX
	MOVQ	const_stemmaPCReturn(AX), CX
	CMPQ	CX, R13
	JEQ	found
	TESTQ	CX, CX
	JZ	slow
	INCQ	R11
	ANDQ	$const_stemmaPCMask, R11
	JMP	probe
found:
	MOVQ	(R12), R12
	MOVQ	const_stemmaPCAV(AX), CX
	TESTQ	CX, CX
	JZ	frame
	MOVQ	const_stemmaSlot(R12), R11 // the caller's word
	MOVQ	AX, R12 // what is known about the return address
	MOVQ	(CX), AX
	MOVQ	const_stemmaGFunc(R14), CX
	MOVQ	AX, R13
	SHRQ	$const_stemmaWordKey, R13
	CMPL	R13, $const_stemmaKeyPush
	JEQ	push
	ADDQ	AX, R11
	SUBQ	const_stemmaDataKey(CX), R11
	CMPQ	R11, const_stemmaDataLimit(CX)
	JCS	done
	// a loop that has no more ids, or a callee that the site is not encoded for
	MOVQ	R11, R13
	ADDQ	const_stemmaDataKey(CX), R11
	SUBQ	AX, R11
	SHRQ	$const_stemmaWordKey, R13
	JNZ	wrong
	CMPQ	const_stemmaDataLimit(CX), $0
	JNE	push
wrong: // the next epoch may encode it
	CMPB	runtime·stemmaFixed(SB), $0
	JNE	push
	MOVQ	const_stemmaPCEdge(R12), R13
	TESTQ	R13, R13
	JZ	slow
	MOVL	const_stemmaSeenTarget(R13), AX
	CMPQ	AX, const_stemmaDataIndex(CX)
	JNE	slow
	MOVQ	const_stemmaSeenHits(R13), AX
	INCQ	AX
	MOVQ	AX, const_stemmaSeenHits(R13)
	TESTL	$const_stemmaSeenMask, AX
	JNZ	store
	JMP	slow // to see whether an epoch is due
push:
	CMPQ	const_stemmaDataIndex(CX), $0
	JEQ	slow // its first execution
	MOVQ	const_stemmaGPushes(R14), AX
	INCQ	AX
	MOVQ	AX, const_stemmaGPushes(R14)
	CMPQ	AX, $const_stemmaPushStep
	JCC	slow // to be counted
store:
	MOVL	R11, R13
	ANDL	$const_stemmaMaxDeep, R13
	INCL	R13
	CMPL	R13, $const_stemmaMaxDeep
	JCC	slow
	CMPQ	R13, const_stemmaGCap(R14)
	JCC	slow
	MOVQ	R13, AX
	SHLQ	$const_stemmaEntryLog, AX
	ADDQ	const_stemmaGStack(R14), AX
	MOVQ	const_stemmaDataFunc(CX), CX
	MOVQ	const_stemmaPCReturn(R12), R12
	MOVQ	R11, const_stemmaEntryWord(AX)
	MOVQ	R12, const_stemmaEntryPlace(AX)
	MOVQ	CX, const_stemmaEntryTarget(AX)
	MOVQ	$0, const_stemmaEntryNode(AX)
	MOVQ	R13, R11
	JMP	done
done:
	POPQ	R13
	POPQ	R12
	POPQ	CX
	POPQ	AX
	RET
	ADJSP	$32 // never executed: tells the assembler, and so whoever unwinds, what is on the stack from here on
slow:
	POPQ	R13
	POPQ	R12
	POPQ	CX
	POPQ	AX
	JMP	runtime·stemmaDacceSlow<ABIInternal>(SB)

// stemmaDacceEnterChecked is called in a verify build on every function entry. Each STEMMA_CHECK_EVERYth goes to Go, so
// with 1 nothing is pushed in assembly.
TEXT runtime·stemmaDacceEnterChecked<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	DECQ	runtime·stemmaCountdown(SB)
	JLE	slow
	PUSHQ	AX
	MOVQ	const_stemmaGFunc(R14), AX
	MOVQ	const_stemmaGCtx(R14), R11
	SUBQ	const_stemmaDataKey(AX), R11
	CMPQ	R11, const_stemmaDataLimit(AX)
	POPQ	AX
	JCC	encode
	RET
encode:
	JMP	runtime·stemmaDacceEnter<ABIInternal>(SB)
slow:
	JMP	runtime·stemmaDacceSlow<ABIInternal>(SB)

// stemmaHereDynamic is stemmaHere for callers that have called it as they call any
// function that they do not know, with an addition value that nobody changes.
TEXT runtime·stemmaHereDynamic<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	$const_stemmaAnyDynamic, CX
	SUBQ	CX, const_stemmaGCtx(R14)
	JMP	runtime·stemmaHere<ABIInternal>(SB)

// stemmaHere returns the ID of the context of its caller's call: func() (hi, lo, run uint64).
// The caller has left its word in g.
TEXT runtime·stemmaHere<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ	const_stemmaGCtx(R14), AX
	MOVQ	0(SP), BX
	MOVQ	AX, DX
	SHRQ	$const_stemmaWordKey, DX
	JNZ	slow // no word
	SUBQ	runtime·stemmaText(SB), BX
	CMPQ	BX, $(1<<const_stemmaIDPCBits)
	JCC	slow // the ID has no room for the address
	MOVL	AX, CX
	ANDL	$const_stemmaMaxDeep, CX
	CMPQ	CX, const_stemmaGCap(R14)
	JCC	slow // the ccStack could not grow: there is no such entry
	SHLQ	$const_stemmaEntryLog, CX
	ADDQ	const_stemmaGStack(R14), CX
	MOVL	const_stemmaEntryNode(CX), CX // 0 at MAX_DEEP, too: nothing interns that
	SHLQ	$32, CX
	JZ	slow // not interned
	SHRQ	$const_stemmaWordID, AX
	ORQ	CX, AX
	ORQ	runtime·stemmaStamp(SB), BX
	MOVQ	runtime·stemmaRun(SB), CX
	RET
slow:
	JMP	runtime·stemmaHereSlow<ABIInternal>(SB)
