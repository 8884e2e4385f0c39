#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// stemmaLucceHere returns the ID of the context of its caller's call: func() (hi, lo, run uint64).
// The caller has left its pair in g.
TEXT runtime·stemmaLucceHere<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-24
	JMP	runtime·stemmaLucceHereSlow<ABIInternal>(SB)
