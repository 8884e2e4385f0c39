#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// The slow paths of function entry that call Go: they save the registers that compiled code has in use. They are jumped
// to, with the return address of compiled code in the link register. An overlay has no files for the assembler to
// include, so all that use these macros are here.

// STEMMA_SAVE and STEMMA_RESTORE leave out what the operation that calls the slow path says it takes: R16, R17, R19 to
// R21, R24 and R25. They need 152 bytes of the frame, from at on.

#define STEMMA_SAVE(at) \
	STP	(R0, R1), (at+0)(RSP); \
	STP	(R2, R3), (at+16)(RSP); \
	STP	(R4, R5), (at+32)(RSP); \
	STP	(R6, R7), (at+48)(RSP); \
	STP	(R8, R9), (at+64)(RSP); \
	STP	(R10, R11), (at+80)(RSP); \
	STP	(R12, R13), (at+96)(RSP); \
	STP	(R14, R15), (at+112)(RSP); \
	STP	(R22, R23), (at+128)(RSP); \
	MOVD	R26, (at+144)(RSP)

#define STEMMA_RESTORE(at) \
	LDP	(at+0)(RSP), (R0, R1); \
	LDP	(at+16)(RSP), (R2, R3); \
	LDP	(at+32)(RSP), (R4, R5); \
	LDP	(at+48)(RSP), (R6, R7); \
	LDP	(at+64)(RSP), (R8, R9); \
	LDP	(at+80)(RSP), (R10, R11); \
	LDP	(at+96)(RSP), (R12, R13); \
	LDP	(at+112)(RSP), (R14, R15); \
	LDP	(at+128)(RSP), (R22, R23); \
	MOVD	(at+144)(RSP), R26

// stemmaEnterSlow saves the registers that stemmaEnter must preserve and
// calls Go. It is jumped to, with the return address of stemmaEnter's caller.
TEXT runtime·stemmaEnterSlow<ABIInternal>(SB), NOSPLIT, $152-0
	STEMMA_SAVE(8)
	MOVD	R24, const_stemmaGFunc(g)
	CALL	runtime·stemmaEnterGo(SB)
	MOVD	const_stemmaGNode(g), R25
	STEMMA_RESTORE(8)
	RET

// STEMMA_SAVE_MORE and STEMMA_RESTORE_MORE are for slow paths that are called as a write barrier is, and take no
// registers but R16, R17 and R25. They need 32 bytes more.

#define STEMMA_SAVE_MORE(at) \
	STP	(R19, R20), (at+0)(RSP); \
	STP	(R21, R24), (at+16)(RSP)

#define STEMMA_RESTORE_MORE(at) \
	LDP	(at+0)(RSP), (R19, R20); \
	LDP	(at+16)(RSP), (R21, R24)

// stemmaDacceSlow saves the registers that stemmaDacceEnter must preserve and calls
// Go. It is called by what has a frame above that of the function, and returns the word in R25.
TEXT runtime·stemmaDacceSlow<ABIInternal>(SB), NOSPLIT, $200-0
	STEMMA_SAVE(16)
	STEMMA_SAVE_MORE(168)
	MOVD	(R29), R0	// the caller's frame pointer
	MOVD	(R0), R0	// leads to that of the function
	MOVD	R0, 8(RSP)
	CALL	runtime·stemmaDacceEnterGo(SB)
	MOVD	const_stemmaGNode(g), R25
	STEMMA_RESTORE(16)
	STEMMA_RESTORE_MORE(168)
	RET

// stemmaLucceSlow is the same for stemmaLucceEnter; it returns the id in R25.
TEXT runtime·stemmaLucceSlow<ABIInternal>(SB), NOSPLIT, $200-0
	STEMMA_SAVE(16)
	STEMMA_SAVE_MORE(168)
	MOVD	(R29), R0
	MOVD	(R0), R0
	MOVD	R0, 8(RSP)
	CALL	runtime·stemmaLucceEnterGo(SB)
	MOVD	const_stemmaGNode(g), R25
	STEMMA_RESTORE(16)
	STEMMA_RESTORE_MORE(168)
	RET

// stemmaAcctEnter is called on entry of a function whose call is to be sampled: the countdown has ended. It
// preserves all general registers but R16, R17 and R25; it is no safe point, and does not split the
// stack, since leaf functions call it without a stack check.
TEXT runtime·stemmaAcctEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	JMP	runtime·stemmaAcctSlow<ABIInternal>(SB)

// stemmaAcctSlow saves the registers and calls Go. It is jumped to, with the return address of the caller of
// stemmaAcctEnter.
TEXT runtime·stemmaAcctSlow<ABIInternal>(SB), NOSPLIT, $200-0
	STEMMA_SAVE(16)
	STEMMA_SAVE_MORE(168)
	MOVD	R29, 8(RSP)
	CALL	runtime·stemmaAcctEnterGo(SB)
	STEMMA_RESTORE(16)
	STEMMA_RESTORE_MORE(168)
	RET
