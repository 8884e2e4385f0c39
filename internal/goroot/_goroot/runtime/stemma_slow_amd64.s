#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// The slow paths of function entry that call Go: they save the registers that compiled code has in use. They are jumped
// to, with the return address of compiled code. An overlay has no files for the assembler to include, so all that use
// these macros are here.

// STEMMA_SAVE and STEMMA_RESTORE leave out R13, which some return their result in, and R11, which is theirs. They need
// 88 bytes of the frame, from at on.

#define STEMMA_SAVE(at) \
	MOVQ	AX, (at+0)(SP); \
	MOVQ	BX, (at+8)(SP); \
	MOVQ	CX, (at+16)(SP); \
	MOVQ	DX, (at+24)(SP); \
	MOVQ	SI, (at+32)(SP); \
	MOVQ	DI, (at+40)(SP); \
	MOVQ	R8, (at+48)(SP); \
	MOVQ	R9, (at+56)(SP); \
	MOVQ	R10, (at+64)(SP); \
	MOVQ	R12, (at+72)(SP); \
	MOVQ	R15, (at+80)(SP)

#define STEMMA_RESTORE(at) \
	MOVQ	(at+0)(SP), AX; \
	MOVQ	(at+8)(SP), BX; \
	MOVQ	(at+16)(SP), CX; \
	MOVQ	(at+24)(SP), DX; \
	MOVQ	(at+32)(SP), SI; \
	MOVQ	(at+40)(SP), DI; \
	MOVQ	(at+48)(SP), R8; \
	MOVQ	(at+56)(SP), R9; \
	MOVQ	(at+64)(SP), R10; \
	MOVQ	(at+72)(SP), R12; \
	MOVQ	(at+80)(SP), R15

// stemmaEnterSlow saves the registers that stemmaEnter must preserve and
// calls Go. It is jumped to, with the return address of stemmaEnter's caller.
TEXT runtime·stemmaEnterSlow<ABIInternal>(SB), NOSPLIT, $88-0
	STEMMA_SAVE(0)
	MOVQ	R12, const_stemmaGFunc(R14)
	CALL	runtime·stemmaEnterGo(SB)
	MOVQ	const_stemmaGNode(R14), R13
	STEMMA_RESTORE(0)
	RET

// stemmaDacceSlow saves the registers that stemmaDacceEnter must preserve and calls
// Go. It is jumped to, with the return address of stemmaDacceEnter's caller.
TEXT runtime·stemmaDacceSlow<ABIInternal>(SB), NOSPLIT, $104-0
	STEMMA_SAVE(16)
	MOVQ	R13, 8(SP)
	MOVQ	(BP), AX // this frame's frame pointer leads to the function's
	MOVQ	AX, 0(SP)
	CALL	runtime·stemmaDacceEnterGo(SB)
	MOVQ	const_stemmaGNode(R14), R11
	STEMMA_RESTORE(16)
	MOVQ	8(SP), R13
	RET

// stemmaLucceSlow saves the registers that stemmaLucceEnter must preserve and calls
// Go. It is jumped to, with the return address of stemmaLucceEnter's caller.
TEXT runtime·stemmaLucceSlow<ABIInternal>(SB), NOSPLIT, $104-0
	STEMMA_SAVE(16)
	MOVQ	R13, 8(SP)
	MOVQ	(BP), AX // this frame's frame pointer leads to the function's
	MOVQ	AX, 0(SP)
	CALL	runtime·stemmaLucceEnterGo(SB)
	MOVQ	const_stemmaGNode(R14), R11
	STEMMA_RESTORE(16)
	MOVQ	8(SP), R13
	RET

// stemmaAcctEnter is called on entry of a function whose call is to be sampled: the countdown has ended. It
// preserves all general registers, not the others; it is no safe point, and does not split the
// stack, since leaf functions call it without a stack check.
TEXT runtime·stemmaAcctEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	JMP	runtime·stemmaAcctSlow<ABIInternal>(SB)

// stemmaAcctSlow saves the registers and calls Go. It is jumped to, with the return address of the caller of
// stemmaAcctEnter.
TEXT runtime·stemmaAcctSlow<ABIInternal>(SB), NOSPLIT, $104-0
	STEMMA_SAVE(16)
	MOVQ	R13, 8(SP)
	MOVQ	BP, 0(SP)
	CALL	runtime·stemmaAcctEnterGo(SB)
	STEMMA_RESTORE(16)
	MOVQ	8(SP), R13
	RET
