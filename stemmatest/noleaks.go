package stemmatest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/stemma-go/stemma"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/profile"
)

// A goroutine is one that exists, as the runtime describes it.
type goroutine struct {
	at     uint32 // the offset of the cell below which it waits, or of its go statement
	leaked bool   // the collector has found that nothing can wake it
	why    string // it does not run
}

// A goroutinesAPI is what the runtime of a program provides that records a tree.
type goroutinesAPI struct {
	Own func(owner uint64)
	Of  func(owner uint64, list []goroutine) int
}

// goroutinesRuntime is nil in any other build. Its name there has the version of the layout.
//
//go:linkname goroutinesRuntime runtime.stemmaGoroutinesAPI1
var goroutinesRuntime *goroutinesAPI

// owners is how many have asked for their goroutines.
var owners atomic.Uint64

// patience is how long goroutines have to end after a test.
const patience = time.Second

// NoLeaks fails the test if goroutines that it starts from now on, or that those start, are left when it has ended,
// with its subtests and all that was registered by t.Cleanup later. The message says of each what it waits for, and who
// started it, back to the test. With -metrics=calls,wait it also says where each waits. What other tests start does not
// count, so that tests may be parallel.
//
// Goroutines have a second to end. Where package runtime can find goroutines that nothing can wake (Go 1.27, or
// GOEXPERIMENT=goroutineleakprofile), such ones are called leaked.
//
// NoLeaks knows a goroutine by who started it. So it must be called by the goroutine of the test. It does not know
// those of time.AfterFunc, which the runtime starts, and not those that began before. In a test that stemma does not
// run, or that does not count calls, NoLeaks does nothing.
func NoLeaks(t testing.TB) {
	t.Helper()
	if goroutinesRuntime == nil {
		return
	}
	owner := owners.Add(1)
	goroutinesRuntime.Own(owner)
	t.Cleanup(func() {
		t.Helper()
		left := leftBehind(owner)
		if len(left) == 0 {
			return
		}
		var text string
		var err error
		stemma.Bypass(func() { text, err = describe(left) })
		if err != nil {
			t.Errorf("%d goroutines are left behind, and who started them is not known: %v", len(left), err)
			return
		}
		t.Error(text)
	})
}

// leftBehind waits until all goroutines of an owner have ended, and returns those that do not.
func leftBehind(owner uint64) []goroutine {
	list := listGoroutines(owner)
	begin := time.Now()
	for wait := time.Millisecond; len(list) > 0 && time.Since(begin) < patience; wait *= 2 {
		time.Sleep(wait)
		list = listGoroutines(owner)
	}
	leaks := pprof.Lookup("goroutineleak")
	if len(list) == 0 || leaks == nil {
		return list
	}
	if err := leaks.WriteTo(io.Discard, 0); err != nil {
		return list
	}
	return listGoroutines(owner)
}

func listGoroutines(owner uint64) []goroutine {
	list := make([]goroutine, 16)
	for {
		n := goroutinesRuntime.Of(owner, list)
		if n <= len(list) {
			return list[:n]
		}
		list = make([]goroutine, 2*n)
	}
}

// leakedMark is behind the reason of goroutines that nothing can wake.
const leakedMark = ", leaked"

// describe says what goroutines wait for, and who started them: those alike together, the most first.
func describe(list []goroutine) (string, error) {
	dir, err := stemma.Recording()
	if err != nil {
		return "", err
	}
	var states []livedir.Goroutine
	for _, g := range list {
		why := g.why
		if g.leaked {
			why += leakedMark
		}
		states = append(states, livedir.Goroutine{Cell: g.at, Reason: why})
	}
	d, err := livedir.OpenGoroutines(os.DirFS(dir), states)
	if err != nil {
		return "", err
	}
	tree, err := cct.Of(d.Profile, profile.Existing.Name)
	if err != nil {
		return "", err
	}
	counts, known := make(map[string]int), 0
	for i, n := range tree.Nodes {
		if n.Count > 0 {
			counts[describeOne(tree.Stack(uint32(i)))] += int(n.Count)
			known += int(n.Count)
		}
	}
	if known < len(list) {
		counts["(started by code that is not recorded)"] += len(list) - known
	}
	alike := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var b strings.Builder
	b.WriteString("1 goroutine is left behind")
	if len(list) > 1 {
		b.Reset()
		fmt.Fprintf(&b, "%d goroutines are left behind", len(list))
	}
	for _, what := range alike {
		fmt.Fprintf(&b, "\n%8d  %s", counts[what], what)
	}
	return b.String(), nil
}

// describeOne returns what the goroutine in a context waits for, and who started it, back to the test.
func describeOne(stack []cct.Frame) string {
	why, place := cct.Waiting(stack)
	b := new(strings.Builder)
	b.WriteString(why)
	const starter = "\n          started by "
	join := " in "
	if stack[0].Via == cct.ViaGo { // where it waits is not known
		join = starter
	}
	for _, f := range place {
		if strings.HasPrefix(f.Func, "[") || f.Func == "testing.tRunner" {
			break
		}
		b.WriteString(join + f.Func)
		if f.File != "" {
			fmt.Fprintf(b, " %s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		if join = " ← "; f.Via == cct.ViaGo {
			join = starter
		}
	}
	return b.String()
}
