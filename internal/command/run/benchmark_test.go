package run

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// TestPerOp: whole numbers have no digits behind the point, others have three, rounded.
func TestPerOp(t *testing.T) {
	for _, c := range []struct {
		sum, n uint64
		want   string
	}{
		{0, 7, "0"}, {21, 7, "3"}, {22, 7, "3.143"}, {1, 3, "0.333"}, {2, 3, "0.667"}, {1, 2000, "0.001"},
		{1, 2001, "0.000"}, {1999, 2000, "1.000"}, {5999, 3000, "2.000"}, {1 << 62, 1 << 31, "2147483648"},
		{1<<62 + 1, 1 << 31, "2147483648.000"},
	} {
		if got := perOp(c.sum, c.n); got != c.want {
			t.Errorf("%d/%d: have %s, want %s", c.sum, c.n, got, c.want)
		}
	}
}

// TestBenchmarkSum: what counts of a tree as package testing makes it. Each context is a path of functions, with its
// count; want is the sum for a benchmark. Package m is example.com/m.
func TestBenchmarkSum(t *testing.T) {
	contexts := []struct {
		path  string
		count uint64
	}{
		{"testing.(*B).runN runtime.GC", 1},
		{"testing.(*B).runN m.BenchmarkA", 1}, // called by package testing
		{"testing.(*B).runN m.BenchmarkA m.work", 10},
		{"testing.(*B).runN m.BenchmarkA m.work strings.Cut", 100},
		{"testing.(*B).runN m.BenchmarkA testing.(*B).Loop", 7},
		{"testing.(*B).runN m.BenchmarkA testing.(*B).Loop testing.(*B).loopSlowPath", 7},
		{"testing.(*B).runN m.BenchmarkA testing.(*B).RunParallel", 1},
		{"testing.(*B).runN m.BenchmarkA testing.(*B).RunParallel sync.(*WaitGroup).Wait", 1},
		{"testing.(*B).runN m.BenchmarkA testing.(*B).RunParallel m.BenchmarkA.func1", 2}, // called by package testing
		{"testing.(*B).runN m.BenchmarkA testing.(*B).RunParallel m.BenchmarkA.func1 m.work", 1000},
		{"testing.(*B).runN m.BenchmarkA testing.(*B).RunParallel m.BenchmarkA.func1 testing.(*PB).Next", 3},
		{"testing.(*B).runN m.BenchmarkB m.work", 10000},
		{"m.TestMain m.work", 100000},
	}
	tree := func(value profile.Metric) *cct.Tree {
		tree := &cct.Tree{Type: value, Funcs: []cct.Func{{Name: "root", Pseudo: true}}, Sites: []cct.Site{{}},
			Nodes: []cct.Node{{}}}
		funcs, nodes := make(map[string]uint32), make(map[string]uint32)
		for _, c := range contexts {
			at, path := uint32(0), ""
			for name := range strings.FieldsSeq(c.path) {
				if strings.HasPrefix(name, "m.") {
					name = "example.com/" + name
				}
				if path += " " + name; nodes[path] == 0 {
					if funcs[name] == 0 {
						funcs[name] = uint32(len(tree.Funcs))
						tree.Funcs = append(tree.Funcs, cct.Func{Name: name})
					}
					nodes[path] = uint32(len(tree.Nodes))
					tree.Nodes = append(tree.Nodes, cct.Node{Parent: at, Func: funcs[name]})
				}
				at = nodes[path]
			}
			tree.Nodes[at].Count = c.count
		}
		return tree
	}
	for _, c := range []struct {
		function string
		value    profile.Metric
		want     uint64
	}{
		{"m.BenchmarkA", profile.Calls, 1110},
		{"m.BenchmarkA-fm", profile.Calls, 1110},
		{"m.BenchmarkA", profile.Ops, 1113}, // the functions that package testing calls are the benchmark's
		{"m.BenchmarkB", profile.Calls, 10000},
		{"m.BenchmarkC", profile.Calls, 0},
	} {
		b := &benchmark{function: "example.com/" + c.function, n: 1}
		if got := b.sum(tree(c.value)); got != c.want {
			t.Errorf("%s of %s: have %d, want %d", c.value.Name, c.function, got, c.want)
		}
	}
}

// TestReadBenchmark reads a file as package testing writes it, and others.
func TestReadBenchmark(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bench")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("stemma-bench-1 4096 3\nexample.com/m.BenchmarkA\n" + string(raw.Append(nil, uint64(1<<40))) + "cut off")
	b, err := readBenchmark(name)
	if err != nil || b.function != "example.com/m.BenchmarkA" || b.n != 3 || b.growth.Low != 4096 ||
		fmt.Sprint(b.growth.Counters) != "[1099511627776]" {
		t.Errorf("have %+v, %v", b, err)
	}
	for _, text := range []string{"", "\n\n", "stemma-bench-2 1 1\nf\n", "stemma-bench-1 1 0\nf\n",
		"stemma-bench-1 1 1\nf"} {
		write(text)
		if b, err := readBenchmark(name); err == nil {
			t.Errorf("%q: have %+v, want an error", text, b)
		}
	}
}

// TestBenchUnits has a record of a benchmark, and one that lacks calls: these are no exact number.
func TestBenchUnits(t *testing.T) {
	for lost, want := range map[uint64]string{0: "4 calls/op\n", 3: ""} {
		d := recordtest.New(1, "m.test")
		var at int = recordtest.Root
		for i, name := range []string{"testing.(*B).runN", "example.com/m.BenchmarkA", "example.com/m.work"} {
			f := d.Func(recordtest.Func{Name: name, Files: []string{"m.go"},
				Sites: []recordtest.Site{{Kind: layout.SiteCall, Line: 3, Cell: 1}}})
			cell := 0
			if i == 0 {
				cell = layout.RootMain
			}
			at = d.Node(at, cell, f)
		}
		d.Header(func(h *layout.Header) { h.Lost[layout.LostNodes] = lost })
		dir := filepath.Join(t.TempDir(), "m.test.1-0a1b2c")
		d.WriteTo(t, dir)
		text := fmt.Sprintf("%s %d 2\nexample.com/m.BenchmarkA\n%s", benchMagic, at, raw.Append(nil, uint64(8)))
		if err := os.WriteFile(filepath.Join(dir, benchFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := BenchUnits(&b, dir); b.String() != want || (err != nil) != (lost > 0) {
			t.Errorf("%d nodes lost: have %q, %v, want %q", lost, &b, err, want)
		}
	}
}
