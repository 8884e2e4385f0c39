#include "go_asm.h"
#include "go_tls.h"
#include "textflag.h"

// Names that begin with const_stemma are defined in stemma_asm.go.

// stemmaTrampoline is where a function returns to whose return address was
// replaced. It is entered behind the POPQ, which is never executed, but tells the
// unwinder that the return address lies below SP, where it was.
//
// It may use only R12, R13, R15 and DX, which hold no results, and the flags; g is
// taken from thread-local storage, since R14 need not hold it after a
// function of ABI0. It is no safe point, takes no lock and no stack. It leaves by
// a jump, so that the processor's predictor of returns stays in step.
//
// The fast path is for frames that the table of plain return addresses has: a
// compiled function whose frame pointer is in BP, so that its own return address
// is at const_stemmaReturnAt(BP), and may be replaced in turn.
TEXT runtime·stemmaTrampoline(SB), NOSPLIT|NOFRAME, $0-0
	POPQ	R12
	get_tls(R13)
	MOVQ	g(R13), R12
	MOVQ	(g_stemma+stemmaG_trace)(R12), R13
	MOVQ	const_stemmaTraceN(R13), DX
	TESTQ	DX, DX
	JZ	slow
	SHLQ	$const_stemmaTraceLog, DX
	ADDQ	const_stemmaTraceEntries(R13), DX
	MOVQ	(g_stack+stack_hi)(R12), R12
	SUBQ	SP, R12
	ADDQ	$8, R12
	CMPQ	R12, const_stemmaTopOff(DX)
	JNE	slow
	MOVQ	const_stemmaTopPC(DX), R15
	MOVQ	R15, R12
	ANDQ	$const_stemmaPlainMask, R12
	SHLQ	$3, R12
	ADDQ	const_stemmaTracePlain(R13), R12
	CMPQ	R15, (R12)
	JNE	marker
	MOVQ	const_stemmaTraceNObjs(R13), R12
	CMPQ	R12, const_stemmaTraceMaxObjs(R13)
	JAE	slow
	MOVQ	const_stemmaReturnAt(BP), R12
	CMPQ	R12, const_stemmaTraceTramp(R13)
	JEQ	patched
	CMPQ	R12, const_stemmaTraceGoexit(R13)
	JEQ	slow
	MOVQ	R15, -8(SP) // restore the slot before its entry is overwritten
	MOVL	const_stemmaTopRef(DX), R15
	TESTL	R15, R15
	JNS	resolved

	// The frame is a skeleton. Its caller becomes one, in the same entry.
	BTRL	$const_stemmaObjBit, R15
	SHLQ	$const_stemmaObjLog, R15
	ADDQ	const_stemmaTraceObjs(R13), R15
	MOVQ	R12, const_stemmaTopPC(DX)
	MOVQ	const_stemmaTraceNObjs(R13), R12
	INCQ	const_stemmaTraceNObjs(R13)
	BTSL	$const_stemmaObjBit, R12
	MOVL	R12, const_stemmaTopRef(DX)
	MOVL	R12, const_stemmaObjParent(R15)
	BTRL	$const_stemmaObjBit, R12
	SHLQ	$const_stemmaObjLog, R12
	ADDQ	const_stemmaTraceObjs(R13), R12
	MOVQ	const_stemmaTopPC(DX), R15
	DECQ	R15
	MOVQ	R15, const_stemmaObjPC(R12)
	MOVL	$-1, const_stemmaObjParent(R12) // sample.NoRef
	MOVL	$0, const_stemmaObjNode(R12)
	MOVQ	$0, const_stemmaObjTime(R12)
	MOVQ	$0, const_stemmaObjCount(R12)
patch:
	MOVQ	const_stemmaTopOff(DX), R15
	ADDQ	SP, R15
	SUBQ	BP, R15
	SUBQ	$16, R15
	MOVQ	R15, const_stemmaTopOff(DX)
	MOVQ	const_stemmaTraceTramp(R13), R15
	MOVQ	R15, const_stemmaReturnAt(BP)
	INCQ	const_stemmaTraceReturns(R13)
	MOVQ	-8(SP), R12
	JMP	R12

resolved:
	// The frame is a node of the tree, and its caller is the node's parent.
	SHLQ	$const_stemmaNodeLog, R15
	ADDQ	const_stemmaTraceNodes(R13), R15
	MOVL	const_stemmaNodeKey(R15), R15
	TESTL	R15, R15
	JZ	slow
	MOVQ	R12, const_stemmaTopPC(DX)
	MOVL	R15, const_stemmaTopRef(DX)
	JMP	patch

