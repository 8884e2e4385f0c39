#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

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
	JMP	runtime·stemmaHereSlow<ABIInternal>(SB)
