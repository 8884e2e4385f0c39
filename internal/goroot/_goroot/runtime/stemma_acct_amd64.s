#include "go_asm.h"
#include "textflag.h"

// stemmaAcctEnter is called on entry of a function whose call is to be sampled: the countdown has ended. It
// preserves all general registers, not the others; it is no safe point, and does not split the
// stack, since leaf functions call it without a stack check.
TEXT runtime·stemmaAcctEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	JMP	runtime·stemmaAcctSlow<ABIInternal>(SB)
