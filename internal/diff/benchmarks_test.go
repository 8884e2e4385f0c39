package diff_test

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/diff"
)

func readBenchmarks(t *testing.T, text string) *diff.Benchmarks {
	t.Helper()
	b, ok, err := diff.ReadBenchmarks(strings.NewReader(text), "text")
	if err != nil || !ok {
		t.Fatalf("%v, %t for %q", err, ok, text)
	}
	return b
}

// TestBenchmarkLimits plants calls, and holds the difference against limits.
func TestBenchmarkLimits(t *testing.T) {
	const head = "Unit calls/op assume=exact\nUnit B/op foo=bar assume=exact\n"
	for _, c := range []struct {
		base, new, limit string
		over             int
	}{
		{"3 calls/op", "3 calls/op", "calls/op>0", 0},
		{"3 calls/op", "4 calls/op", "calls/op>0", 1},
		{"3 calls/op", "4 calls/op", "calls/op>1", 0},
		{"4 calls/op", "3 calls/op", "calls/op>0", 0},
		{"90117.002 calls/op", "90117.003 calls/op", "calls/op>0.001", 0},
		{"90117.002 calls/op", "90117.003 calls/op", "calls/op>0", 1},
		{"100 calls/op", "101 calls/op", "calls/op>1%", 0},
		{"100 calls/op", "102 calls/op", "calls/op>1%", 1},
		{"100 calls/op", "102 calls/op", "calls/op>1%+1", 0},
		{"0 calls/op", "1 calls/op", "calls/op>50%", 1},
		{"3 calls/op", "4 calls/op", "calls/op@BenchmarkX*>0", 1},
		{"3 calls/op 5 B/op", "3 calls/op 2000 B/op", "B/op>1kB,calls/op>0", 1},
		{"1 calls/op\nBenchmarkX 10 5 calls/op", "5 calls/op", "calls/op>0", 0},
		{"1 calls/op\nBenchmarkX 10 5 calls/op", "6 calls/op", "calls/op>0", 1},
	} {
		d, err := diff.CompareBenchmarks(readBenchmarks(t, head+"BenchmarkX 10 "+c.base),
			readBenchmarks(t, head+"BenchmarkX 10 "+c.new))
		if err != nil {
			t.Fatal(err)
		}
		limits, err := diff.ParseBenchmarkLimits(c.limit)
		if err != nil {
			t.Fatal(err)
		}
		have := 0
		for _, l := range limits {
			over, err := d.Over(l)
			if err != nil {
				t.Fatal(err)
			}
			have += len(over)
		}
		if have != c.over {
			t.Errorf("%q → %q: %d exceed %s, want %d", c.base, c.new, have, c.limit, c.over)
		}
	}
	for _, text := range []string{"calls/op", ">0", "a b>0", "calls/op@>0", "calls/op>x", "calls/op>-1", "calls/op>1ms",
		"calls/op>1kB"} {
		if l, err := diff.ParseBenchmarkLimits(text); err == nil {
			t.Errorf("%q is the limit %+v, want an error", text, l)
		}
	}
}

// TestNoBenchmarks reads texts that are something else.
func TestNoBenchmarks(t *testing.T) {
	for _, text := range []string{"", "stemma baseline 2\n", "PASS\nok  \tp\t1s\n", "Benchmark\n", "BenchmarkX 10\n",
		"BenchmarkX 10 3\n", "BenchmarkX 10 many calls/op\n", "Unit calls/op assume=exact\n"} {
		if _, ok, err := diff.ReadBenchmarks(strings.NewReader(text), ""); ok || err != nil {
			t.Errorf("%q: have %t, %v", text, ok, err)
		}
	}
}

// TestLacking has a benchmark without a unit that it has in the other text, as where its record was not complete.
func TestLacking(t *testing.T) {
	const head = "Unit calls/op assume=exact\nBenchmarkX 10 3 calls/op\n"
	whole := readBenchmarks(t, head+"BenchmarkY 10 4 calls/op\n")
	part := readBenchmarks(t, head+"BenchmarkY 10 4 ns/op\n")
	for _, sides := range [][2]*diff.Benchmarks{{whole, part}, {part, whole}} {
		_, err := diff.CompareBenchmarks(sides[0], sides[1])
		if err == nil || !strings.Contains(err.Error(), "BenchmarkY has no calls/op") {
			t.Errorf("have %v, want an error", err)
		}
	}
	for _, other := range []*diff.Benchmarks{part, readBenchmarks(t, head)} {
		if _, err := diff.CompareBenchmarks(part, other); err != nil {
			t.Error(err)
		}
	}
}
