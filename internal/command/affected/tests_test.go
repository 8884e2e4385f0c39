package affected

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/profile"
)

// record has the tests TestA, which starts a goroutine that calls m.inGoroutine and calls a closure by sync.Once, and
// TestB, which runs subtests by way of m.table; recursion is folded, so that the closure m.table.func1 hangs beside
// the tests. Both call m.both. The node of m.never has counted nothing. Types are called as tests are, and package
// testing calls their methods.
const record = `stemma profile 2
record 0 run 00000000000000a1
process 0 args "m.test" run 00000000000000a1 pid 7 go "go1.26.8" engine "cct"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 3 cells 1 counters 1
	site 0 kind call callee "testing.tRunner" file "main.go" line 4 cell 0
func 2 name "testing.tRunner" file "testing.go" line 1 cells 1 counters 1
	site 0 kind call file "testing.go" line 2 cell 0
func 3 name "x.y/m.TestA" file "m_test.go" line 3 cells 3 counters 2
	inlined 0 callee "x.y/m.inlined" file "m_test.go" line 4 counter 1 beginsFile "m.go" beginsLine 1
	site 0 kind go callee "x.y/m.inGoroutine" file "m_test.go" line 5 cell 0
	site 1 kind call callee "x.y/m.both" file "m_test.go" line 6 cell 1
	site 2 kind call callee "sync.(*Once).doSlow" file "m_test.go" line 7 cell 2
func 4 name "x.y/m_test.TestB" file "m_test.go" line 13 cells 2 counters 1
	site 0 kind call callee "x.y/m.both" file "m_test.go" line 14 cell 0
	site 1 kind call callee "x.y/m.table" file "m_test.go" line 15 cell 1
func 5 name "x.y/m.inGoroutine" file "m.go" line 10 counters 1
func 6 name "x.y/m.both" file "m.go" line 20 counters 1
func 7 name "x.y/m.table" file "m.go" line 30 cells 1 counters 1
	site 0 kind go callee "testing.tRunner" file "m.go" line 31 cell 0
func 8 name "x.y/m.table.func1" file "m.go" line 33 cells 1 counters 1
	site 0 kind call callee "x.y/m.inTable" file "m.go" line 34 cell 0
func 9 name "x.y/m.inTable" file "m.go" line 40 counters 1
func 10 name "sync.(*Once).doSlow" file "once.go" line 1 cells 1 counters 1
	site 0 kind call file "once.go" line 2 cell 0
func 11 name "x.y/m.TestA.func2" file "m_test.go" line 7 counters 1
func 12 name "x.y/m.never" file "m.go" line 50 counters 1
func 13 name "testing.BenchmarkResult.String" file "benchmark.go" line 60 counters 1
func 14 name "x.y/m.TestCase.Close" file "m_test.go" line 70 counters 1
value 0 name "calls" unit "count" about "the calls" flags perCounter
node 0 calls 0
node 1 func 1 parent 0 calls 1
node 2 func 2 parent 1 calls 1
node 3 func 3 parent 2 calls 1,1
node 4 func 5 parent 3 calls 1
node 5 func 6 parent 3 cell 1 calls 1
node 6 func 4 parent 2 calls 1
node 7 func 6 parent 6 calls 1
node 8 func 7 parent 6 cell 1 calls 1
node 9 func 2 parent 8 calls 2
node 10 func 8 parent 2 calls 2
node 11 func 9 parent 10 calls 2
node 12 func 10 parent 3 cell 2 calls 1
node 13 func 11 parent 12 calls 1
node 14 func 12 parent 3 cell 1 calls 0
node 15 func 13 parent 1 cell 0 calls 1
node 16 func 14 parent 1 cell 0 calls 1
`

