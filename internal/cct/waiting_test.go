package cct_test

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// TestWaiter has stacks that end in the runtime: under its own name and under those of other packages, of a goroutine
// of its own, and of a package that is called runtime as well.
func TestWaiter(t *testing.T) {
	const dir = "/usr/local/go/src/runtime/"
	for _, test := range []struct {
		stack []cct.Func // outermost first
		want  string
		why   string
	}{
		{[]cct.Func{{Name: "main.f", File: "f.go"}, {Name: "runtime.chanrecv1"}, {Name: "runtime.chanrecv"},
			{Name: "runtime.gopark"}}, "main.f", "chan receive"},
		{[]cct.Func{{Name: "main.f"}, {Name: "time.Sleep", File: dir + "time.go"}, {Name: "runtime.gopark"}},
			"main.f", "sleep"},
		{[]cct.Func{{Name: "main.f"}, {Name: "sync.(*Mutex).lockSlow", File: "/usr/local/go/src/sync/mutex.go"},
			{Name: "sync.runtime_SemacquireMutex", File: dir + "sema.go"}, {Name: "runtime.semacquire1"},
			{Name: "runtime.gopark"}}, "main.f", "sync.Mutex.Lock"},
		{[]cct.Func{{Name: "sync.(*WaitGroup).Go.func1"}, {Name: "sync.(*WaitGroup).Done"}, {Name: "runtime.gopark"}},
			"sync.(*WaitGroup).Go.func1", ""},
		{[]cct.Func{{Name: "runtime.bgsweep"}, {Name: "runtime.gopark"}}, "runtime.bgsweep", ""},
		{[]cct.Func{{Name: "example.com/runtime.Run", File: "/home/u/src/runtime/run.go"}},
			"example.com/runtime.Run", ""},
		{[]cct.Func{{Name: "os.(*File).Read"}, {Name: "syscall.read"}, {Name: "syscall.Syscall"}}, "syscall.Syscall",
			"system call"},
		{[]cct.Func{{Name: "runtime/pprof.f", File: dir + "pprof/f.go"}, {Name: "runtime.gopark"}},
			"runtime/pprof.f", ""},
	} {
		for _, typ := range []profile.Metric{profile.SampledWait, profile.CPU} {
			tree := &cct.Tree{Type: typ, Sites: make([]cct.Site, 1), Funcs: []cct.Func{{Name: "[root]", Pseudo: true}},
				Nodes: []cct.Node{{}}}
			for i, f := range test.stack {
				tree.Funcs = append(tree.Funcs, f)
				tree.Nodes = append(tree.Nodes, cct.Node{Parent: uint32(i), Func: uint32(i + 1)})
			}
			tree.Nodes[len(test.stack)].Count = 7
			want := cct.Group{Name: test.want, Self: 7, Total: 7, Contexts: 1, Why: test.why}
			if typ == profile.CPU { // time on CPU is that of the function that runs
				want.Name, want.Why = test.stack[len(test.stack)-1].Name, ""
			}
			groups, err := tree.By("function")
			if err != nil {
				t.Fatal(err)
			}
			have := groups[0]
			have.File = ""
			if have != want {
				t.Errorf("%s of %v: have %+v, want %+v", typ.Name, test.stack, have, want)
			}
			if stats := tree.ByFunction(); tree.Funcs[stats[0].Func].Name != want.Name || stats[0].Calls != 7 {
				t.Errorf("%s of %v: have %+v, want 7 of %s", typ.Name, test.stack, stats[0], want.Name)
			}
		}
	}
}

