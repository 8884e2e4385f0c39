package run

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// The test binary asks for what a benchmark counts, see testing/stemma.go in package goroot: it writes what its
// counters have grown by while the timer was on to the file bench of its live directory, and runs stemma benchunits.

const (
	benchFile  = "bench"
	benchMagic = "stemma-bench-1" // of the file's first line; the offset of the first counter and b.N follow
)

// A benchUnit is a unit of a benchmark's line.
type benchUnit struct {
	name   string
	value  profile.Metric
	metric string // the one that counts it
	exact  bool   // it is the same in each run of the same work
}

// benchUnits returns the units, in the order of a line.
func benchUnits() []benchUnit {
	return []benchUnit{{"calls/op", profile.Calls, "calls", true}, {"ops/op", profile.Ops, "ops", true},
		{"allocs/op", profile.AllocObjects, "alloc", true}, {"B/op", profile.AllocSpace, "alloc", true},
		{"wait-ns/op", profile.Wait, "wait", false}}
}

// BenchUnits writes what the benchmark whose counters lie in the live directory dir has counted: lines of a value and a
// unit. Where something is missing that should be exact it writes nothing that counts, and returns an error.
func BenchUnits(w io.Writer, dir string) error {
	b, err := readBenchmark(filepath.Join(dir, benchFile))
	if err != nil {
		return err
	}
	d, err := livedir.OpenGrowth(os.DirFS(dir), b.growth)
	if err != nil {
		return err
	}
	for _, u := range benchUnits() {
		if !d.Profile.Has(u.value) {
			continue
		}
		for _, loss := range d.Profile.Lost() {
			if u.exact && loss.Spoils(u.value) {
				return fmt.Errorf("%s is not exact: the record lacks %s (%d)", u.name, profile.Printable(loss.Kind),
					loss.Count)
			}
		}
		t, err := cct.Of(d.Profile, u.value.Name)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s %s\n", perOp(b.sum(t), b.n), u.name)
	}
	return nil
}

// perOp returns sum/n to three digits, without any if it is a whole number.
func perOp(sum, n uint64) string {
	if sum%n == 0 {
		return fmt.Sprint(sum / n)
	}
	thousandths := (sum%n*1000 + n/2) / n
	return fmt.Sprintf("%d.%03d", sum/n+thousandths/1000, thousandths%1000)
}

// A benchmark is what one run of a benchmark has counted.
type benchmark struct {
	function string // of the benchmark, as package runtime names it
	n        uint64 // operations
	growth   livedir.Growth
}

// readBenchmark reads the file that package testing has written.
func readBenchmark(name string) (*benchmark, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	head, rest, _ := strings.Cut(string(data), "\n")
	function, counters, ok := strings.Cut(rest, "\n")
	b := &benchmark{function: function}
	if _, err := fmt.Sscanf(head, benchMagic+" %d %d", &b.growth.Low, &b.n); err != nil || !ok || b.n == 0 {
		return nil, fmt.Errorf("%s: not what the tests of this stemma write", name)
	}
	for ; len(counters) >= 8; counters = counters[8:] {
		b.growth.Counters = append(b.growth.Counters, raw.Load[uint64]([]byte(counters[:8])))
	}
	return b, nil
}

// sum returns what the benchmark's function and all that it calls and starts has counted, without package testing's own
// work. That is what functions of package testing do, down to where they call one of the test: a benchmark, or the body
// of a parallel one. These calls are not the test's either.
func (b *benchmark) sum(t *cct.Tree) (sum uint64) {
	standard := cct.Standard(t)
	testing := make([]bool, len(t.Funcs))
	tests := make([]bool, len(t.Funcs))
	for i, f := range t.Funcs {
		testing[i] = cct.Package(f.Name) == "testing"
		tests[i] = !standard(uint32(i)) || strings.HasSuffix(f.File, "_test.go")
	}
	name := cct.DisplayName(strings.TrimSuffix(b.function, "-fm"))
	const (
		elsewhere = iota
		within    // the test's own code
		above     // package testing's work for it
	)
	state := make([]uint8, len(t.Nodes))
	for i := range t.Nodes[1:] {
		n := t.Nodes[i+1]
		caller := t.Nodes[n.Parent].Func
		was := state[n.Parent]
		switch {
		case t.Funcs[caller].Name == "testing.(*B).runN":
			if was = elsewhere; t.Funcs[n.Func].Name == name {
				was = above
				state[i+1] = within
			}
		case was == elsewhere:
		case testing[n.Func]:
			state[i+1] = above
		case was == above && testing[caller] && tests[n.Func]:
			state[i+1] = within
		default:
			state[i+1] = was
		}
		if state[i+1] == within && (was == within || t.Type != profile.Calls) {
			sum += n.Count
		}
	}
	return sum
}
