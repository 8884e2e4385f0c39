#include "go_asm.h"
#include "textflag.h"

// Names that begin with const_stemma are defined in stemma_asm.go.

// stemmaTrampoline is where a function returns to whose return address was replaced. It is entered behind its first
// instruction. The link register has the address of the trampoline, which the unwinder knows to stand for that of the
// innermost entry, and then the true one, before that entry changes.
//
// It may use R16, R17 and R19 to R27, which hold no results, and the link register. It is no safe point, takes no lock
// and no stack. It leaves by a jump, so that the processor's predictor of returns stays in step.
//
// The fast path is for frames that the table of plain return addresses has: a compiled function, whose own return
// address is where SP points, and may be replaced in turn. Below SP is its caller's frame pointer, the place of that
// slot.
TEXT runtime·stemmaTrampoline(SB), NOSPLIT|NOFRAME, $0-0
	NOOP
	MOVD	(g_stemma+stemmaG_trace)(g), R19
	MOVD	const_stemmaTraceN(R19), R20
	CBZ	R20, slow
	MOVD	const_stemmaTraceEntries(R19), R21
	ADD	R20<<const_stemmaTraceLog, R21, R20
	MOVD	(g_stack+stack_hi)(g), R22
	MOVD	RSP, R21
	SUB	R21, R22, R23
	ADD	$8, R23
	MOVD	const_stemmaTopOff(R20), R24
	CMP	R24, R23
	BNE	slow
	MOVD	const_stemmaTopPC(R20), R25
	LSR	$const_stemmaPlainShift, R25, R23
	AND	$const_stemmaPlainMask, R23
	MOVD	const_stemmaTracePlain(R19), R24
	MOVD	(R24)(R23<<3), R23
	CMP	R23, R25
	BNE	marker
	MOVD	const_stemmaTraceNObjs(R19), R23
	MOVD	const_stemmaTraceMaxObjs(R19), R24
	CMP	R24, R23
	BHS	slow
	MOVD	(R21), R24
	MOVD	const_stemmaSavedFP(R21), R26
	MOVD	const_stemmaTraceTramp(R19), R23
	CMP	R23, R24
	BEQ	patched
	MOVD	const_stemmaTraceGoexit(R19), R17
	CMP	R17, R24
	BEQ	slow
	CMP	R21, R26
	BLS	slow
	CMP	R22, R26
	BHS	slow
	MOVD	R25, R30
	MOVWU	const_stemmaTopRef(R20), R17
	TBZ	$const_stemmaObjBit, R17, resolved

	// The frame is a skeleton. Its caller becomes one, in the same entry.
	AND	$(1<<const_stemmaObjBit - 1), R17
	MOVD	const_stemmaTraceObjs(R19), R16
	ADD	R17<<const_stemmaObjLog, R16, R17
	MOVD	R24, const_stemmaTopPC(R20)
	MOVD	const_stemmaTraceNObjs(R19), R25
	ADD	R25<<const_stemmaObjLog, R16, R16
	ADD	$1, R25
	MOVD	R25, const_stemmaTraceNObjs(R19)
	SUB	$1, R25
	ORR	$(1<<const_stemmaObjBit), R25
	MOVW	R25, const_stemmaTopRef(R20)
	MOVW	R25, const_stemmaObjParent(R17)
	SUB	$1, R24
	MOVD	R24, const_stemmaObjPC(R16)
	MOVD	$-1, R25
	MOVW	R25, const_stemmaObjParent(R16) // sample.NoRef
	MOVW	ZR, const_stemmaObjNode(R16)
	MOVD	ZR, const_stemmaObjTime(R16)
	MOVD	ZR, const_stemmaObjCount(R16)
patch:
	SUB	R26, R22, R25
	MOVD	R25, const_stemmaTopOff(R20)
	SUB	R21, R26, R25
	MOVD	R25, const_stemmaTopBelow(R20)
	MOVD	R23, (R21)
	MOVD	const_stemmaTraceReturns(R19), R25
	ADD	$1, R25
	MOVD	R25, const_stemmaTraceReturns(R19)
	JMP	(R30)

resolved:
	// The frame is a node of the tree, and its caller is the node's parent.
	MOVD	const_stemmaTraceNodes(R19), R16
	ADD	R17<<const_stemmaNodeLog, R16, R16
	MOVWU	const_stemmaNodeKey(R16), R16
	CBZW	R16, slow
	MOVD	R24, const_stemmaTopPC(R20)
	MOVW	R16, const_stemmaTopRef(R20)
	JMP	patch

patched:
	// The caller's slot is patched already, by the entry before this one.
	SUB	R26, R22, R24
	MOVD	const_stemmaNextOff(R20), R16
	CMP	R16, R24
	BNE	slow
	MOVD	R25, R30
	MOVWU	const_stemmaTopRef(R20), R17
	TBZ	$const_stemmaObjBit, R17, drop
	AND	$(1<<const_stemmaObjBit - 1), R17
	MOVD	const_stemmaTraceObjs(R19), R16
	ADD	R17<<const_stemmaObjLog, R16, R17
	MOVWU	const_stemmaNextRef(R20), R16
	MOVW	R16, const_stemmaObjParent(R17)
