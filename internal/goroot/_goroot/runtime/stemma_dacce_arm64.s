#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// Names that begin with const_stemma are defined in stemma_asm.go.

// stemmaDacceEnter is called on entry of a function, in place of the word in g, which
// is not encoded or void. It finds the caller's frame by way of the frame
// pointers and return addresses that are known, and does what needs no lock: the
// addition, if the edge is encoded after all, and a push, if it is known not to
// be, or was seen and is counted. Argument: the function's data in g.stemma.Func. Result: its word in R25. All
// other general registers but R16 and R17 are preserved, the other registers are not; it is no
// safe point, and it must not split the stack.
TEXT runtime·stemmaDacceEnter<ABIInternal>(SB), NOSPLIT, $40-0
	STP	(R0, R1), 8(RSP)
	STP	(R2, R3), 24(RSP)
	MOVD	(R29), R0	// the function's frame pointer
frame:
	MOVD	const_stemmaReturnAt(R0), R1
	MOVD	$const_stemmaPCMul, R16
	MUL	R1, R16, R25
	LSR	$const_stemmaPCShift, R25
	MOVD	runtime·stemmaPCs(SB), R17
probe:
	ADD	R25<<const_stemmaPCLog, R17, R2
	ADD	$const_stemmaPCReturn, R2, R16
	LDAR	(R16), R3	// what it leads to was written before
	CMP	R3, R1
	BEQ	found
	CBZ	R3, slow
	ADD	$1, R25
	AND	$const_stemmaPCMask, R25
	JMP	probe
found:
	MOVD	(R0), R0
	MOVD	const_stemmaPCAV(R2), R3
	CBZ	R3, frame
	MOVD	(R0), R16	// the caller's varp, as in stemmaSlotOf
	CBNZ	R16, slot
	MOVD	g_stktopsp(g), R16
	SUB	$8, R16
slot:
	MOVD	const_stemmaSlot(R16), R25	// the caller's word
	MOVD	R2, R0	// what is known about the return address
	MOVD	(R3), R2
	LSR	$const_stemmaWordKey, R2, R16
	MOVD	const_stemmaGFunc(g), R3
	CMP	$const_stemmaKeyPush, R16
	BEQ	push
	ADD	R2, R25
	MOVD	const_stemmaDataKey(R3), R17
	SUB	R17, R25
	MOVD	const_stemmaDataLimit(R3), R16
	CMP	R16, R25
	BHS	other
done:
	LDP	8(RSP), (R0, R1)
	LDP	24(RSP), (R2, R3)
	RET
other:	// a loop that has no more ids, or a callee that the site is not encoded for
	ADD	R17, R25, R17
	SUB	R2, R17
	LSR	$const_stemmaWordKey, R25, R2
	MOVD	R17, R25
	CBNZ	R2, wrong
	CBNZ	R16, push
wrong:	// the next epoch may encode it
	MOVBU	runtime·stemmaFixed(SB), R16
	CBNZ	R16, push
	MOVD	const_stemmaPCEdge(R0), R16
	CBZ	R16, slow
	MOVWU	const_stemmaSeenTarget(R16), R17
	MOVD	const_stemmaDataIndex(R3), R2
	CMP	R17, R2
	BNE	slow
	MOVD	const_stemmaSeenHits(R16), R2
	ADD	$1, R2
	MOVD	R2, const_stemmaSeenHits(R16)
	TST	$const_stemmaSeenMask, R2
	BNE	store
	JMP	slow	// to see whether an epoch is due
push:
	MOVD	const_stemmaDataIndex(R3), R16
	CBZ	R16, slow	// its first execution
	MOVD	const_stemmaGPushes(g), R2
	ADD	$1, R2
	MOVD	R2, const_stemmaGPushes(g)
	CMP	$const_stemmaPushStep, R2
	BHS	slow	// to be counted
store:
	AND	$const_stemmaMaxDeep, R25, R0
	ADD	$1, R0
	CMP	$const_stemmaMaxDeep, R0
	BHS	slow
	MOVD	const_stemmaGCap(g), R16
	CMP	R16, R0
	BHS	slow
	MOVD	const_stemmaGStack(g), R16
	ADD	R0<<const_stemmaEntryLog, R16, R2
	MOVD	const_stemmaDataFunc(R3), R3
	MOVD	R25, const_stemmaEntryWord(R2)
	MOVD	R1, const_stemmaEntryPlace(R2)
	MOVD	R3, const_stemmaEntryTarget(R2)
	MOVD	ZR, const_stemmaEntryNode(R2)
	MOVD	R0, R25
	JMP	done
slow:
	LDP	8(RSP), (R0, R1)
	LDP	24(RSP), (R2, R3)
	CALL	runtime·stemmaDacceSlow<ABIInternal>(SB)
	RET

// stemmaDacceMiss calls the slow path for stemmaDacceEnterChecked, which has no frame.
TEXT runtime·stemmaDacceMiss<ABIInternal>(SB), NOSPLIT, $8-0
	CALL	runtime·stemmaDacceSlow<ABIInternal>(SB)
	RET

// stemmaDacceEnterChecked is called in a verify build on every function entry.
TEXT runtime·stemmaDacceEnterChecked<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	MOVD	$runtime·stemmaCountdown(SB), R17
	MOVD	(R17), R16
	SUBS	$1, R16
	MOVD	R16, (R17)
	BLE	slow
	MOVD	const_stemmaGFunc(g), R17
	MOVD	const_stemmaGCtx(g), R25
	MOVD	const_stemmaDataKey(R17), R16
	SUB	R16, R25
	MOVD	const_stemmaDataLimit(R17), R16
	CMP	R16, R25
	BHS	encode
	RET
encode:
	JMP	runtime·stemmaDacceEnter<ABIInternal>(SB)
slow:
	JMP	runtime·stemmaDacceMiss<ABIInternal>(SB)

// stemmaHereDynamic is stemmaHere for callers that have called it as they call any
// function that they do not know, with an addition value that nobody changes.
TEXT runtime·stemmaHereDynamic<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-24
	MOVD	$const_stemmaAnyDynamic, R16
	MOVD	const_stemmaGCtx(g), R17
	SUB	R16, R17
	MOVD	R17, const_stemmaGCtx(g)
	JMP	runtime·stemmaHere<ABIInternal>(SB)

// stemmaHere returns the ID of the context of its caller's call: func() (hi, lo, run uint64).
// The caller has left its word in g.
TEXT runtime·stemmaHere<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-24
	MOVD	const_stemmaGCtx(g), R0
	LSR	$const_stemmaWordKey, R0, R3
	CBNZ	R3, slow	// no word
	MOVD	runtime·stemmaText(SB), R4
	SUB	R4, R30, R1
	LSR	$const_stemmaIDPCBits, R1, R3
	CBNZ	R3, slow	// the ID has no room for the address
	AND	$const_stemmaMaxDeep, R0, R2
	MOVD	const_stemmaGCap(g), R3
	CMP	R3, R2
	BHS	slow	// the ccStack could not grow: there is no such entry
	MOVD	const_stemmaGStack(g), R3
	ADD	R2<<const_stemmaEntryLog, R3, R3
	MOVWU	const_stemmaEntryNode(R3), R2	// 0 at MAX_DEEP, too: nothing interns that
	CBZ	R2, slow	// not interned
	LSR	$const_stemmaWordID, R0, R0
	ORR	R2<<32, R0
	MOVD	runtime·stemmaStamp(SB), R3
	ORR	R3, R1
	MOVD	runtime·stemmaRun(SB), R2
	RET
slow:
	JMP	runtime·stemmaHereSlow<ABIInternal>(SB)
