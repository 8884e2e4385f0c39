package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/fingerprint"
)

// calls returns the calls of functions that all call each other, from main on.
func calls(functions int) map[string][]edge {
	all := make(map[string][]edge)
	for i := range functions {
		callee := edge{name: fmt.Sprintf("main.f%d", i)}
		all["[main]"] = append(all["[main]"], callee)
		for k := range functions {
			caller := fmt.Sprintf("main.f%d", k)
			all[caller] = append(all[caller], callee)
		}
	}
	return all
}

// TestContextsDiffer makes contexts of functions most of whose calls lead back to another context: as many as are asked
// for differ.
func TestContextsDiffer(t *testing.T) {
	const want = 5000
	differ := make(map[fingerprint.Sum]bool)
	sums := contextsOf(calls(9), rand.New(rand.NewPCG(1, 2)), want)
	for _, sum := range sums {
		differ[sum] = true
	}
	if len(sums) != want || len(differ) != want {
		t.Errorf("%d contexts, of which %d differ; want %d", len(sums), len(differ), want)
	}
}

// TestCollide looks for collisions among contexts: among as many as are asked for, or all that there are if these are
// fewer. Of three functions that call each other there are 3 + 3*2 + 3*2*1.
func TestCollide(t *testing.T) {
	for functions, want := range map[int]int{9: 5000, 3: 15, 0: 0} {
		var out strings.Builder
		collide(&out, calls(functions), 5000)
		have, several := 0, 0
		_, err := fmt.Sscanf(out.String(), "%d contexts made of the calls of these programs: %d fingerprints", &have,
			&several)
		if err != nil || have < want || functions < 9 && have != want || several != 0 {
			t.Errorf("%d functions: %q, %v; want %d contexts", functions, out.String(), err, want)
		}
	}
}

// TestHelp reads in the help how long it takes.
func TestHelp(t *testing.T) {
	var out strings.Builder
	fs := flag.NewFlagSet("fingerprints", flag.ContinueOnError)
	fs.SetOutput(&out)
	new(options).declare(fs)
	_ = fs.Parse([]string{"-h"})
	for _, want := range []string{"-contexts", "minutes", "GB"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