func TestOf(t *testing.T) {
	p, err := profile.ParseText(strings.NewReader(record))
	if err != nil {
		t.Fatal(err)
	}
	suites := Union(Of(p), Of(p))
	if len(suites) != 1 || suites[0].Package != "x.y/m" || len(suites[0].Tests) != 2 {
		t.Fatalf("have %+v, want one suite with two tests", suites)
	}
	s := suites[0]
	want := map[string]string{
		"TestA": "[x.y/m.TestA x.y/m.both x.y/m.inGoroutine x.y/m.inlined]",
		"TestB": "[x.y/m.both x.y/m.inTable x.y/m.table x.y/m.table.func1 x.y/m_test.TestB]",
		"shared": "[main.main sync.(*Once).doSlow testing.BenchmarkResult.String testing.tRunner x.y/m.TestA.func2 " +
			"x.y/m.TestCase.Close]",
	}
	for _, test := range s.Tests {
		if have := fmt.Sprint(test.Functions); have != want[test.Name] {
			t.Errorf("%s: have %s, want %s", test.Name, have, want[test.Name])
		}
	}
	if have := fmt.Sprint(s.Shared); have != want["shared"] {
		t.Errorf("shared: have %s, want %s", have, want["shared"])
	}
	if subs := s.Tests[1].Subtests; len(subs) != 1 || subs[0].Function != "x.y/m.table.func1" {
		t.Errorf("subtests of TestB: %+v, want m.table.func1", subs)
	}
}

// TestPartial has tests that were skipped, or ended early, and binaries that ran only some subtests. What another
// record has of all of a test counts.
func TestPartial(t *testing.T) {
	of := func(edits ...string) []Suite {
		p, err := profile.ParseText(strings.NewReader(strings.NewReplacer(edits...).Replace(record)))
		if err != nil {
			t.Fatal(err)
		}
		return Of(p)
	}
	const fails = "testing.(*common).FailNow"
	whole := of()
	for _, c := range []struct {
		suites []Suite
		want   string
	}{
		{whole, ""},
		{of("x.y/m.inGoroutine", "testing.(*common).SkipNow"), "TestA"},
		{of("x.y/m.inTable", fails), "TestB"},
		{of("x.y/m.both", fails), "TestA TestB"},
		{of(`"m.test"`, `"m.test","-test.v","-test.run=^TestA$"`), ""},
		{of(`"m.test"`, `"m.test","-test.run=^TestA$/x"`), "TestA TestB"},
		{of(`"m.test"`, `"m.test","--test.skip","A/x"`), "TestA TestB"},
		{of(`"m.test"`, `"m.test","-test.testlogfile=/tmp/x","test.run","a/b"`), ""},
		{Union(of("x.y/m.both", fails), of("x.y/m.inTable", fails)), "TestB"},
		{Union(of("x.y/m.both", fails), whole), ""},
	} {
		var have []string
		for _, test := range c.suites[0].Tests {
			if test.Partial {
				have = append(have, test.Name)
			}
		}
		if have := strings.Join(have, " "); have != c.want {
			t.Errorf("have %q, want %q", have, c.want)
		}
	}
}

func TestTestNames(t *testing.T) {
	names := []string{"Test", "TestX", "Test1", "BenchmarkX", "FuzzÄ", "Example", "Example_x", "Testing", "TestMain",
		"test", "TestX.func1"}
	names = slices.DeleteFunc(names, func(n string) bool { return !IsTestName(n) })
	if have := strings.Join(names, " "); have != "Test TestX Test1 BenchmarkX FuzzÄ Example Example_x" {
		t.Error(have)
	}
}

// TestPaths takes paths whose last part has a dot, which symbols escape.
func TestPaths(t *testing.T) {
	for path, symbol := range map[string]string{
		"gopkg.in/yaml.v3": "gopkg.in/yaml%2ev3", "x.y/m": "x.y/m", "x.y/m.v2/sub": "x.y/m.v2/sub", "m": "m",
		"x.y/50%": "x.y/50%25",
	} {
		if have := symbolPath(path); have != symbol || importPath(have) != path {
			t.Errorf("%s: have %s and %s, want %s", path, have, importPath(have), symbol)
		}
	}
	if pkg, name := split("gopkg.in/yaml%2ev3_test.Test"); pkg != "gopkg.in/yaml.v3" || name != "Test" {
		t.Errorf("have %s and %s", pkg, name)
	}
}
