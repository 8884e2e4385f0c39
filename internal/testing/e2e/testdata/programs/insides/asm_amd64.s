#include "funcdata.h"
#include "textflag.h"

// func getG() unsafe.Pointer
TEXT ·getG(SB), NOSPLIT, $0-8
	MOVQ	(TLS), AX
	MOVQ	AX, ret+0(FP)
	RET

// func withoutG(f func(), r14 uintptr)
TEXT ·withoutG(SB), NOSPLIT, $8-16
	NO_LOCAL_POINTERS
	MOVQ	f+0(FP), DX
	MOVQ	r14+8(FP), R14
	MOVQ	(DX), AX
	CALL	AX
	RET

// func asmLeaf()
TEXT ·asmLeaf(SB), NOSPLIT, $0-0
	RET
