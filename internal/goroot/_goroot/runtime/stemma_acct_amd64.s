#include "go_asm.h"
#include "textflag.h"

// stemmaAcctEnter is called on entry of a function whose call is to be sampled: the countdown has ended. It
// preserves all general registers, not the others; it is no safe point, and does not split the
// stack, since leaf functions call it without a stack check.
TEXT runtime·stemmaAcctEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	JMP	stemmaAcctSlow<>(SB)

// stemmaAcctSlow saves the registers and calls Go. It is jumped to, with the return address of the caller of
// stemmaAcctEnter.
TEXT stemmaAcctSlow<>(SB), NOSPLIT, $104-0
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
	MOVQ	BP, 0(SP)
	CALL	runtime·stemmaAcctEnterGo(SB)
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
