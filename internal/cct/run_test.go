package cct

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/profile"
)

// goText is a function with a go statement, at which a new goroutine has waited to start, and run, and the goroutine
// that executes it was interrupted.
const goText = `stemma profile 2
record 0 run 00000000000000a1
process 0 args "prog" run 00000000000000a1 pid 7 go "go1.26.8" engine "cct"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 3 cells 1 counters 1
	site 0 kind go callee "main.f" file "main.go" line 5 cell 0
func 2 name "main.f" file "main.go" line 20 counters 1
func 3 kind wait name "start" counters 1
func 4 kind wait name "runnable" counters 1
func 5 kind run name "goroutine" counters 1
value 0 name "calls" unit "count" about "the calls" flags perCounter
value 1 name "wait" unit "nanoseconds" about "the time not running"
value 2 name "run" unit "nanoseconds" about "the time that goroutines ran"
node 0 calls 0
node 1 func 1 parent 0 calls 1
node 2 func 2 parent 1 calls 1
node 3 func 3 parent 1 calls 0 wait 100
node 4 func 4 parent 1 calls 0 wait 20
node 5 func 5 parent 1 calls 0 run 3
`

// TestRun tells the time of a goroutine from that of the one which started it.
func TestRun(t *testing.T) {
	p, err := profile.ParseText(strings.NewReader(goText))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]map[string]uint64{
		"wait": {"go wait(start)": 100, "call wait(runnable)": 20},
		"run":  {"go run(goroutine)": 3},
	} {
		tree, err := Of(p, value)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for i, n := range tree.Nodes {
			if n.Count == 0 {
				continue
			}
			found++
			stack := tree.Stack(uint32(i))
			if name := stack[0].Via.String() + " " + stack[0].Func; want[name] != n.Count || stack[1].Line != 5 ||
				stack[1].Func != "main.main" {
				t.Errorf("%s: %d of %s, called by %+v", value, n.Count, name, stack[1])
			}
		}
		if found != len(want) {
			t.Errorf("%s: %d contexts, want %d", value, found, len(want))
		}
	}
}
