package costmodel

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/profile"
)

// profileOf returns a profile with one function besides the root.
func profileOf(f profile.Func, strings ...string) *profile.Profile {
	p := profile.New()
	p.Strings = append(p.Strings, strings...)
	f.Name = 1
	for _, w := range f.Weights {
		f.Counters = max(f.Counters, w.Counter+1)
	}
	for _, c := range f.Placed {
		f.Counters = max(f.Counters, uint32(c+1))
	}
	f.Counters = max(f.Counters, 1)
	p.Funcs = append(p.Funcs, f)
	return p
}

// ops returns the weight of operations that count, and code that of instructions.
func ops(counter uint32, inlined, n int32) profile.Weight {
	return profile.Weight{Counter: counter, Inlined: inlined, Class: uint32(layout.OpCounted), N: n}
}

func code(counter uint32, inlined, n int32) profile.Weight {
	return profile.Weight{Counter: counter, Inlined: inlined, N: n}
}

// TestIn finds functions of a profile in a program: with counters that have become others, with inlined calls that
// have other numbers, and with a counter more on one side.
func TestIn(t *testing.T) {
	const none = profile.None
	call := func(parent int32, callee, line uint32) profile.Inlined {
		return profile.Inlined{Parent: parent, Callee: callee, Line: line, Counter: none}
	}
	for _, c := range []struct {
		name    string
		f, t    profile.Func
		strings []string
		want    string
	}{
		{"the same", profile.Func{Weights: []profile.Weight{ops(0, none, 5), ops(2, none, 3)}, Placed: []int32{2}},
			profile.Func{Weights: []profile.Weight{ops(0, none, 5), ops(1, none, 3), code(0, none, 9),
				code(1, none, -2)}, Placed: []int32{1}}, nil, "[{0 -1 0 9} {2 -1 0 -2}]"},
		{"nothing increments it", profile.Func{Weights: []profile.Weight{ops(0, none, 5)}, Placed: []int32{none}},
			profile.Func{Weights: []profile.Weight{ops(0, none, 5), ops(1, none, 3), code(0, none, 9),
				code(1, none, 4)}, Placed: []int32{1}}, nil, "[{0 -1 0 9}]"},
		{"inlined calls", profile.Func{Inlined: []profile.Inlined{call(none, 2, 7), call(none, 3, 8), call(1, 2, 4),
			call(none, 3, 8)}, Weights: []profile.Weight{ops(0, none, 5), ops(0, 2, 2)}},
			profile.Func{Inlined: []profile.Inlined{call(none, 3, 8), call(0, 2, 4), call(none, 3, 8),
				call(none, 2, 9)}, Weights: []profile.Weight{ops(0, none, 5), ops(0, 1, 2),
				code(0, none, 1), code(0, 0, 2),
				code(0, 1, 3),
				code(0, 2, 4), code(0, 3, 5)}}, []string{"main.a", "main.b"},
			"[{0 -1 0 1} {0 1 0 2} {0 2 0 3} {0 3 0 4} {0 -1 0 5}]"},
		{"a counter more", profile.Func{Weights: []profile.Weight{ops(0, none, 90), ops(1, none, 30), ops(2, none, 7),
			ops(3, none, 20)}, Placed: []int32{1, 2, 3}},
			profile.Func{Weights: []profile.Weight{ops(0, none, 90), ops(1, none, 30), ops(2, none, 20),
				code(1, none, 31), code(2, none, 21)}, Placed: []int32{1, 2}}, nil, "[{1 -1 0 31} {3 -1 0 21}]"},
		{"a damaged file", profile.Func{Weights: []profile.Weight{ops(0, none, 5)}},
			profile.Func{Weights: []profile.Weight{ops(0, none, 5), ops(7, none, 1), code(0, none, 6),
				code(7, none, 9)}}, nil, "[{0 -1 0 6}]"},
		{"other code", profile.Func{Weights: []profile.Weight{ops(0, none, 90)}},
			profile.Func{Weights: []profile.Weight{ops(0, none, 40), code(0, none, 50)}}, nil, ""},
	} {
		names := append([]string{"main.f"}, c.strings...)
		known, others := (&Program{profileOf(c.t, names...)}).In(profileOf(c.f, names...))
		have := ""
		if w, ok := known[1]; ok {
			have = fmt.Sprint(w)
		}
		if have != c.want || (c.want == "") != slices.Equal(others, []uint32{1}) {
			t.Errorf("%s: have %s, others %v; want %s", c.name, have, others, c.want)
		}
	}
	known, others := (&Program{profileOf(profile.Func{}, "main.g")}).In(
		profileOf(profile.Func{Weights: []profile.Weight{ops(0, none, 1)}}, "main.f"))
	if len(known) != 0 || !slices.Equal(others, []uint32{1}) {
		t.Errorf("a function that the program does not have: have %v, %v", known, others)
	}
}

