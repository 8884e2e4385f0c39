#include "go_asm.h"
#include "go_tls.h"
#include "textflag.h"

// The offsets below are those of package internal/runtime/stemma.
#define T_N 0
#define T_ENTRIES 8
#define T_NOBJS 16
#define T_OBJS 24
#define T_MAXOBJS 32
#define T_NODES 40
#define T_PLAIN 48
#define T_TRAMP 56
#define T_GOEXIT 64
#define T_RETURNS 72
#define T_TARGET 80
#define T_SP 88
#define T_BP 96
#define T_SAVE 128
#define PLAIN_MASK 4095
#define NODE_KEY 8

// Fields of the innermost entry, and of the one before it, from the end of the entries.
#define E_OFF -32
#define E_PC -24
#define E_REF -16
#define E2_OFF -64
#define E2_REF -48

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
// is at 8(BP), and may be replaced in turn.
TEXT runtime·stemmaTrampoline(SB), NOSPLIT|NOFRAME, $0-0
	POPQ	R12
	get_tls(R13)
	MOVQ	g(R13), R12
	MOVQ	g_stemmaTrace(R12), R13
	MOVQ	T_N(R13), DX
	TESTQ	DX, DX
	JZ	slow
	SHLQ	$5, DX
	ADDQ	T_ENTRIES(R13), DX
	MOVQ	(g_stack+stack_hi)(R12), R12
	SUBQ	SP, R12
	ADDQ	$8, R12
	CMPQ	R12, E_OFF(DX)
	JNE	slow
	MOVQ	E_PC(DX), R15
	MOVQ	R15, R12
	ANDQ	$PLAIN_MASK, R12
	SHLQ	$3, R12
	ADDQ	T_PLAIN(R13), R12
	CMPQ	R15, (R12)
	JNE	slow
	MOVQ	T_NOBJS(R13), R12
	CMPQ	R12, T_MAXOBJS(R13)
	JAE	slow
	MOVQ	8(BP), R12
	CMPQ	R12, T_TRAMP(R13)
	JEQ	patched
	CMPQ	R12, T_GOEXIT(R13)
	JEQ	slow
	MOVQ	R15, -8(SP) // restore the slot before its entry is overwritten
	MOVL	E_REF(DX), R15
	TESTL	R15, R15
	JNS	resolved

	// The frame is a skeleton. Its caller becomes one, in the same entry.
	BTRL	$31, R15
	SHLQ	$5, R15
	ADDQ	T_OBJS(R13), R15
	MOVQ	R12, E_PC(DX)
	MOVQ	T_NOBJS(R13), R12
	INCQ	T_NOBJS(R13)
	BTSL	$31, R12
	MOVL	R12, E_REF(DX)
	MOVL	R12, 8(R15)
	BTRL	$31, R12
	SHLQ	$5, R12
	ADDQ	T_OBJS(R13), R12
	MOVQ	E_PC(DX), R15
	DECQ	R15
	MOVQ	R15, 0(R12)
	MOVL	$-1, 8(R12)
	MOVL	$0, 12(R12)
	MOVQ	$0, 16(R12)
	MOVQ	$0, 24(R12)
patch:
	MOVQ	E_OFF(DX), R15
	ADDQ	SP, R15
	SUBQ	BP, R15
	SUBQ	$16, R15
	MOVQ	R15, E_OFF(DX)
	MOVQ	T_TRAMP(R13), R15
	MOVQ	R15, 8(BP)
	INCQ	T_RETURNS(R13)
	MOVQ	-8(SP), R12
	JMP	R12

resolved:
	// The frame is a node of the tree, and its caller is the node's parent.
	SHLQ	$6, R15
	ADDQ	T_NODES(R13), R15
	MOVL	NODE_KEY(R15), R15
	TESTL	R15, R15
	JZ	slow
	MOVQ	R12, E_PC(DX)
	MOVL	R15, E_REF(DX)
	JMP	patch

patched:
	// The caller's slot is patched already, by the entry before this one.
	MOVQ	E_OFF(DX), R12
	ADDQ	SP, R12
	SUBQ	BP, R12
	SUBQ	$16, R12
	CMPQ	R12, E2_OFF(DX)
	JNE	slow
	MOVQ	R15, -8(SP)
	MOVL	E_REF(DX), R15
	TESTL	R15, R15
	JNS	drop
	BTRL	$31, R15
	SHLQ	$5, R15
	ADDQ	T_OBJS(R13), R15
	MOVL	E2_REF(DX), R12
	MOVL	R12, 8(R15)
