// What stemma keeps in g, m and p: each has one field more, the last one, which is called stemma.

package runtime

import (
	"internal/runtime/stemma/layout"
	"unsafe"
)

// stemmaG is the part of a g.
type stemmaG struct {
	layout.G    // the hidden arguments of every call
	stemmaSeeds // its series of random numbers, see seed and cheap

	trace uintptr // the state of incremental tracing, outside the heap
	ask   uint8   // the goroutine was asked for a sample
	ran   uint32  // the entry of the thread that ran it at the last tick of the sampler jvmti, 0 if none did
	born  int64   // what it does, and since when
	clock stemmaClockOf
	owner uint64  // who asked for the goroutines that it starts, see stemmaGoroutinesOf; 0 for nobody
	entry uintptr // the address of its entry in the file goroutines, 0 if it has none yet; or stemmaNoEntry
}

// stemmaM is the part of an m.
type stemmaM struct {
	thread uintptr // the thread's entry among those that are sampled
	inside bool    // the state of the single-step harness
	wired  uintptr // the segment base that counts
	own    uintptr // and that of C
}

// stemmaP is the part of a p.
type stemmaP struct {
	shard  uintptr // the address of this P's counters, less layout.Base
	events uintptr // its log of events
	timer  stemmaTimerWait
}

// The compiler addresses the words of g by constants. This overflows, and does not compile, unless they are where those
// say.
const _ = -(unsafe.Offsetof(g{}.stemma) ^ layout.GWords)
