package cct_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// allocText is a record with allocations: of a type and of bytes through natives, one
// where there is no native, and one of a goroutine that the runtime has started.
const allocText = `stemma profile 2
record 0 run 00000000000000a1
process 0 args "prog" run 00000000000000a1 pid 7 go "go1.26.8" engine "cct"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 3 cells 3 counters 4
	inlined 0 callee "lib.in" file "main.go" line 4 counter 1 beginsFile "lib.go" beginsLine 9
	site 0 kind native callee "runtime.newobject" file "main.go" line 5 cell 0 counter 2
	site 1 kind native in 0 callee "runtime.growslice" file "lib.go" line 10 cell 1 counter 3
	site 2 kind go callee "main.f" file "main.go" line 6 cell 2
func 2 kind alloc name "main.T" counters 1
func 3 kind alloc counters 1
value 0 name "calls" unit "count" about "the calls" flags perCounter
value 1 name "alloc" unit "bytes" about "the bytes allocated"
value 2 name "allocs" unit "count" about "the allocations"
node 0 calls 0 alloc 0 allocs 0
node 1 func 1 parent 0 calls 1,7,5,3 alloc 0 allocs 0
node 2 func 2 parent 1 calls 0 alloc 160 allocs 5
node 3 func 3 parent 1 cell 1 calls 0 alloc 48 allocs 3
node 4 func 2 parent 1 cell 2 calls 0 alloc 32 allocs 1
node 5 func 3 parent 0 cell 2 calls 0 alloc 8 allocs 1
`

// TestAllocations shows allocations below the natives that made them, adds them up at what called
// these, and by type; calls do not know of them.
func TestAllocations(t *testing.T) {
	p, err := profile.ParseText(strings.NewReader(allocText))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := cct.Of(p, "alloc")
	if err != nil {
		t.Fatal(err)
	}
	have := make(map[string]uint64)
	for _, n := range tree.Hottest(-1) {
		var stack []string
		for _, f := range tree.Stack(n) {
			stack = append(stack, f.Func)
		}
		slices.Reverse(stack)
		have[strings.Join(stack, ";")] += tree.Nodes[n].Count
	}
	for path, want := range map[string]uint64{
		"[main];main.main;runtime.newobject;new(main.T)":       160,
		"[main];main.main;lib.in;runtime.growslice;new(bytes)": 48,
		"[main];main.main;new(main.T)":                         32,
		"[go];new(bytes)":                                      8,
	} {
		if have[path] != want {
			t.Errorf("%s: %d bytes, want %d (have %v)", path, have[path], want, have)
		}
	}
	for grouping, want := range map[string]string{
		"type":     "new(main.T)  192; new(bytes)  56; ",
		"function": "main.main main.go:3 192; lib.in lib.go:9 48; [go]  8; ",
		"package":  "main  192; lib  48; [go]  8; ",
		"line":     "main.main main.go:5 160; lib.in lib.go:10 48; main.main main.go:6 32; [go]  8; ",
	} {
		if have := groups(t, tree, grouping); have != want {
			t.Errorf("by %s: have %q, want %q", grouping, have, want)
		}
	}
	calls := cct.New(p)
	if have, want := calls.Totals(), (cct.Totals{Calls: 16, Contexts: 4, Functions: 4}); have != want {
		t.Errorf("calls: have %+v, want %+v", have, want)
	}
	if _, err := cct.Of(p, "cpu"); err == nil ||
		!strings.Contains(err.Error(), "no cpu in this profile (have calls, alloc, allocs)") {
		t.Errorf("a value that is not there: %v", err)
	}
}

// groups writes the groups of a tree that have a value of their own.
func groups(t *testing.T, tree *cct.Tree, grouping string) string {
	t.Helper()
	list, err := tree.By(grouping)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, g := range list {
		if g.Self == 0 {
			continue
		}
		place := g.File
		if g.Line != 0 {
			place += fmt.Sprint(":", g.Line)
		}
		fmt.Fprintf(&b, "%s %s %d; ", g.Name, place, g.Self)
	}
	return b.String()
}
