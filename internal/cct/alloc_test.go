package cct_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// TestAllocations shows allocations below the natives that made them, adds them up at what called
// these, and by type; calls do not know of them. The record has allocations of a type and of bytes
// through natives, one where there is no native, and one of a goroutine that the runtime has
// started.
func TestAllocations(t *testing.T) {
	text, err := os.ReadFile("../../profile/testdata/allocs.txt")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseText(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := cct.Of(p, "alloc_space")
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
		!strings.Contains(err.Error(),
			"no cpu in this profile (have calls, alloc_space, alloc_objects); build with -metrics=calls,cpu") {
		t.Errorf("a value that is not there: %v", err)
	}
	const note = "inuse: not counted yet"
	p.Processes[0].Notes = []string{note}
	if _, err := cct.Of(p, "inuse_space"); err == nil || !strings.HasSuffix(err.Error(), "; "+note) {
		t.Errorf("a value that is not counted yet: %v", err)
	}
	p.Processes[0].Segment = &profile.Segment{Number: 2}
	for metric, want := range map[string]string{"inuse_space": "no inuse_space in segments", "existing": "in segments",
		"cpu": "build with -metrics=calls,cpu"} {
		if _, err := cct.Of(p, metric); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s of a segment: have %v, want %s", metric, err, want)
		}
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
