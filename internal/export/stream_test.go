package export

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// randomTree returns a tree with calls of all kinds, labels and folded recursion. Parents lie up to near before a node.
func randomTree(r *rand.Rand, nodes int, near uint32) *cct.Tree {
	t := &cct.Tree{Type: profile.Calls, Nodes: make([]cct.Node, 1),
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "[main]", Pseudo: true},
			{Name: "[key=a]", Pseudo: true, Label: cct.Label{Key: "key", Value: "a"}},
			{Name: "new([]int)"}}}
	for i := range 12 {
		file := fmt.Sprintf("f%d.go", i%3)
		t.Funcs = append(t.Funcs, cct.Func{Name: fmt.Sprint("main.f;", i), File: file, Line: 10 * i})
	}
	for i := range 30 {
		t.Sites = append(t.Sites, cct.Site{File: fmt.Sprintf("f%d.go", i%3), Line: i, Via: cct.Via(i % 6)})
	}
	for i := range uint32(nodes) {
		n := cct.Node{Parent: i - r.Uint32N(min(i, near)+1),
			Func: 2 + r.Uint32N(14), Site: r.Uint32N(30), Count: r.Uint64N(3)}
		if n.Parent == 0 {
			n.Func, n.Site = 1, 0
		}
		if r.IntN(40) == 0 {
			n.Fold = cct.Fold(1 + r.IntN(3))
		}
		t.Nodes = append(t.Nodes, n)
	}
	return t
}

// TestStream compares what a stream writes with the samples that package pprof writes of the same contexts.
func TestStream(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for round := range 50 {
		tree := randomTree(r, 1+r.IntN(400), 20)
		p := profile.New(profile.Calls)
		p.Processes = []profile.Process{{Args: []string{"prog", "x"}, Notes: []string{"a note"}}}
		var have bytes.Buffer
		if err := writePprof(&have, p, tree); err != nil {
			t.Fatal(err)
		}
		got, err := pprof.ParseData(have.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if err := got.CheckValid(); err != nil {
			t.Fatal(err)
		}
		calls := &pprof.ValueType{Type: "calls", Unit: profile.Calls.Unit}
		x := &pprofExporter{t: tree, locations: make(map[string]*pprof.Location),
			funcs: make([]*pprof.Function, len(tree.Funcs)), out: &pprof.Profile{Period: 1,
				SampleType: []*pprof.ValueType{calls}, PeriodType: calls, DefaultSampleType: "calls"}}
		x.mapping(p)
		for i, n := range tree.Nodes {
			if n.Count > 0 {
				s := &pprof.Sample{Value: []int64{int64(n.Count)}}
				for key, value := range tree.LabelsOf(uint32(i)) {
					setLabel(s, key, value)
				}
				x.sample(s, uint32(i))
			}
		}
		if have, want := got.String(), x.out.String(); have != want {
			t.Fatalf("round %d: have\n%s\nwant\n%s", round, have, want)
		}
	}
}

// TestValuesLabels looks for the labels of goroutines on the samples of trees in which recursion was folded, and for
// others: a key has one value.
func TestValuesLabels(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	labels, folds := 0, 0
	for range 50 {
		tree := randomTree(r, 1+r.IntN(400), 20)
		v := &cct.Values{Tree: tree, Types: []profile.Metric{profile.Calls}, Counts: [][]uint64{nil}}
		for i := range tree.Nodes {
			v.Counts[0] = append(v.Counts[0], uint64(i))
			folds += min(1, int(tree.Nodes[i].Fold))
		}
		var b bytes.Buffer
		if err := Values(&b, new(profile.Profile), v, "calls", Span{}); err != nil {
			t.Fatal(err)
		}
		have, err := pprof.ParseData(b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range have.Sample {
			want := make(map[string][]string)
			for key, value := range tree.LabelsOf(uint32(s.Value[0])) {
				want[key] = []string{value}
			}
			if labels += len(want); !maps.EqualFunc(s.Label, want, slices.Equal) {
				t.Fatalf("context %d has the labels %v, want %v", s.Value[0], s.Label, want)
			}
		}
	}
	if labels == 0 || folds == 0 {
		t.Errorf("%d labels, %d nodes of folded recursion, want some", labels, folds)
	}
}

// TestFoldedPaths compares lines with the functions on the way from each context to the root.
func TestFoldedPaths(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 50 {
		tree := randomTree(r, 1+r.IntN(400), 20)
		var have, want bytes.Buffer
		if err := writeFolded(&have, nil, tree); err != nil {
			t.Fatal(err)
		}
		for i, n := range tree.Nodes {
			if n.Count == 0 {
				continue
			}
			var path []string
			for n := uint32(i); n != 0; n = tree.Nodes[n].Parent {
				path = append(path, strings.ReplaceAll(tree.Funcs[tree.Nodes[n].Func].Name, ";", ","))
				if tree.Sites[tree.Nodes[n].Site].Via == cct.ViaGo {
					path = append(path, GoStart)
				}
			}
			slices.Reverse(path)
			fmt.Fprintf(&want, "%s %d\n", strings.Join(path, ";"), n.Count)
		}
		if have.String() != want.String() {
			t.Fatalf("have\n%s\nwant\n%s", &have, &want)
		}
	}
}

// TestOpenable adds up the frames of contexts that are kept.
func TestOpenable(t *testing.T) {
	tree := randomTree(rand.New(rand.NewPCG(15, 16)), 3000, 20)
	below := tree.Inclusive()
	frames := func(least uint64) (sum uint64) {
		for i, n := range tree.Nodes {
			for at := uint32(i); n.Count > 0 && below[i] >= least && at != 0; at = tree.Nodes[at].Parent {
				sum++
			}
		}
		return sum
	}
	for most := frames(0) + 1; most > 0; most /= 2 {
		least := Openable(tree, most)
		if frames(least) > most || least > 1 && frames(least/2) <= most {
			t.Errorf("%d frames: trimmed by %d, which leaves %d", most, least, frames(least))
		}
	}
}

// TestBytesASample bounds what a context takes while it is exported: nothing is kept of it.
func TestBytesASample(t *testing.T) {
	tree := randomTree(rand.New(rand.NewPCG(13, 14)), 100000, 1<<20)
	for i := range tree.Nodes {
		tree.Nodes[i].Fold = 0
		if tree.Nodes[i].Func == 2 { // labels are made for each sample
			tree.Nodes[i].Func = 4
		}
	}
	for format, most := range map[string]uint64{"pprof": 100, "folded": 10} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := Write(new(nothing), format, profile.New(profile.Calls), tree); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		if each := (after.TotalAlloc - before.TotalAlloc) / uint64(len(tree.Nodes)); each > most {
			t.Errorf("%s: %d bytes a context, want at most %d", format, each, most)
		}
	}
}

// nothing takes what is written.
type nothing struct{}

func (nothing) Write(b []byte) (int, error) { return len(b), nil }