drop:
	MOVD	$1, R16
	JMP	forget

marker:
	// With walk=marker there is an entry for every frame, or every group of them, and the trampoline in
	// the slot of the innermost one only. The mark moves outwards by some entries, whose slots have their true
	// return addresses. The next one is patched before the entries in between are dropped.
	MOVD	const_stemmaTraceStride(R19), R16
	CBZ	R16, slow
	MOVD	const_stemmaTraceN(R19), R17
	CMP	R16, R17
	BLE	slow // the mark moves to the outermost entry, or there is none
	MOVD	R25, R30
	LSL	$const_stemmaTraceLog, R16, R17
	SUB	R17, R20, R17
	MOVD	const_stemmaTopOff(R17), R24
	SUB	R24, R22, R24
	MOVD	const_stemmaTopBelow(R17), R25
	SUB	R25, R24 // the next slot
	MOVD	const_stemmaTraceTramp(R19), R23
	MOVD	R23, (R24)
forget:
	MOVD	const_stemmaTraceN(R19), R17
	SUB	R16, R17
	MOVD	R17, const_stemmaTraceN(R19)
	MOVD	const_stemmaTraceReturns(R19), R17
	ADD	$1, R17
	MOVD	R17, const_stemmaTraceReturns(R19)
	JMP	(R30)

slow:
	JMP	runtime·stemmaTrampolineSlow(SB)

#define stemmaSaveAll \
	STP	(R0, R1), (const_stemmaTraceSave+0)(R19); \
	STP	(R2, R3), (const_stemmaTraceSave+16)(R19); \
	STP	(R4, R5), (const_stemmaTraceSave+32)(R19); \
	STP	(R6, R7), (const_stemmaTraceSave+48)(R19); \
	STP	(R8, R9), (const_stemmaTraceSave+64)(R19); \
	STP	(R10, R11), (const_stemmaTraceSave+80)(R19); \
	STP	(R12, R13), (const_stemmaTraceSave+96)(R19); \
	STP	(R14, R15), (const_stemmaTraceSave+112)(R19); \
	FSTPQ	(F0, F1), (const_stemmaTraceSave+128)(R19); \
	FSTPQ	(F2, F3), (const_stemmaTraceSave+160)(R19); \
	FSTPQ	(F4, F5), (const_stemmaTraceSave+192)(R19); \
	FSTPQ	(F6, F7), (const_stemmaTraceSave+224)(R19); \
	FSTPQ	(F8, F9), (const_stemmaTraceSave+256)(R19); \
	FSTPQ	(F10, F11), (const_stemmaTraceSave+288)(R19); \
	FSTPQ	(F12, F13), (const_stemmaTraceSave+320)(R19); \
	FSTPQ	(F14, F15), (const_stemmaTraceSave+352)(R19)

#define stemmaLoadAll \
	LDP	(const_stemmaTraceSave+0)(R19), (R0, R1); \
	LDP	(const_stemmaTraceSave+16)(R19), (R2, R3); \
	LDP	(const_stemmaTraceSave+32)(R19), (R4, R5); \
	LDP	(const_stemmaTraceSave+48)(R19), (R6, R7); \
	LDP	(const_stemmaTraceSave+64)(R19), (R8, R9); \
	LDP	(const_stemmaTraceSave+80)(R19), (R10, R11); \
	LDP	(const_stemmaTraceSave+96)(R19), (R12, R13); \
	LDP	(const_stemmaTraceSave+112)(R19), (R14, R15); \
	FLDPQ	(const_stemmaTraceSave+128)(R19), (F0, F1); \
	FLDPQ	(const_stemmaTraceSave+160)(R19), (F2, F3); \
	FLDPQ	(const_stemmaTraceSave+192)(R19), (F4, F5); \
	FLDPQ	(const_stemmaTraceSave+224)(R19), (F6, F7); \
	FLDPQ	(const_stemmaTraceSave+256)(R19), (F8, F9); \
	FLDPQ	(const_stemmaTraceSave+288)(R19), (F10, F11); \
	FLDPQ	(const_stemmaTraceSave+320)(R19), (F12, F13); \
	FLDPQ	(const_stemmaTraceSave+352)(R19), (F14, F15)