// TestAlign: which of a list stands for which of another one.
func TestAlign(t *testing.T) {
	const u = unknown
	for _, c := range []struct {
		to, from []int64
		want     string
	}{
		{[]int64{1, 2, 3}, []int64{1, 2, 3}, "[10 11 12]"},
		{[]int64{1, 9, 2, 3}, []int64{1, 2, 3}, "[10 12 13]"},
		{[]int64{1, 3}, []int64{1, 2, 3}, "[10 -1 11]"},
		{[]int64{u, 5}, []int64{4, 5}, "[10 11]"},
		{[]int64{50, 4}, []int64{4, 50}, "[11 -1]"},
		{[]int64{20, -8, 3}, []int64{24, 3, -9}, "[10 12 -1]"},
		{nil, []int64{4}, "[-1]"},
		{make([]int64, 5000), make([]int64, 5000), fmt.Sprint(slices.Repeat([]int32{-1}, 5000))}, // too large
	} {
		placed := make([]int32, len(c.to))
		for i := range placed {
			placed[i] = int32(10 + i)
		}
		if have := fmt.Sprint(align(c.to, c.from, placed)); have != c.want {
			t.Errorf("%v of %v: have %.60s, want %.60s", c.from, c.to, have, c.want)
		}
	}
}

// TestOpen reads what was written, and refuses what is no file of costs.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	p := profileOf(profile.Func{Weights: []profile.Weight{code(0, profile.None, 3)}, Placed: []int32{0, profile.None}},
		"main.f")
	p.Processes = []profile.Process{{Engine: engine.Costs, GoVersion: "go1.26.8", Notes: []string{"plan9/vax"}}}
	write := func(name string, p *profile.Profile) string {
		name = filepath.Join(dir, name)
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := (&Program{p}).Write(f); err != nil {
			t.Fatal(err)
		}
		return name
	}
	c, err := Open(write("f.costs", p))
	if err != nil {
		t.Fatal(err)
	}
	have := fmt.Sprint(c.Machine(), c.Table(), c.Release(), c.Funcs(), c.p.Funcs[1].Weights, c.p.Funcs[1].Placed)
	if want := "plan9/vaxplan9-vaxgo1.26.81[{0 -1 0 3}] [0 -1]"; strings.ReplaceAll(have, " ", "") !=
		strings.ReplaceAll(want, " ", "") {
		t.Errorf("have %s, want %s", have, want)
	}
	p.Processes[0].Engine = "cct"
	if _, err := Open(write("g.costs", p)); err == nil || !strings.HasSuffix(err.Error(),
		"a record, and no file of 'stemma costs'") {
		t.Errorf("a record: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "h.costs")); !os.IsNotExist(err) {
		t.Errorf("no file: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OfProgram(self); err == nil || !strings.HasSuffix(err.Error(), // go test links without symbols
		": the program has no symbols; build it without -ldflags=-s") {
		t.Errorf("another program: %v", err)
	}
}
