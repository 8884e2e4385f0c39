#include "funcdata.h"
#include "textflag.h"

// func asmAdd(a, b int) int
TEXT ·asmAdd(SB), NOSPLIT, $0-24
	MOVD a+0(FP), R0
	MOVD b+8(FP), R1
	ADD  R1, R0
	MOVD R0, ret+16(FP)
	RET

// func asmTwice(f func())
TEXT ·asmTwice(SB), 0, $8-8
	NO_LOCAL_POINTERS
	MOVD f+0(FP), R26
	MOVD (R26), R0
	CALL (R0)
	MOVD f+0(FP), R26
	MOVD (R26), R0
	CALL (R0)
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
	MOVD f+0(FP), R26
	MOVD (R26), R0
	CALL (R0)
	MOVD h+8(FP), R26
	MOVD (R26), R0
	CALL (R0)
	RET