patched:
	// The caller's slot is patched already, by the entry before this one.
	MOVQ	const_stemmaTopOff(DX), R12
	ADDQ	SP, R12
	SUBQ	BP, R12
	SUBQ	$16, R12
	CMPQ	R12, const_stemmaNextOff(DX)
	JNE	slow
	MOVQ	R15, -8(SP)
	MOVL	const_stemmaTopRef(DX), R15
	TESTL	R15, R15
	JNS	drop
	BTRL	$const_stemmaObjBit, R15
	SHLQ	$const_stemmaObjLog, R15
	ADDQ	const_stemmaTraceObjs(R13), R15
	MOVL	const_stemmaNextRef(DX), R12
	MOVL	R12, const_stemmaObjParent(R15)
drop:
	DECQ	const_stemmaTraceN(R13)
	INCQ	const_stemmaTraceReturns(R13)
	MOVQ	-8(SP), R12
	JMP	R12

marker:
	// With walk=marker there is an entry for every frame, or every group of them, and the trampoline in
	// the slot of the innermost one only. The mark moves outwards by some entries, whose slots have their true
	// return addresses. The slot is restored, and the next one patched, before the entries in between are dropped.
	MOVQ	const_stemmaTraceStride(R13), R12
	TESTQ	R12, R12
	JZ	slow
	CMPQ	const_stemmaTraceN(R13), R12
	JLE	slow // the mark moves to the outermost entry, or there is none
	MOVQ	R15, -8(SP)
	MOVQ	const_stemmaTopOff(DX), R15
	ADDQ	SP, R15
	SHLQ	$const_stemmaTraceLog, R12
	SUBQ	R12, DX
	SUBQ	const_stemmaTopOff(DX), R15
	SUBQ	$8, R15 // the next slot
	MOVQ	const_stemmaTraceTramp(R13), R12
	MOVQ	R12, (R15)
	MOVQ	const_stemmaTraceStride(R13), R12
	SUBQ	R12, const_stemmaTraceN(R13)
	INCQ	const_stemmaTraceReturns(R13)
	MOVQ	-8(SP), R12
	JMP	R12

slow:
	JMP	runtime·stemmaTrampolineSlow(SB)

#ifdef GOEXPERIMENT_runtimesecret
// stemmaErase clears the registers that may hold what code within secret.Do has computed, but for those that the
// trampoline uses, BP and SP. On g0 a signal would leave them where nobody clears them. No call, no stack: the
// thread still has the goroutine's g, so that what a signal leaves until here is cleared by the runtime.
#define stemmaErase \
	XORL	AX, AX; \
	XORL	BX, BX; \
	XORL	CX, CX; \
	XORL	DX, DX; \
	XORL	DI, DI; \
	XORL	SI, SI; \
	XORL	R8, R8; \
	XORL	R9, R9; \
	XORL	R10, R10; \
	XORL	R11, R11; \
	XORL	R14, R14; \
	XORL	R15, R15

// stemmaEraseSSE does the same for the vector registers of a processor without AVX.
#define stemmaEraseSSE \
	PXOR	X0, X0; \
	PXOR	X1, X1; \
	PXOR	X2, X2; \
	PXOR	X3, X3; \
	PXOR	X4, X4; \
	PXOR	X5, X5; \
	PXOR	X6, X6; \
	PXOR	X7, X7; \
	PXOR	X8, X8; \
	PXOR	X9, X9; \
	PXOR	X10, X10; \
	PXOR	X11, X11; \
	PXOR	X12, X12; \
	PXOR	X13, X13; \
	PXOR	X14, X14

// stemmaEraseAVX clears what VZEROALL leaves of AVX-512. Z0 is zero.
#define stemmaEraseAVX \
	VMOVAPD	Z0, Z16; \
	VMOVAPD	Z0, Z17; \
	VMOVAPD	Z0, Z18; \
	VMOVAPD	Z0, Z19; \
	VMOVAPD	Z0, Z20; \
	VMOVAPD	Z0, Z21; \
	VMOVAPD	Z0, Z22; \
	VMOVAPD	Z0, Z23; \
	VMOVAPD	Z0, Z24; \
	VMOVAPD	Z0, Z25; \
	VMOVAPD	Z0, Z26; \
	VMOVAPD	Z0, Z27; \
	VMOVAPD	Z0, Z28; \
	VMOVAPD	Z0, Z29; \
	VMOVAPD	Z0, Z30; \
	VMOVAPD	Z0, Z31; \
	KXORQ	K0, K0, K0; \
	KXORQ	K0, K0, K1; \
	KXORQ	K0, K0, K2; \
	KXORQ	K0, K0, K3; \
	KXORQ	K0, K0, K4; \
	KXORQ	K0, K0, K5; \
	KXORQ	K0, K0, K6; \
	KXORQ	K0, K0, K7

