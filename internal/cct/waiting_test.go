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
			{Name: "runtime.gopark"}}, "sync.(*Mutex).lockSlow", "sync.Mutex.Lock"},
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
