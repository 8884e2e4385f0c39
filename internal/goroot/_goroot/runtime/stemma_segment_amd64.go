// The segment base of a thread, GS: compiled code counts relative to it, and so in the shard of the P that the thread
// has. Go and the C library do not use GS on linux/amd64, but other C may set it, for a thread at a time, as with FS.
//
// So while Go code runs GS has an address of a shard, and what C has left there is kept in the M. It is put back before
// C runs as soon as C has been seen to set a base, on whatever thread: to set it takes ten times as long as to read it,
// and most programs never need it. What is no address of a shard, C has left there. That is noticed where a thread gets
// a P, and where C calls Go.
//
// C runs where cgocall calls it, where a callback returns to it, when a thread is made (it begins with the base of the
// thread that makes it), and when one ends, in destructors. It also runs in handlers of signals that it has set itself:
// one that interrupts Go code finds an address of a shard, since nobody but the kernel knows that it is called. Go's
// handler passes signals on only where it has interrupted C.

package runtime

import (
	"internal/abi"
	"internal/runtime/atomic"
	"internal/runtime/gc"
	"internal/runtime/stemma/layout"
	"unsafe"
)

// How the segment base is set.
const (
	stemmaSegmentShared = iota // not at all: it is 0, and all Ps share one shard, which takes away from their counts
	stemmaSegmentCall          // by a system call
	stemmaSegmentInst          // by an instruction, which the kernel allows since Linux 5.9
)

// stemmaSegment is how; it does not change when there is a second thread.
var stemmaSegment uintptr

// stemmaSegmentInit finds out how the segment base can be set. It runs in schedinit, where there is one thread.
func stemmaSegmentInit() {
	const (
		hwcap2   = 26     // AT_HWCAP2
		fsgsbase = 1 << 1 // HWCAP2_FSGSBASE
	)
	stemmaSegment = stemmaSegmentShared
	most := uintptr(stemmaSegmentInst)
	switch stemmaWord("STEMMA_SEGMENT") {
	case "call":
		most = stemmaSegmentCall
	case "shared":
		return
	}
	for i := 0; i+1 < len(auxv) && most == stemmaSegmentInst; i += 2 {
		if auxv[i] == hwcap2 && auxv[i+1]&fsgsbase != 0 {
			stemmaSegment = stemmaSegmentInst
			return
		}
	}
	if stemmaSetBase(stemmaSegmentCall, stemmaGetBase(stemmaSegmentCall)) == 0 {
		stemmaSegment = stemmaSegmentCall
	}
}

// stemmaGetBase returns the segment base of this thread. It is assembly, and runs anywhere.
//
//go:noescape
func stemmaGetBase(how uintptr) uintptr

// stemmaSetBase sets the segment base of this thread and returns the number of the error. It is assembly, and
// runs anywhere.
//
//go:noescape
func stemmaSetBase(how, base uintptr) (errno uintptr)

// stemmaSigned is where, relative to the segment base of a shard, the shard has that base: the last word of its last
// resort, which no node is large enough for, and which is no file. It does not change when there is a second thread.
var stemmaSigned uintptr

// stemmaSign puts its segment base into a shard.
func stemmaSign(lo uintptr) {
	stemmaSigned = layout.CounterBase + stemma.size - unsafe.Sizeof(lo)
	*(*uintptr)(unsafe.Pointer(lo + stemma.size - unsafe.Sizeof(lo))) = lo - layout.CounterBase
}

// stemmaShardBase returns what lies at stemmaSigned behind the segment base of this thread, 0 if that is no memory: the
// base, if it is one of a shard. It is assembly, and runs where its fault is Go's.
func stemmaShardBase() uintptr

// stemmaShardLoad is the load of stemmaShardBase, and stemmaShardNone is where that goes on if it fails.
func stemmaShardLoad()
func stemmaShardNone()

// stemmaProbed handles a signal of stemmaShardLoad, and reports whether it is one. Where the base is another one the
// load may also meet a part of a file that is not there yet, the tree for example.
//
//go:nowritebarrierrec
func stemmaProbed(sig uint32, c *sigctxt) bool {
	if sig != _SIGSEGV && sig != _SIGBUS || int64(c.sigcode()) <= 0 || c.sigpc() != abi.FuncPCABI0(stemmaShardLoad) {
		return false
	}
	c.set_rip(uint64(abi.FuncPCABI0(stemmaShardNone)))
	return true
}

// stemmaAsks says that threads ask for their segment base: some C has changed one. It is set once, by any thread.
var stemmaAsks bool