// stemmaEraseSaved clears what was saved of the registers. X15 is zero; R12 and R15 hold nothing.
#define stemmaEraseSaved \
	LEAQ	const_stemmaTraceSave(R13), R12; \
	MOVQ	$(const_stemmaTraceSaveLen/16), R15; \
again: \
	MOVUPS	X15, (R12); \
	ADDQ	$16, R12; \
	DECQ	R15; \
	JNE	again
#endif

// Registers that may hold results of floating point; or vectors, which fill them as far as the processor has them.
#define stemmaSaveX \
	MOVUPS	X0, (const_stemmaTraceSave+80)(R13); \
	MOVUPS	X1, (const_stemmaTraceSave+96)(R13); \
	MOVUPS	X2, (const_stemmaTraceSave+112)(R13); \
	MOVUPS	X3, (const_stemmaTraceSave+128)(R13); \
	MOVUPS	X4, (const_stemmaTraceSave+144)(R13); \
	MOVUPS	X5, (const_stemmaTraceSave+160)(R13); \
	MOVUPS	X6, (const_stemmaTraceSave+176)(R13); \
	MOVUPS	X7, (const_stemmaTraceSave+192)(R13); \
	MOVUPS	X8, (const_stemmaTraceSave+208)(R13); \
	MOVUPS	X9, (const_stemmaTraceSave+224)(R13); \
	MOVUPS	X10, (const_stemmaTraceSave+240)(R13); \
	MOVUPS	X11, (const_stemmaTraceSave+256)(R13); \
	MOVUPS	X12, (const_stemmaTraceSave+272)(R13); \
	MOVUPS	X13, (const_stemmaTraceSave+288)(R13); \
	MOVUPS	X14, (const_stemmaTraceSave+304)(R13)

#define stemmaRestoreX \
	MOVUPS	(const_stemmaTraceSave+80)(R13), X0; \
	MOVUPS	(const_stemmaTraceSave+96)(R13), X1; \
	MOVUPS	(const_stemmaTraceSave+112)(R13), X2; \
	MOVUPS	(const_stemmaTraceSave+128)(R13), X3; \
	MOVUPS	(const_stemmaTraceSave+144)(R13), X4; \
	MOVUPS	(const_stemmaTraceSave+160)(R13), X5; \
	MOVUPS	(const_stemmaTraceSave+176)(R13), X6; \
	MOVUPS	(const_stemmaTraceSave+192)(R13), X7; \
	MOVUPS	(const_stemmaTraceSave+208)(R13), X8; \
	MOVUPS	(const_stemmaTraceSave+224)(R13), X9; \
	MOVUPS	(const_stemmaTraceSave+240)(R13), X10; \
	MOVUPS	(const_stemmaTraceSave+256)(R13), X11; \
	MOVUPS	(const_stemmaTraceSave+272)(R13), X12; \
	MOVUPS	(const_stemmaTraceSave+288)(R13), X13; \
	MOVUPS	(const_stemmaTraceSave+304)(R13), X14

#ifdef GOEXPERIMENT_simd
#define stemmaSaveY \
	VMOVDQU	Y0, (const_stemmaTraceSave+80)(R13); \
	VMOVDQU	Y1, (const_stemmaTraceSave+112)(R13); \
	VMOVDQU	Y2, (const_stemmaTraceSave+144)(R13); \
	VMOVDQU	Y3, (const_stemmaTraceSave+176)(R13); \
	VMOVDQU	Y4, (const_stemmaTraceSave+208)(R13); \
	VMOVDQU	Y5, (const_stemmaTraceSave+240)(R13); \
	VMOVDQU	Y6, (const_stemmaTraceSave+272)(R13); \
	VMOVDQU	Y7, (const_stemmaTraceSave+304)(R13); \
	VMOVDQU	Y8, (const_stemmaTraceSave+336)(R13); \
	VMOVDQU	Y9, (const_stemmaTraceSave+368)(R13); \
	VMOVDQU	Y10, (const_stemmaTraceSave+400)(R13); \
	VMOVDQU	Y11, (const_stemmaTraceSave+432)(R13); \
	VMOVDQU	Y12, (const_stemmaTraceSave+464)(R13); \
	VMOVDQU	Y13, (const_stemmaTraceSave+496)(R13); \
	VMOVDQU	Y14, (const_stemmaTraceSave+528)(R13)

