package runtime

import (
	"internal/runtime/stemma/layout"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// Numbers of the Linux kernel for this architecture.
const (
	sysFstat            = 5
	sysWrite            = 1
	sysPwrite64         = 18
	sysMincore          = 27
	sysGetpid           = 39
	sysFlock            = 73
	sysFtruncate        = 77
	sysFstatfs          = 138
	sysGetcwd           = 79
	sysGeteuid          = 107
	sysOpenat           = 257
	sysMkdirat          = 258
	sysNewfstatat       = 262
	sysUnlinkat         = 263
	sysFallocate        = 285
	sysPrlimit64        = 302
	sysGetrandom        = 318
	sysLseek            = 8
	sysRenameat         = 264
	sysRenameat2        = 316
	sysReadlinkat       = 267
	sysClockGettime     = 228
	sysRtTgsigqueueinfo = 297
	sysExecve           = 59
	sysPersonality      = 135
	sysPrctl            = 157
	sysSetpriority      = 141
	sysSchedSetattr     = 314
	sysSchedGetattr     = 315
	sysPoll             = 7
	linuxMmap           = 9

	linuxODirectory = 0x10000
	oNoFollow       = 0x20000
)

// A stemmaStat is the beginning of what the kernel tells about a file.
type stemmaStat struct {
	dev, ino, nlink uint64
	mode, uid       uint32
	_               [16]byte
	size            uintptr
	_               [88]byte
}

// stemmaPoll looks once at one file, as poll does.
func stemmaPoll(poll unsafe.Pointer) (errno uintptr) {
	_, _, errno = linux.Syscall6(sysPoll, uintptr(poll), 1, 0, 0, 0, 0)
	return errno
}

// stemmaSlotFromFP is how far below frame.fp the slot of a frame is: below the return address and the frame pointer.
const stemmaSlotFromFP = 24

// stemmaIsOf reports whether bp is the frame pointer of a frame.
func stemmaIsOf(bp uintptr, frame *stkframe) bool { return bp == frame.varp }

// stemmaSlotOf returns the address of the slot in the frame with the frame pointer bp, which has one.
//
//go:nosplit
func stemmaSlotOf(bp uintptr) uintptr { return bp - layout.SlotBelow }

// stemmaFPOf returns the frame pointer of interrupted code.
//
//go:nowritebarrierrec
func stemmaFPOf(c *sigctxt) uintptr { return uintptr(c.rbp()) }

// stemmaRepeats reports whether interrupted code is about to make a system call, or has made one that ended with EINTR.
//
//go:nowritebarrierrec
func stemmaRepeats(c *sigctxt) bool {
	const syscall = 0x050f // the instruction, as it lies in memory
	pc := uintptr(c.sigpc())
	return int64(c.rax()) == -_EINTR && *(*uint16)(unsafe.Pointer(pc - 2)) == syscall ||
		*(*uint16)(unsafe.Pointer(pc)) == syscall
}