// TestExactWaits adds up what the runtime counted where goroutines wait: it belongs to the function that takes a lock
// or starts a goroutine, at its line, however deep in package sync and in the runtime that is. What begins a goroutine
// keeps it, and allocations of package sync are its own.
func TestExactWaits(t *testing.T) {
	funcs := []cct.Func{{Name: "[main]", Pseudo: true}, {Name: "main.f"}, {Name: "sync.(*Mutex).Lock"},
		{Name: "internal/sync.(*Mutex).lockSlow"}, {Name: "internal/sync.runtime_SemacquireMutex"},
		{Name: "wait(sync.Mutex.Lock)", Type: true}, {Name: "sync.(*WaitGroup).Go"}, {Name: "wait(start)", Type: true},
		{Name: "sync.(*WaitGroup).Go.func1"}, {Name: "syncer.Wait"}}
	sites := []cct.Site{{}, {File: "f.go", Line: 10}, {File: "mutex.go", Line: 46}, {File: "mutex.go", Line: 151},
		{Via: cct.ViaNative}, {File: "f.go", Line: 20}, {File: "waitgroup.go", Line: 238, Via: cct.ViaGo},
		{File: "waitgroup.go", Line: 258}, {File: "f.go", Line: 30}, {File: "syncer.go", Line: 3}}
	nodes := []cct.Node{{}, {Func: 1}, {Parent: 1, Func: 2, Site: 1}, {Parent: 2, Func: 3, Site: 2},
		{Parent: 3, Func: 4, Site: 4}, {Parent: 4, Func: 5, Count: 7}, // Lock
		{Parent: 1, Func: 6, Site: 5}, {Parent: 6, Func: 7, Site: 6, Count: 3}, // Go
		{Parent: 6, Func: 8, Site: 6}, {Parent: 8, Func: 2, Site: 7}, {Parent: 9, Func: 5, Count: 2}, // in a goroutine
		{Parent: 1, Func: 9, Site: 8}, {Parent: 11, Func: 5, Site: 9, Count: 1}} // not package sync
	for _, typ := range []profile.Metric{profile.Wait, profile.Waits, profile.Delay, profile.Contentions,
		profile.Existing, profile.Idle, profile.AllocSpace} {
		tree := &cct.Tree{Type: typ, Sites: sites, Funcs: funcs, Nodes: nodes}
		want := map[string]string{
			"function": "main.f  10; sync.(*WaitGroup).Go.func1  2; syncer.Wait  1; ",
			"line": "main.f f.go:10 7; main.f f.go:20 3; sync.(*WaitGroup).Go.func1 waitgroup.go:258 2; " +
				"syncer.Wait syncer.go:3 1; ",
		}
		if typ == profile.AllocSpace {
			want["function"] = "internal/sync.(*Mutex).lockSlow  7; sync.(*WaitGroup).Go  3; sync.(*Mutex).Lock  2; " +
				"syncer.Wait  1; "
			delete(want, "line")
		}
		for grouping, want := range want {
			if have := groups(t, tree, grouping); have != want {
				t.Errorf("%s by %s: have %q, want %q", typ.Name, grouping, have, want)
			}
		}
	}
}

// TestWaiting leaves out the functions of the runtime in which a goroutine waits, but not what it began with.
func TestWaiting(t *testing.T) {
	of := func(names ...string) (stack []cct.Frame) {
		for _, name := range names {
			name, begins := strings.CutPrefix(name, "go ")
			f := cct.Frame{Func: name}
			if begins {
				f.Via = cct.ViaGo
			}
			stack = append(stack, f)
		}
		return stack
	}
	for _, c := range []struct {
		stack []cct.Frame
		want  string
	}{
		{of("goroutine(chan receive)", "runtime.chanrecv1", "go main.f", "main.main", "[main]"),
			"chan receive: main.f main.main [main]"},
		{of("goroutine(sync.Cond.Wait)", "sync.runtime_notifyListWait", "sync.(*Cond).Wait", "go main.f", "[main]"),
			"sync.Cond.Wait: sync.(*Cond).Wait main.f [main]"},
		{of("goroutine(select (no cases))", "go runtime.block", "main.main", "[main]"),
			"select (no cases): runtime.block main.main [main]"},
		{of("go goroutine(running)", "main.main", "[main]"), "running: main.main [main]"},
		{of("goroutine(running)", "[main]"), "running: [main]"},
		{of("goroutine(sleep)", "runtime.timeSleep", "[main]"), "sleep: runtime.timeSleep [main]"},
	} {
		reason, place := cct.Waiting(c.stack)
		have := reason + ":"
		for _, f := range place {
			have += " " + f.Func
		}
		if have != c.want {
			t.Errorf("have %q, want %q", have, c.want)
		}
	}
}
