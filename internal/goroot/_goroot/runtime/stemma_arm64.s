#include "go_asm.h"
#include "textflag.h"
#include "funcdata.h"

// Names that begin with const_stemma are defined in stemma_asm.go.

// stemmaEnter is called on entry of a function whose node is not the first child of the cell that the caller left: the
// cell is empty, or leads to a table, which is probed here. Arguments: the function ID in R24, and what the cell holds
// in R25. Result: the offset of the node in R25. R16, R17, R19 to R21 and R24 are not preserved, nor are registers that
// are not general; all others are. It is no safe point, and it must not split the stack, because leaf functions call it
// without a stack check.
//
// Nearly all calls find the node at their first look. An entry that is empty leads to the header, whose first word is
// no function ID. What an offset leads to was written before the offset was, and is read by way of it, so that no
// barrier is needed.
TEXT runtime·stemmaEnter<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	MOVD	$const_stemmaBase, R16
	MOVW	$const_stemmaHashMul, R17
	MULW	R17, R24, R19
	LSRW	$const_stemmaHashBits, R19, R19
	ADD	R16, R25, R17
	MOVWU	(const_stemmaTableTag-const_stemmaBase)(R17), R20
	MOVD	$const_stemmaTagTable, R21
	CMPW	R20, R21
	BNE	slow
	MOVWU	(const_stemmaTableMask-const_stemmaBase)(R17), R20
	ANDW	R20, R19, R21
	ADD	R21<<2, R17, R17
	MOVWU	(const_stemmaTableEntries-const_stemmaBase)(R17), R25
	ADD	R16, R25, R17
	MOVD	(const_stemmaNodeFunc-const_stemmaBase)(R17), R20
	CMP	R20, R24
	BNE	probe
	RET
probe:
	MOVD	const_stemmaGCtx(g), R17
	MOVWU	(R16)(R17), R25	// a table for good, but perhaps a larger one by now
	ADD	R16, R25, R17
	// Any page may become zeros meanwhile. So it is asked again whether there is a table, and its mask is read once:
	// with another one for each entry the probe might not end.
	MOVWU	(const_stemmaTableTag-const_stemmaBase)(R17), R20
	MOVD	$const_stemmaTagTable, R21
	CMPW	R20, R21
	BNE	slow
	MOVWU	(const_stemmaTableMask-const_stemmaBase)(R17), R20
	CBZW	R20, slow
again:
	ANDW	R20, R19, R19
	ADD	R19<<2, R17, R21
	MOVWU	(const_stemmaTableEntries-const_stemmaBase)(R21), R25
	CBZW	R25, slow
	ADDW	$1, R19
	ADD	R16, R25, R21
	MOVD	(const_stemmaNodeFunc-const_stemmaBase)(R21), R21
	CMP	R21, R24
	BNE	again
	RET
slow:
	JMP	runtime·stemmaEnterSlow<ABIInternal>(SB)

// stemmaPlace returns in R25 the address of the context in g, for a function that must not
// split the stack and may therefore run without a g: then g is not what the thread has
// in its thread-local storage, or that is nothing, and the address is one that nobody
// reads. Without cgo no thread has any. It runs anywhere, preserves all other registers but R16, R17 and R27, which
// the assembler may use, and needs no stack.
TEXT runtime·stemmaPlace<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	CBZ	g, none
	MOVBU	runtime·iscgo(SB), R16
	CBZ	R16, found
	MRS	TPIDR_EL0, R17
	MOVD	runtime·tls_g(SB), R16
	MOVD	(R17)(R16), R16
	CMP	R16, g
	BNE	none
found:
	ADD	$const_stemmaGCtx, g, R25
	RET
none:
	MOVD	$runtime·stemmaNowhere(SB), R25
	RET

// That it is thread-local storage is said in each file which uses it. It is defined in tls_arm64.s.
GLOBL runtime·tls_g+0(SB), TLSBSS+DUPOK, $8

// stemmaEnterChecked is called on every function entry in a verify build, and for the accumulator, as stemmaEnter is.
TEXT runtime·stemmaEnterChecked<ABIInternal>(SB), NOSPLIT|NOFRAME, $0-0
	MOVBU	runtime·stemmaTrigger(SB), R16
	CBNZ	R16, trigger
	MOVD	$runtime·stemmaCountdown(SB), R17
	MOVD	(R17), R16
	SUBS	$1, R16
	MOVD	R16, (R17)
	BLE	slow
find:
	MOVD	$const_stemmaBase, R16
	MOVD	const_stemmaGCtx(g), R17
	MOVWU	(R16)(R17), R25
	ADD	R16, R25, R17
	MOVD	(const_stemmaNodeFunc-const_stemmaBase)(R17), R17
	CMP	R17, R24
	BNE	table
	RET
table:
	JMP	runtime·stemmaEnter<ABIInternal>(SB)
trigger:
	CMPW	$2, R16
	BEQ	slow
	// The index is that of stemmaAcctEntry.
	LSR	$const_stemmaTriggerShift, R24, R19
	AND	$const_stemmaTriggerMask, R19
	MOVD	$runtime·stemmaFuncCounters(SB), R17
	ADD	R19<<2, R17
	MOVW	(R17), R16
	SUBSW	$1, R16
	MOVW	R16, (R17)
	BGT	find
slow:
	JMP	runtime·stemmaEnterSlow<ABIInternal>(SB)