drop:
	DECQ	T_N(R13)
	INCQ	T_RETURNS(R13)
	MOVQ	-8(SP), R12
	JMP	R12

slow:
	JMP	runtime·stemmaTrampolineSlow(SB)

// stemmaTrampolineSlow does in Go, on g0, what the fast path cannot. All registers that
// may hold results are saved outside the stack, of which little may be left.
TEXT runtime·stemmaTrampolineSlow(SB), NOSPLIT|NOFRAME|TOPFRAME, $0-0
	get_tls(R13)
	MOVQ	g(R13), R12
	MOVQ	g_stemmaTrace(R12), R13
	MOVQ	AX, (T_SAVE+0)(R13)
	MOVQ	BX, (T_SAVE+8)(R13)
	MOVQ	CX, (T_SAVE+16)(R13)
	MOVQ	DI, (T_SAVE+24)(R13)
	MOVQ	SI, (T_SAVE+32)(R13)
	MOVQ	R8, (T_SAVE+40)(R13)
	MOVQ	R9, (T_SAVE+48)(R13)
	MOVQ	R10, (T_SAVE+56)(R13)
	MOVQ	R11, (T_SAVE+64)(R13)
	MOVUPS	X0, (T_SAVE+80)(R13)
	MOVUPS	X1, (T_SAVE+96)(R13)
	MOVUPS	X2, (T_SAVE+112)(R13)
	MOVUPS	X3, (T_SAVE+128)(R13)
	MOVUPS	X4, (T_SAVE+144)(R13)
	MOVUPS	X5, (T_SAVE+160)(R13)
	MOVUPS	X6, (T_SAVE+176)(R13)
	MOVUPS	X7, (T_SAVE+192)(R13)
	MOVUPS	X8, (T_SAVE+208)(R13)
	MOVUPS	X9, (T_SAVE+224)(R13)
	MOVUPS	X10, (T_SAVE+240)(R13)
	MOVUPS	X11, (T_SAVE+256)(R13)
	MOVUPS	X12, (T_SAVE+272)(R13)
	MOVUPS	X13, (T_SAVE+288)(R13)
	MOVUPS	X14, (T_SAVE+304)(R13)
	MOVQ	SP, T_SP(R13)
	MOVQ	BP, T_BP(R13)
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
	MOVQ	g_stemmaTrace(R12), R13
	MOVQ	T_SP(R13), SP
	MOVQ	T_BP(R13), BP
	MOVQ	(T_SAVE+0)(R13), AX
	MOVQ	(T_SAVE+8)(R13), BX
	MOVQ	(T_SAVE+16)(R13), CX
	MOVQ	(T_SAVE+24)(R13), DI
	MOVQ	(T_SAVE+32)(R13), SI
	MOVQ	(T_SAVE+40)(R13), R8
	MOVQ	(T_SAVE+48)(R13), R9
	MOVQ	(T_SAVE+56)(R13), R10
	MOVQ	(T_SAVE+64)(R13), R11
	MOVUPS	(T_SAVE+80)(R13), X0
	MOVUPS	(T_SAVE+96)(R13), X1
	MOVUPS	(T_SAVE+112)(R13), X2
	MOVUPS	(T_SAVE+128)(R13), X3
	MOVUPS	(T_SAVE+144)(R13), X4
	MOVUPS	(T_SAVE+160)(R13), X5
	MOVUPS	(T_SAVE+176)(R13), X6
	MOVUPS	(T_SAVE+192)(R13), X7
	MOVUPS	(T_SAVE+208)(R13), X8
	MOVUPS	(T_SAVE+224)(R13), X9
	MOVUPS	(T_SAVE+240)(R13), X10
	MOVUPS	(T_SAVE+256)(R13), X11
	MOVUPS	(T_SAVE+272)(R13), X12
	MOVUPS	(T_SAVE+288)(R13), X13
	MOVUPS	(T_SAVE+304)(R13), X14
	XORPS	X15, X15
	MOVQ	T_TARGET(R13), R12
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
