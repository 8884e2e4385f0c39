package stemmatest

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
)

// TestSlope fits growth that is known. Of n log n the exponent depends on the sizes.
func TestSlope(t *testing.T) {
	sizes := []int{1000, 2000, 4000, 8000, 16000}
	for _, c := range []struct {
		name string
		of   func(n float64) float64
		want float64
	}{
		{"none", func(n float64) float64 { return 0 }, 0},
		{"constant", func(n float64) float64 { return 12 }, 0},
		{"logarithm", math.Log2, 0.13},
		{"linear", func(n float64) float64 { return 3 * n }, 1},
		{"n log n", func(n float64) float64 { return n * math.Log2(n) }, 1.12},
		{"quadratic", func(n float64) float64 { return n * n / 2 }, 2},
	} {
		var counts []uint64
		for _, n := range sizes {
			counts = append(counts, uint64(c.of(float64(n))))
		}
		if have := slope(sizes, counts); math.Abs(have-c.want) > 0.01 {
			t.Errorf("%s: have n^%.3f, want n^%.2f", c.name, have, c.want)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		want  string // part of the error
	}{
		{nil, "sizes [], want at least two"},
		{[]int{5}, "sizes [5], want"},
		{[]int{10, 10}, "ascending"},
		{[]int{0, 10}, "positive"},
		{[]int{10, 19}, "twice the first"},
		{[]int{10, 20}, ""},
		{[]int{1, math.MaxInt}, ""},
	} {
		err := checkSizes(c.sizes)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: have %v, want %q", c.sizes, err, c.want)
		}
	}
}

// TestProgramFuncs looks for functions of this test in the table of its file.
func TestProgramFuncs(t *testing.T) {
	names, err := programFuncs()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"github.com/stemma-go/stemma/stemmatest.slope",
		"github.com/stemma-go/stemma/stemmatest.checkSizes", "testing.tRunner"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %d names", want, len(names))
		}
	}
}

// TestLanes checks that tests have lanes of their own, and keep them.
func TestLanes(t *testing.T) {
	mine := take(t)
	mine.release()
	t.Run("other", func(t *testing.T) {
		other := take(t)
		defer other.release()
		if other == mine || other.number == mine.number {
			t.Errorf("have lane %d twice", other.number)
		}
	})
	if again := take(t); again != mine {
		t.Errorf("have lane %d, want %d again", again.number, mine.number)
	}
	mine.release()
	if len(lanes.of) != 1 {
		t.Errorf("have %d lanes, want 1: that of a test that has ended is given back", len(lanes.of))
	}
}

// TestChance counts a tree in which some calls are chance: only a pattern that names them counts them.
func TestChance(t *testing.T) {
	tree := &cct.Tree{Sites: make([]cct.Site, 1), Nodes: []cct.Node{{}, {Func: 1, Count: 1},
		{Func: 2, Parent: 1, Count: 70}, {Func: 3, Parent: 1, Count: 5}, {Func: 4, Parent: 3, Count: 3}},
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "main.f"}, {Name: "runtime.typeAssert"},
			{Name: "sync.(*Pool).Get"}, {Name: "main.init.func1"}}}
	c := counted(t, tree)
	c.Exactly(6)
	c.Of("sync.(*Pool).Get").Exactly(5)
	c.Of("runtime.typeAssert").Exactly(70)
	c.Of("runtime.*").Exactly(0)
	c.Of("main.*").Exactly(1)
}

// TestDescribeOne checks what is said of a goroutine: where it waits, if that is known, and who started it.
func TestDescribeOne(t *testing.T) {
	starter := []cct.Frame{{Func: "m.start", File: "/m/m.go", Line: 7},
		{Func: "m.TestX.func1", File: "m_test.go", Line: 3}, {Func: "testing.tRunner"}, {Func: "[main]"}}
	for _, c := range []struct {
		inside []cct.Frame
		want   string
	}{
		{[]cct.Frame{{Func: "goroutine(sleep)", Via: cct.ViaGo}},
			"sleep\n          started by m.start m.go:7 ← m.TestX.func1 m_test.go:3"},
		{[]cct.Frame{{Func: "goroutine(sleep)"}, {Func: "time.Sleep"},
			{Func: "m.work", File: "m.go", Line: 9, Via: cct.ViaGo}},
			"sleep in time.Sleep ← m.work m.go:9\n          started by m.start m.go:7 ← m.TestX.func1 m_test.go:3"},
	} {
		if have := describeOne(append(c.inside, starter...)); have != c.want {
			t.Errorf("have %q, want %q", have, c.want)
		}
	}
}
