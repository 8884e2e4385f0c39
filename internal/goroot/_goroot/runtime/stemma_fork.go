// Faults in the mapped files: a disk that is full, a file that was cut, and a process that
// C has forked, and that goes on without exec.

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// stemmaMend handles a signal with a code at addr, and reports whether it was a fault there and that has become memory.
// One that was sent has no address: what is there instead says who sent it.
// It runs in a signal handler: it may make system calls, and nothing else.
//
//go:nowritebarrierrec
func stemmaMend(sig uint32, code int64, addr uintptr) bool {
	if sig != _SIGBUS && sig != _SIGSEGV {
		return false
	}
	f := stemmaFileAt(addr)
	switch {
	case f == nil || code <= 0:
		return false
	case sig == _SIGBUS:
		return stemmaBus(f, addr)
	}
	return stemmaForked() && stemmaOrphan()
}

// stemmaBus makes up for a page of a file that the disk did not take, or that was cut off:
// anonymous memory takes its place, and the loss is counted. The header that counts it may lie on such a page as well:
// then this is called again, while it runs. For that the signal, which is blocked while it is handled, is let through
// until the handler returns.
//
//go:nowritebarrierrec
func stemmaBus(f *stemmaFile, addr uintptr) bool {
	page := addr &^ (physPageSize - 1)
	errno := stemmaMapOver(unsafe.Pointer(page), physPageSize, _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE, -1)
	if errno == 0 {
		var bus sigset
		sigaddset(&bus, _SIGBUS)
		sigprocmask(_SIG_UNBLOCK, &bus, nil)
		stemmaSmp.LostPage()
		stemma.record.LostPage()
		stemmaNotGrown(f.name[:], stemmaPageLost)
	}
	return errno == 0
}

// stemmaFaultsPass lets the signal of a lost page through while any other one is handled. A handler takes samples and
// writes them to files; a fault whose signal is blocked ends the program. One that is no fault, but was sent, may come
// then as well. While that signal itself is handled it is blocked, or whoever sends many would have their handlers
// interrupt each other until there is no stack left.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaFaultsPass(sa *sigactiont) { sa.sa_mask &^= 1 << (_SIGBUS - 1) }

// stemmaForked reports whether this process is the child of one that was recorded. Mappings
// of files are not passed on to children (MADV_DONTFORK), so that these cannot
// write to their parents' records. The process ID would not tell: in a namespace of its
// own a child may have the number of its parent.
//
//go:nowritebarrierrec
func stemmaForked() bool {
	if stemmaForkMark == 0 {
		return false
	}
	if stemmaForkedOnce.Load() != 0 {
		return true
	}
	var in byte
	_, _, errno := linux.Syscall6(sysMincore, stemmaForkMark, physPageSize, uintptr(unsafe.Pointer(&in)), 0, 0, 0)
	return errno == linuxENOMEM
}

// stemmaForkMark is a page that children do not have, 0 before there is one.
var stemmaForkMark uintptr

var stemmaForkedOnce atomic.Uint32

// stemmaOrphan gives a forked child memory of its own instead of its parent's record:
// zeros, as if all pages were lost, which the recorders bear. A copy would be of a later
// time than what the child knows of it. Nothing that comes is recorded. The child has one
// thread, this one, in a signal handler.
//
//go:nowritebarrierrec
func stemmaOrphan() bool {
	for i := range stemmaFiles.n.Load() {
		f := &stemmaFiles.list[i]
		have := f.have.Load()
		if errno := stemmaMapOver(unsafe.Pointer(f.lo), f.size, _PROT_NONE, _MAP_ANON|_MAP_PRIVATE|mapNoReserve,
			-1); errno != 0 {
			return false
		}
		if have != 0 && !stemmaUsable(f.lo, 0, have) {
			return false
		}
	}
	stemmaForkedOnce.Store(1)
	stemma.encode.mute = true
	stemma.encode.idle.Store(false) // nobody is there to re-encode, and the scheduler would find no other thread
	stemmaEvents.kinds = 0
	if stemmaLate.said.CompareAndSwap(0, 1) {
		t := &stemmaLate.text
		t.add("stemma: nothing is recorded of process ")
		t.number(uint64(stemmaGetpid()))
		t.add(": it was forked by a process that is recorded, and has not become a program of its own; " +
			"STEMMA_QUIET=1 leaves this line out")
		t.say()
	}
	return true
}