#define stemmaRestoreY \
	VMOVDQU	(const_stemmaTraceSave+80)(R13), Y0; \
	VMOVDQU	(const_stemmaTraceSave+112)(R13), Y1; \
	VMOVDQU	(const_stemmaTraceSave+144)(R13), Y2; \
	VMOVDQU	(const_stemmaTraceSave+176)(R13), Y3; \
	VMOVDQU	(const_stemmaTraceSave+208)(R13), Y4; \
	VMOVDQU	(const_stemmaTraceSave+240)(R13), Y5; \
	VMOVDQU	(const_stemmaTraceSave+272)(R13), Y6; \
	VMOVDQU	(const_stemmaTraceSave+304)(R13), Y7; \
	VMOVDQU	(const_stemmaTraceSave+336)(R13), Y8; \
	VMOVDQU	(const_stemmaTraceSave+368)(R13), Y9; \
	VMOVDQU	(const_stemmaTraceSave+400)(R13), Y10; \
	VMOVDQU	(const_stemmaTraceSave+432)(R13), Y11; \
	VMOVDQU	(const_stemmaTraceSave+464)(R13), Y12; \
	VMOVDQU	(const_stemmaTraceSave+496)(R13), Y13; \
	VMOVDQU	(const_stemmaTraceSave+528)(R13), Y14

#define stemmaSaveZ \
	VMOVDQU64	Z0, (const_stemmaTraceSave+80)(R13); \
	VMOVDQU64	Z1, (const_stemmaTraceSave+144)(R13); \
	VMOVDQU64	Z2, (const_stemmaTraceSave+208)(R13); \
	VMOVDQU64	Z3, (const_stemmaTraceSave+272)(R13); \
	VMOVDQU64	Z4, (const_stemmaTraceSave+336)(R13); \
	VMOVDQU64	Z5, (const_stemmaTraceSave+400)(R13); \
	VMOVDQU64	Z6, (const_stemmaTraceSave+464)(R13); \
	VMOVDQU64	Z7, (const_stemmaTraceSave+528)(R13); \
	VMOVDQU64	Z8, (const_stemmaTraceSave+592)(R13); \
	VMOVDQU64	Z9, (const_stemmaTraceSave+656)(R13); \
	VMOVDQU64	Z10, (const_stemmaTraceSave+720)(R13); \
	VMOVDQU64	Z11, (const_stemmaTraceSave+784)(R13); \
	VMOVDQU64	Z12, (const_stemmaTraceSave+848)(R13); \
	VMOVDQU64	Z13, (const_stemmaTraceSave+912)(R13); \
	VMOVDQU64	Z14, (const_stemmaTraceSave+976)(R13)

#define stemmaRestoreZ \
	VMOVDQU64	(const_stemmaTraceSave+80)(R13), Z0; \
	VMOVDQU64	(const_stemmaTraceSave+144)(R13), Z1; \
	VMOVDQU64	(const_stemmaTraceSave+208)(R13), Z2; \
	VMOVDQU64	(const_stemmaTraceSave+272)(R13), Z3; \
	VMOVDQU64	(const_stemmaTraceSave+336)(R13), Z4; \
	VMOVDQU64	(const_stemmaTraceSave+400)(R13), Z5; \
	VMOVDQU64	(const_stemmaTraceSave+464)(R13), Z6; \
	VMOVDQU64	(const_stemmaTraceSave+528)(R13), Z7; \
	VMOVDQU64	(const_stemmaTraceSave+592)(R13), Z8; \
	VMOVDQU64	(const_stemmaTraceSave+656)(R13), Z9; \
	VMOVDQU64	(const_stemmaTraceSave+720)(R13), Z10; \
	VMOVDQU64	(const_stemmaTraceSave+784)(R13), Z11; \
	VMOVDQU64	(const_stemmaTraceSave+848)(R13), Z12; \
	VMOVDQU64	(const_stemmaTraceSave+912)(R13), Z13; \
	VMOVDQU64	(const_stemmaTraceSave+976)(R13), Z14
#endif