// stemmaSegmentOf returns the segment base of mp's thread, which is this one. Where only a system call tells, as on
// virtual machines without FSGSBASE, a program that calls C all the time would make it all the time. There it is asked
// only if the thread does not count where it did any more, and from then on: only C changes its base. A thread that C
// made is asked: its M may have had another one. So is one that Go's handler would pass a fault of to a handler that C
// had set before, as sigfwdgo decides.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaSegmentOf(mp *m) uintptr {
	have := mp.stemma.wired
	if stemmaSegment != stemmaSegmentCall || have == 0 || stemmaAsks || stemmaBases || mp.isextra {
		return stemmaGetBase(stemmaSegment)
	}
	if !iscgo {
		return have
	}
	handled := atomic.Loaduintptr(&fwdSig[_SIGSEGV])|atomic.Loaduintptr(&fwdSig[_SIGBUS]) != _SIG_DFL
	switch {
	case handled && (mp.incgo || mp.curg == nil):
	case stemmaShardBase() == have:
		return have
	default:
		stemmaAsks = true
	}
	return stemmaGetBase(stemmaSegment)
}

// stemmaBases reports whether C has set a segment base on some thread. It is set once, by any thread.
var stemmaBases bool

// stemmaWire makes this thread count in the shard of pp. It runs whenever a thread gets a P, without write barriers.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaWire(pp *p) {
	if pp.stemma.shard == 0 || stemmaSegment == stemmaSegmentShared {
		return
	}
	base := pp.stemma.shard + (layout.Base - layout.CounterBase)
	mp := getg().m
	have := stemmaSegmentOf(mp)
	if have == base {
		mp.stemma.wired = base
		return
	}
	if iscgo && have != mp.stemma.wired {
		stemmaFound(mp, have)
	}
	mp.stemma.wired = base
	stemmaSetBase(stemmaSegment, base)
}

// stemmaWireG makes gp, which this thread is about to run, count where the thread does, which needs nothing here.
func stemmaWireG(*g) {}

// stemmaFound keeps the segment base that mp, whose thread this is, has come back from C with, unless that is one of
// a shard.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaFound(mp *m, base uintptr) {
	if stemmaIsShard(base) {
		return
	}
	mp.stemma.own = base
	if base != 0 {
		stemmaBases = true
	}
}

// stemmaIsShard reports whether base leads to a shard. Shards stay for ever, so it needs no lock.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaIsShard(base uintptr) bool {
	for _, lo := range stemmaShards.list[:stemmaShards.n] {
		if base == lo-layout.CounterBase {
			return true
		}
	}
	return false
}

// stemmaToC puts the segment base of C back on mp's thread, which is this one. Nothing is counted from here on until
// the thread is wired again.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaToC(mp *m) {
	if stemmaBases {
		stemmaSetBase(stemmaSegment, mp.stemma.own)
	}
}

// stemmaFromC notes the segment base with which C calls Go on mp's thread, which is this one. A thread that C made
// has another M at each call, perhaps: what the M had for its last thread is forgotten. It runs before C has given a
// P back.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaFromC(mp *m) {
	if stemmaSegment == stemmaSegmentShared {
		return
	}
	have := stemmaSegmentOf(mp)
	if have == mp.stemma.wired && !stemmaBases {
		return
	}
	mp.stemma.own = 0
	stemmaFound(mp, have)
}

// stemmaRewire makes this thread count again after stemmaToC, if it has a P.
//
//go:nosplit
//go:nowritebarrierrec
func stemmaRewire(mp *m) {
	if stemmaBases && mp.p != 0 {
		stemmaWire(mp.p.ptr())
	}
}

// stemmaShardAt returns where the next shard must lie: 0 if it may lie anywhere, else where all Ps count if no segment
// base can be set.
func stemmaShardAt() uintptr {
	if stemmaSegment == stemmaSegmentShared {
		return layout.CounterBase
	}
	return 0
}

// stemmaSeeds has no words: a goroutine's series of random numbers lie where g says on other machines where the tree
// and the shard are. Two words less let g have a smaller size class.
type stemmaSeeds struct{}

// This does not compile if a g, behind the header of an object of its size, is larger than that class.
const _ = 640 - gc.MallocHeaderSize - unsafe.Sizeof(g{})

// seed is the series of the program.
//
//go:nosplit
func (w *stemmaG) seed() *uint64 { return (*uint64)(unsafe.Pointer(&w.Tree)) }

// cheap is the series of the runtime.
//
//go:nosplit
func (w *stemmaG) cheap() *uint64 { return (*uint64)(unsafe.Pointer(&w.Shard)) }
