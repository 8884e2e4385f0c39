#include "funcdata.h"
#include "textflag.h"

// func asmAdd(a, b int) int
TEXT ·asmAdd(SB), NOSPLIT, $0-24
	MOVQ a+0(FP), AX
	ADDQ b+8(FP), AX
	MOVQ AX, ret+16(FP)
	RET

// func asmTwice(f func())
TEXT ·asmTwice(SB), 0, $8-8
	NO_LOCAL_POINTERS
	MOVQ f+0(FP), DX
	MOVQ (DX), AX
	CALL AX
	MOVQ f+0(FP), DX
	MOVQ (DX), AX
	CALL AX
	RET

// func asmNamed()
TEXT ·asmNamed(SB), 0, $8-0
	NO_LOCAL_POINTERS
	CALL ·named(SB)
	CALL ·named(SB)
	RET

// func asmJump()
TEXT ·asmJump(SB), NOSPLIT, $0-0
	JMP ·jumped(SB)

// func asmBoth(f, h func())
TEXT ·asmBoth(SB), 0, $8-16
	NO_LOCAL_POINTERS
	MOVQ f+0(FP), DX
	MOVQ (DX), AX
	CALL AX
	MOVQ h+8(FP), DX
	MOVQ (DX), AX
	CALL AX
	RET
