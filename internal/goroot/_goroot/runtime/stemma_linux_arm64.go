package runtime

import (
	"internal/goarch"
	"internal/runtime/stemma/layout"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// Numbers of the Linux kernel for this architecture.
const (
	sysFstat            = 80
	sysWrite            = 64
	sysPwrite64         = 68
	sysMincore          = 232
	sysGetpid           = 172
	sysFlock            = 32
	sysFtruncate        = 46
	sysFstatfs          = 44
	sysGetcwd           = 17
	sysGeteuid          = 175
	sysOpenat           = 56
	sysMkdirat          = 34
	sysNewfstatat       = 79
	sysUnlinkat         = 35
	sysFallocate        = 47
	sysPrlimit64        = 261
	sysGetrandom        = 278
	sysLseek            = 62
	sysRenameat         = 38
	sysRenameat2        = 276
	sysReadlinkat       = 78
	sysClockGettime     = 113
	sysRtTgsigqueueinfo = 240
	sysExecve           = 221
	sysPersonality      = 92
	sysPrctl            = 167
	sysSetpriority      = 140
	sysSchedSetattr     = 274
	sysSchedGetattr     = 275
	sysPpoll            = 73
	linuxMmap           = 222

	linuxODirectory = 0x4000
	oNoFollow       = 0x8000
)

// A stemmaStat is the beginning of what the kernel tells about a file.
type stemmaStat struct {
	dev, ino              uint64
	mode, nlink, uid, gid uint32
	_                     [16]byte
	size                  uintptr
	_                     [72]byte
}

// stemmaPoll looks once at one file, as poll does.
func stemmaPoll(poll unsafe.Pointer) (errno uintptr) {
	var now timespec
	_, _, errno = linux.Syscall6(sysPpoll, uintptr(poll), 1, uintptr(unsafe.Pointer(&now)), 0, 0, 0)
	return errno
}

// stemmaSlotFromFP is how far below frame.fp the slot of a frame is: below the callee's frame pointer.
const stemmaSlotFromFP = 16

// stemmaIsOf reports whether bp is the frame pointer of a frame: it leads to the word below its stack pointer.
func stemmaIsOf(bp uintptr, frame *stkframe) bool { return bp == frame.sp-goarch.PtrSize }

// stemmaSlotOf returns the address of the slot in the frame with the frame pointer bp, which has one. What bp points to
// is the caller's frame pointer, which is the frame's varp. The first function of a goroutine has no caller: its frame
// begins where the stack did.
//
//go:nosplit
func stemmaSlotOf(bp uintptr) uintptr {
	varp := *(*uintptr)(unsafe.Pointer(bp))
	if varp == 0 {
		gp := getg()
		if gp == gp.m.g0 {
			gp = gp.m.curg
		}
		varp = gp.stktopsp - goarch.PtrSize
	}
	return varp - layout.SlotBelow
}

// stemmaFPOf returns the frame pointer of interrupted code.
//
//go:nowritebarrierrec
func stemmaFPOf(c *sigctxt) uintptr { return uintptr(c.r29()) }

// stemmaRepeats reports whether interrupted code is about to make a system call, or has made one that ended with EINTR.
//
//go:nowritebarrierrec
func stemmaRepeats(c *sigctxt) bool {
	const syscall = 0xd4000001 // the instruction, as it lies in memory
	pc := uintptr(c.sigpc())
	return int64(c.r0()) == -_EINTR && *(*uint32)(unsafe.Pointer(pc - 4)) == syscall ||
		*(*uint32)(unsafe.Pointer(pc)) == syscall
}

// Slow paths that verify builds jump to.
func stemmaDacceMiss()
func stemmaLucceMiss()
