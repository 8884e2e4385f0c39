package stemmatest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// AllocsPerRun returns the average number of allocations during calls of f, as [testing.AllocsPerRun] does, but
// exactly. It calls f once first, to warm up, and then runs times, which must be positive. The test must be run with
//
//	stemma test -metrics=calls,alloc
//
// Otherwise it is testing.AllocsPerRun. In a test that is run so:
//   - What f allocates counts, with all that it calls and the goroutines that it starts, as in [Allocs]. What other
//     goroutines allocate meanwhile does not, and what Go allocates by chance does not.
//   - It may be called in parallel tests, and leaves GOMAXPROCS alone.
//   - The average is not rounded: 5 allocations in 100 runs are 0.05, where testing.AllocsPerRun returns 0.
//
// It panics if allocations cannot be told apart, since f is running already further out. See [Calls].
func AllocsPerRun(runs int, f func()) (avg float64) {
	if !countsAllocs() {
		return testing.AllocsPerRun(runs, f)
	}
	if runs <= 0 {
		panic(fmt.Sprintf("stemmatest: AllocsPerRun: %d runs, want at least one", runs))
	}
	f()
	l := borrow()
	defer l.giveBack()
	tree, err := l.count(func() {
		for range runs {
			f()
		}
	}, profile.AllocObjects.Name)
	if err != nil {
		panic(fmt.Sprintf("stemmatest: AllocsPerRun: %v", err))
	}
	n, _ := everything.calls(tree)
	return float64(n) / float64(runs)
}

// countsAllocs reports whether this process counts its allocations.
var countsAllocs = sync.OnceValue(func() bool {
	dir, other, err := recording()
	if err != nil || dir == "" || other != "" {
		return false
	}
	f, err := os.Open(filepath.Join(dir, layout.FileTree))
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, unsafe.Sizeof(layout.Header{}))
	if _, err := f.ReadAt(b, 0); err != nil {
		return false
	}
	return raw.Load[layout.Header](b).Flags&layout.HdrFlagAlloc != 0
})

// idle are the lanes that have been borrowed and given back. The last one is the next to be used: so contexts of one
// place come again, and there are no more of them than are measured at once.
var idle []*lane

// borrow returns a lane that belongs to no test. It needs to be given back.
func borrow() *lane {
	lanes.Lock()
	defer lanes.Unlock()
	if n := len(idle); n > 0 {
		l := idle[n-1]
		idle = idle[:n-1]
		return l
	}
	return newLane()
}

func (l *lane) giveBack() {
	lanes.Lock()
	idle = append(idle, l)
	lanes.Unlock()
}
