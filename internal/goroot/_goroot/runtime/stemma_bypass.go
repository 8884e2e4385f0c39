// Code of the program that is not to be recorded.

package runtime

import (
	"internal/runtime/atomic"
	_ "unsafe" // for go:linkname
)

// stemmaBypassCell is the offset of the cell that such code is called through, 0 before the first call. It is
// written under stemma.lock.
var stemmaBypassCell atomic.Uintptr

// stemmaBypass calls f below a node that readers leave out, with all that f calls and the goroutines that it starts.
// It runs on a goroutine, and may be left by a panic: whoever recovers has a context of its own. A build that compares
// contexts with stacks, or logs calls, records f. Package testing calls it as well.
//
//go:linkname stemmaBypass testing.stemmaBypass
func stemmaBypass(f func()) {
	if !stemma.on || stemmaCheckOn || stemmaCallsOn {
		f()
		return
	}
	if stemmaBypassCell.Load() == 0 {
		systemstack(func() {
			lock(&stemma.lock)
			if stemmaBypassCell.Load() == 0 {
				stemmaBypassCell.Store(uintptr(stemma.tree.EnterBypass()))
			}
			unlock(&stemma.lock)
		})
	}
	gp := getg()
	saved := stemmaSave(gp)
	gp.stemma.Ctx = stemmaBypassCell.Load()
	f()
	stemmaPut(gp, saved)
}