#ifdef GOEXPERIMENT_runtimesecret
// stemmaErase clears the registers that may hold what code within secret.Do has computed, but for those that the
// trampoline uses. On g0 a signal would leave them where nobody clears them.
#define stemmaErase \
	MOVD	ZR, R0; \
	MOVD	ZR, R1; \
	MOVD	ZR, R2; \
	MOVD	ZR, R3; \
	MOVD	ZR, R4; \
	MOVD	ZR, R5; \
	MOVD	ZR, R6; \
	MOVD	ZR, R7; \
	MOVD	ZR, R8; \
	MOVD	ZR, R9; \
	MOVD	ZR, R10; \
	MOVD	ZR, R11; \
	MOVD	ZR, R12; \
	MOVD	ZR, R13; \
	MOVD	ZR, R14; \
	MOVD	ZR, R15; \
	MOVD	ZR, R16; \
	MOVD	ZR, R17; \
	MOVD	ZR, R21; \
	MOVD	ZR, R22; \
	MOVD	ZR, R23; \
	MOVD	ZR, R24; \
	MOVD	ZR, R25; \
	MOVD	ZR, R26; \
	MOVD	ZR, R27; \
	VEOR	V0.B16, V0.B16, V0.B16; \
	VEOR	V1.B16, V1.B16, V1.B16; \
	VEOR	V2.B16, V2.B16, V2.B16; \
	VEOR	V3.B16, V3.B16, V3.B16; \
	VEOR	V4.B16, V4.B16, V4.B16; \
	VEOR	V5.B16, V5.B16, V5.B16; \
	VEOR	V6.B16, V6.B16, V6.B16; \
	VEOR	V7.B16, V7.B16, V7.B16; \
	VEOR	V8.B16, V8.B16, V8.B16; \
	VEOR	V9.B16, V9.B16, V9.B16; \
	VEOR	V10.B16, V10.B16, V10.B16; \
	VEOR	V11.B16, V11.B16, V11.B16; \
	VEOR	V12.B16, V12.B16, V12.B16; \
	VEOR	V13.B16, V13.B16, V13.B16; \
	VEOR	V14.B16, V14.B16, V14.B16; \
	VEOR	V15.B16, V15.B16, V15.B16; \
	VEOR	V16.B16, V16.B16, V16.B16; \
	VEOR	V17.B16, V17.B16, V17.B16; \
	VEOR	V18.B16, V18.B16, V18.B16; \
	VEOR	V19.B16, V19.B16, V19.B16; \
	VEOR	V20.B16, V20.B16, V20.B16; \
	VEOR	V21.B16, V21.B16, V21.B16; \
	VEOR	V22.B16, V22.B16, V22.B16; \
	VEOR	V23.B16, V23.B16, V23.B16; \
	VEOR	V24.B16, V24.B16, V24.B16; \
	VEOR	V25.B16, V25.B16, V25.B16; \
	VEOR	V26.B16, V26.B16, V26.B16; \
	VEOR	V27.B16, V27.B16, V27.B16; \
	VEOR	V28.B16, V28.B16, V28.B16; \
	VEOR	V29.B16, V29.B16, V29.B16; \
	VEOR	V30.B16, V30.B16, V30.B16; \
	VEOR	V31.B16, V31.B16, V31.B16

// stemmaEraseSaved clears what was saved of the registers.
#define stemmaEraseSaved \
	ADD	$const_stemmaTraceSave, R19, R20; \
	MOVD	$24, R21; \
again: \
	STP	(ZR, ZR), (R20); \
	ADD	$16, R20; \
	SUB	$1, R21; \
	CBNZ	R21, again
#endif

// stemmaTrampolineSlow does in Go, on g0, what the fast path cannot. All registers that
// may hold results are saved outside the stack, of which little may be left. Within secret.Do they are cleared
// before the thread leaves the goroutine, and what was saved when they have it again.
TEXT runtime·stemmaTrampolineSlow(SB), NOSPLIT|NOFRAME|TOPFRAME, $0-0
	MOVD	(g_stemma+stemmaG_trace)(g), R19
	stemmaSaveAll
	MOVD	RSP, R20
	MOVD	R20, const_stemmaTraceSP(R19)
	MOVD	R29, const_stemmaTraceBP(R19)
#ifdef GOEXPERIMENT_runtimesecret
	MOVW	g_secret(g), R20
	CBZW	R20, erased
	stemmaErase
erased:
#endif
	MOVD	g, R22
	MOVD	g_m(g), R20
	MOVD	m_g0(R20), g
	BL	runtime·save_g(SB)
	MOVD	(g_sched+gobuf_sp)(g), R20
	SUB	$32, R20
	MOVD	R20, RSP
	MOVD	ZR, R29
	MOVD	R22, 16(RSP)
	MOVD	R22, 8(RSP)
	BL	runtime·stemmaReturned(SB)
	MOVD	16(RSP), g
	BL	runtime·save_g(SB)
	MOVD	(g_stemma+stemmaG_trace)(g), R19
	MOVD	const_stemmaTraceSP(R19), R20
	MOVD	R20, RSP
	MOVD	const_stemmaTraceBP(R19), R29
	stemmaLoadAll
#ifdef GOEXPERIMENT_runtimesecret
	MOVW	g_secret(g), R20
	CBZW	R20, forgotten
	stemmaEraseSaved
forgotten:
#endif
	MOVD	const_stemmaTraceTarget(R19), R30
	JMP	(R30)
