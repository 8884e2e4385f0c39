package cct

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/profile"
)

// Goroutines wait in functions of the runtime, nearly all of them in gopark. That is the time of the function that
// waits: the innermost one outside of the runtime and of package sync, whose locks the program takes. The frames below
// it tell why it waits. So it is for samples, and for what the runtime counted of waits and goroutines.

// waits reports whether t has samples of goroutines that wait.
func (t *Tree) waits() bool { return IsWaiting(t.Type) }

// IsWaiting reports whether a value is of samples of goroutines that wait.
func IsWaiting(v profile.Metric) bool {
	return v == profile.SampledWait || v == profile.SampledWaits
}

// countsWaits reports whether t has values that the runtime counted where goroutines wait, or where they make others
// wait.
func (t *Tree) countsWaits() bool {
	switch t.Type {
	case profile.Wait, profile.Waits, profile.Delay, profile.Contentions, profile.Existing, profile.Idle:
		return true
	}
	return false
}

// Waiter returns the node of the function that a value of node n belongs to: n itself, but for
// samples of goroutines that wait, where it is [Tree.OutOfRuntime].
func (t *Tree) Waiter(n uint32) uint32 {
	if !t.waits() {
		return n
	}
	return t.OutOfRuntime(n)
}

// OutOfRuntime returns the innermost node, n or one that it is below, of a function that is neither the runtime's nor
// that of a lock. If there is none in the goroutine it is that of the function that the goroutine began with.
func (t *Tree) OutOfRuntime(n uint32) uint32 {
	_, n = t.outOfRuntime(n, n)
	return n
}

// outOfRuntime is OutOfRuntime for node n. It also returns the node of the call that this function made, on the way to
// n: call, if it made that one itself.
func (t *Tree) outOfRuntime(call, n uint32) (outer, function uint32) {
	for f := &t.Funcs[t.Nodes[n].Func]; f.inRuntime() || f.ofLock(); f = &t.Funcs[t.Nodes[n].Func] {
		up := t.Nodes[n].Parent
		if up == 0 || t.Funcs[t.Nodes[up].Func].Pseudo || t.Sites[t.Nodes[n].Site].Via == ViaGo {
			break
		}
		call, n = n, up
	}
	return call, n
}

// ofLock reports whether f is a function of package sync.
func (f *Func) ofLock() bool {
	return strings.HasPrefix(f.Name, "sync.") || strings.HasPrefix(f.Name, "internal/sync.")
}

// Waiting returns why a goroutine that exists does not run, which is the name of stack[0], and the rest of its stack
// without the functions of the runtime in which it waits. The function that it began with stays.
func Waiting(stack []Frame) (reason string, place []Frame) {
	reason = strings.TrimSuffix(strings.TrimPrefix(stack[0].Func, existingPrefix), ")")
	if stack[0].Via == ViaGo {
		return reason, stack[1:] // it is not known where
	}
	for place = stack[1:]; len(place) > 1 && place[0].Via != ViaGo; place = place[1:] {
		f := Func{Name: place[0].Func, File: place[0].File}
		if !f.inRuntime() || strings.HasPrefix(place[1].Func, "[") {
			break
		}
	}
	return reason, place
}

// existingPrefix is the beginning of the name of what stands for goroutines that exist.
const existingPrefix = "goroutine("

// inRuntime reports whether f is a function of the runtime, under whichever package's name: with
// time.Sleep and sync.runtime_Semacquire other packages declare functions that the runtime defines.
func (f *Func) inRuntime() bool {
	pkg := Package(f.Name)
	if pkg == "runtime" || strings.HasPrefix(pkg, "internal/runtime/") || strings.HasPrefix(pkg, "runtime/internal/") {
		return true
	}
	first, _, _ := strings.Cut(pkg, "/")
	if f.Pseudo || pkg == "main" || strings.Contains(first, ".") {
		return false
	}
	dir := path.Dir(f.File)
	return dir == "runtime" || strings.HasSuffix(dir, "/src/runtime") ||
		strings.HasPrefix(strings.TrimPrefix(f.Name, pkg+"."), "runtime_")
}

// waitReasons are the reasons to wait, in the words of package runtime, by the functions in which goroutines wait.
var waitReasons = map[string]string{
	"runtime.chanrecv":                       "chan receive",
	"runtime.chansend":                       "chan send",
	"runtime.selectgo":                       "select",
	"runtime.block":                          "select (no cases)",
	"runtime.semacquire1":                    "semacquire",
	"runtime.coroswitch":                     "coroutine",
	"runtime.gcParkAssist":                   "GC assist wait",
	"runtime.cgocall":                        "system call",
	"time.Sleep":                             "sleep",
	"runtime.timeSleep":                      "sleep",
	"sync.runtime_notifyListWait":            "sync.Cond.Wait",
	"sync.runtime_SemacquireWaitGroup":       "sync.WaitGroup.Wait",
	"sync.runtime_SemacquireMutex":           "sync.Mutex.Lock",
	"internal/sync.runtime_SemacquireMutex":  "sync.Mutex.Lock",
	"sync.runtime_SemacquireRWMutex":         "sync.RWMutex.Lock",
	"sync.runtime_SemacquireRWMutexR":        "sync.RWMutex.RLock",
	"internal/poll.runtime_pollWait":         "IO wait",
	"internal/poll.runtime_pollWaitCanceled": "IO wait",
	"os/signal.signal_recv":                  "signal",
}

// reason returns why the goroutines of node n wait, "" if its frames do not tell. Of several functions that
// tell the outermost one knows best.
func (t *Tree) reason(n uint32) (why string) {
	end := t.Waiter(n)
	for ; ; n = t.Nodes[n].Parent {
		why = cmp.Or(waitReasons[t.Funcs[t.Nodes[n].Func].Name], why)
		if n == end {
			break
		}
	}
	if why == "" && Package(t.Funcs[t.Nodes[end].Func].Name) == "syscall" {
		return "system call"
	}
	return why
}

// shownReasons is how many reasons a group shows.
const shownReasons = 2

// addReasons gives groups of functions that wait their reasons, those with most of the time first. of is the group of
// each node.
func (t *Tree) addReasons(groups []Group, of []uint32) {
	if !t.waits() {
		return
	}
	sums := make([]map[string]uint64, len(groups))
	for i, n := range t.Nodes {
		if n.Count == 0 {
			continue
		}
		if why := t.reason(uint32(i)); why != "" {
			if sums[of[i]] == nil {
				sums[of[i]] = make(map[string]uint64)
			}
			sums[of[i]][why] += n.Count
		}
	}
	for i, sum := range sums {
		list := slices.SortedFunc(maps.Keys(sum), func(a, b string) int {
			return cmp.Or(cmp.Compare(sum[b], sum[a]), cmp.Compare(a, b))
		})
		if len(list) > shownReasons {
			list = append(list[:shownReasons:shownReasons], "…")
		}
		groups[i].Why = strings.Join(list, ", ")
	}
}
