package cct_test

import (
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