// stemmaTrampolineSlow does in Go, on g0, what the fast path cannot. All registers that
// may hold results are saved outside the stack, of which little may be left. Within secret.Do they are cleared
// before the thread leaves the goroutine, and what was saved when they have it again.
TEXT runtime·stemmaTrampolineSlow(SB), NOSPLIT|NOFRAME|TOPFRAME, $0-0
	get_tls(R13)
	MOVQ	g(R13), R12
	MOVQ	(g_stemma+stemmaG_trace)(R12), R13
	MOVQ	AX, (const_stemmaTraceSave+0)(R13)
	MOVQ	BX, (const_stemmaTraceSave+8)(R13)
	MOVQ	CX, (const_stemmaTraceSave+16)(R13)
	MOVQ	DI, (const_stemmaTraceSave+24)(R13)
	MOVQ	SI, (const_stemmaTraceSave+32)(R13)
	MOVQ	R8, (const_stemmaTraceSave+40)(R13)
	MOVQ	R9, (const_stemmaTraceSave+48)(R13)
	MOVQ	R10, (const_stemmaTraceSave+56)(R13)
	MOVQ	R11, (const_stemmaTraceSave+64)(R13)
#ifdef GOEXPERIMENT_simd
	CMPB	internal∕cpu·X86+const_offsetX86HasAVX512(SB), $1
	JEQ	save512
	CMPB	internal∕cpu·X86+const_offsetX86HasAVX(SB), $1
	JEQ	save256
#endif
	stemmaSaveX
#ifdef GOEXPERIMENT_simd
	JMP	saved
save256:
	stemmaSaveY
	JMP	saved
save512:
	stemmaSaveZ
saved:
#endif
	MOVQ	SP, const_stemmaTraceSP(R13)
	MOVQ	BP, const_stemmaTraceBP(R13)
#ifdef GOEXPERIMENT_runtimesecret
	CMPL	g_secret(R12), $0
	JEQ	erased
	stemmaErase
	CMPB	internal∕cpu·X86+const_offsetX86HasAVX(SB), $1
	JEQ	avx
	stemmaEraseSSE
	JMP	erased
avx:
	VZEROALL
	CMPB	internal∕cpu·X86+const_offsetX86HasAVX512(SB), $1
	JNE	erased
	stemmaEraseAVX
erased:
#endif
	MOVQ	g_m(R12), DX
	MOVQ	m_g0(DX), R14
	get_tls(R15)
	MOVQ	R14, g(R15)
	MOVQ	(g_sched+gobuf_sp)(R14), SP
	XORPS	X15, X15
	PUSHQ	$0 // keeps SP aligned to 16
	PUSHQ	R12
	CALL	runtime·stemmaReturned(SB)
	POPQ	R12
	POPQ	R13
	get_tls(R15)
	MOVQ	R12, g(R15)
	MOVQ	R12, R14
	MOVQ	(g_stemma+stemmaG_trace)(R12), R13
	MOVQ	const_stemmaTraceSP(R13), SP
	MOVQ	const_stemmaTraceBP(R13), BP
	MOVQ	(const_stemmaTraceSave+0)(R13), AX
	MOVQ	(const_stemmaTraceSave+8)(R13), BX
	MOVQ	(const_stemmaTraceSave+16)(R13), CX
	MOVQ	(const_stemmaTraceSave+24)(R13), DI
	MOVQ	(const_stemmaTraceSave+32)(R13), SI
	MOVQ	(const_stemmaTraceSave+40)(R13), R8
	MOVQ	(const_stemmaTraceSave+48)(R13), R9
	MOVQ	(const_stemmaTraceSave+56)(R13), R10
	MOVQ	(const_stemmaTraceSave+64)(R13), R11
#ifdef GOEXPERIMENT_simd
	CMPB	internal∕cpu·X86+const_offsetX86HasAVX512(SB), $1
	JEQ	restore512
	CMPB	internal∕cpu·X86+const_offsetX86HasAVX(SB), $1
	JEQ	restore256
#endif
	stemmaRestoreX
#ifdef GOEXPERIMENT_simd
	JMP	restored
restore256:
	stemmaRestoreY
	JMP	restored
restore512:
	stemmaRestoreZ
restored:
#endif
	XORPS	X15, X15
#ifdef GOEXPERIMENT_runtimesecret
	CMPL	g_secret(R14), $0
	JEQ	forgotten
	stemmaEraseSaved
forgotten:
#endif
	MOVQ	const_stemmaTraceTarget(R13), R12
	JMP	R12

// stemmaTrampolineStep is what patched return addresses lead to under the single-step harness,
// in the place of stemmaTrampoline: it makes the processor trap after each
// instruction from its own end on.
TEXT runtime·stemmaTrampolineStep(SB), NOSPLIT|NOFRAME, $0-0
	POPQ	R12
	ADJSP	$16 // the slot lies below SP, and is still needed
	PUSHFQ
	ORQ	$0x100, 0(SP)
	POPFQ
	ADJSP	$-16
	LEAQ	runtime·stemmaTrampoline(SB), R12
	ADDQ	$2, R12
	JMP	R12
