package tree

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// kinds is how many go statements the program lifetimes tells about.
const kinds = 10

// TestLifetimes compares how long goroutines lived by their own clocks with the time that they ran and did not run,
// by the record: nothing is counted twice, and nothing is missing.
func TestLifetimes(t *testing.T) {
	exe := e2e.Build(t, "lifetimes", "-metrics=calls,wait")
	for _, env := range []string{"GOMAXPROCS=1", "GOMAXPROCS=4 GOGC=1", "GODEBUG=asyncpreemptoff=1"} {
		t.Run(env, func(t *testing.T) {
			e2e.Retry(t, func() error {
				r := e2e.Run(t, exe, strings.Fields(env)...)
				r.OK(t)
				return checkLifetimes(t, r)
			})
		})
	}
}

// TestLivesAddUp has the runtime compare each goroutine's life with its times that were counted.
func TestLivesAddUp(t *testing.T) {
	exe := e2e.Build(t, "lifetimes", "-metrics=calls,wait")
	for _, env := range []string{"GOMAXPROCS=1", "GOMAXPROCS=4 GOGC=1"} {
		r := e2e.Run(t, exe, append(strings.Fields(env), "STEMMA_WAIT_CHECK=print")...)
		if r.Err != nil {
			t.Errorf("%s: %v", env, r.Err)
		}
		var n, differ int
		_, rest, _ := strings.Cut(r.Stderr, "stemma: of ")
		if _, err := fmt.Sscanf(rest, "%d goroutines %d", &n, &differ); err != nil || n < kinds || differ != 0 {
			t.Errorf("%s: have %q, want a comparison of %d goroutines or more, and no difference", env, r.Stderr, kinds)
		}
	}
}

// checkLifetimes checks one run. A goroutine looks at the clock before it is made and before it ends: between that and
// what the runtime does to make and to end it there are some microseconds.
func checkLifetimes(t *testing.T, r e2e.Result) error {
	p := r.Read(t)
	e2e.NoLoss(t, p)
	ran, waited := lifetimes(t, p, profile.Run), lifetimes(t, p, profile.Wait)
	number := lifetimes(t, p, profile.Goroutines)
	var errs []error
	lines := 0
	for line := range strings.Lines(r.Stdout) {
		var name string
		var least, most, n uint64
		if _, err := fmt.Sscanf(line, "%s %d %d %d", &name, &least, &most, &n); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		lines++
		have := ran[name] + waited[name]
		t.Logf("%-15s lived %d to %d ns, ran %d and did not run %d: %+.4f %% of the least, %+.4f %% of the most", name,
			least, most, ran[name], waited[name], percent(have, least), percent(have, most))
		if have < least-least/1000 || have > most+most/1000 || number[name] != n || ran[name] == 0 ||
			waited[name] == 0 {
			errs = append(errs, fmt.Errorf("%d goroutines of %s lived %d to %d ns; by the record %d ran %d and did "+
				"not run %d, together %d", n, name, least, most, number[name], ran[name], waited[name], have))
		}
	}
	if lines != kinds {
		return fmt.Errorf("%d go statements of %d", lines, kinds)
	}
	return errors.Join(errs...)
}

func percent(have, want uint64) float64 { return 100 * (float64(have)/float64(want) - 1) }

// lifetimes returns the sums of a value over the contexts of the goroutines of each go statement of main, by the
// function that they call first. What the goroutines did that they started is not theirs.
func lifetimes(t *testing.T, p *profile.Profile, value profile.Metric) map[string]uint64 {
	t.Helper()
	tree, err := cct.Of(p, value.Name)
	if err != nil {
		t.Fatal(err)
	}
	names := goStatements(t, p)
	begun := make([]cct.Site, len(tree.Nodes)) // the go statement that began a node's goroutine
	sums := make(map[string]uint64)
	for i, n := range tree.Nodes[1:] {
		site := tree.Sites[n.Site]
		begun[i+1] = begun[n.Parent]
		if site.Via == cct.ViaGo {
			begun[i+1] = site
		}
		sums[names[begun[i+1]]] += n.Count
	}
	return sums
}

// goStatements returns the functions that the goroutines of main's go statements call first.
func goStatements(t *testing.T, p *profile.Profile) map[cct.Site]string {
	t.Helper()
	tree := cct.New(p)
	names := make(map[cct.Site]string)
	for _, n := range tree.Nodes[1:] {
		began := tree.Nodes[n.Parent]
		site := tree.Sites[began.Site]
		creator := tree.Funcs[tree.Nodes[began.Parent].Func].Name
		name := tree.Funcs[n.Func].Name
		if site.Via == cct.ViaGo && creator == "main.main" && names[site] == "" && strings.HasPrefix(name, "main.") {
			names[site] = name
		}
	}
	return names
}
