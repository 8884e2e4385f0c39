package command

import (
	"os"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/profile"
)

// laterText is a profile with a value that this version knows nothing of: bytes that were
// allocated in each node.
const laterText = `stemma profile 2
record 0 run 00000000000000a1
process 0 args "prog" run 00000000000000a1 pid 7 go "go1.26.8" engine "later"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 3 cells 1 counters 2
	inlined 0 callee "main.in" file "main.go" line 4 counter 1 beginsFile "main.go" beginsLine 9
	site 0 kind call callee "main.f" file "main.go" line 5 cell 0
func 2 name "main.f" file "main.go" line 20 counters 1
value 0 name "calls" unit "count" about "the calls" flags perCounter
value 1 name "bytes" unit "bytes" about "the bytes"
node 0 calls 0
node 1 func 1 parent 0 calls 1,7 bytes 1000
node 2 func 2 parent 1 calls 5 bytes 3000
`

// writeLater seals it as a profile of a run.
func writeLater(t *testing.T, name string, run uint64) {
	t.Helper()
	p, err := profile.ParseText(strings.NewReader(laterText))
	if err != nil {
		t.Fatal(err)
	}
	p.Processes[0].Run = run
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := p.Write(f); err != nil {
		t.Fatal(err)
	}
}

// TestLaterValue shows a value that this version has no word for: reports, exports,
// comparisons and sums take what they say from the profile. So a new value needs its
// type and what counts it, and nothing here.
func TestLaterValue(t *testing.T) {
	t.Chdir(t.TempDir())
	writeLater(t, "a.stemma", 1)
	writeLater(t, "b.stemma", 2)
	for _, c := range []struct {
		args string
		want []string
	}{
		{"report -metric=bytes a.stemma", []string{"4,000 bytes · ", "bytes       %", "3,000  75.00%", "main.f"}},
		{"report -metric=bytes -contexts a.stemma",
			[]string{"          bytes       %  context", "3,000  75.00%  main.f"}},
		{"report -metric=bytes -tree a.stemma", []string{"less than 1% of the bytes", "1,000 100.00%    main.main"}},
		{"report -metric=bytes -json a.stemma", []string{`"metric": "bytes"`, `"calls": 4000`}},
		{"report -metric=bytes a.stemma b.stemma", []string{"8,000 bytes · ", "6,000  75.00%"}},
		{"report a.stemma", []string{"13 calls", "main.in"}},
		{"export -format=folded -metric=bytes a.stemma", []string{"[main];main.main;main.f 3000"}},
		{"export -format=callgrind -metric=bytes a.stemma", []string{"events: Bytes", "summary: 4000"}},
		{"export -format=speedscope -metric=bytes a.stemma", []string{`"unit":"bytes"`, `"weights":[1000,3000]`}},
		{"similarity -metric=bytes a.stemma b.stemma", []string{"100.00%"}},
		{"info -text a.stemma",
			[]string{`value 1 name "bytes" unit "bytes"`, "node 2 func 2 parent 1 calls 5 bytes 3000"}},
	} {
		code, stdout, stderr := runMain(strings.Fields(c.args)...)
		if code != base.ExitOK {
			t.Errorf("%s: exit code %d: %s", c.args, code, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: no %q in\n%s", c.args, want, stdout)
			}
		}
	}
	if code, _, stderr := runMain("export", "-o", "p.gz", "a.stemma"); code != base.ExitOK {
		t.Fatal(stderr)
	}
	f, err := os.Open("p.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := pprof.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	var sums [2]int64
	for _, s := range p.Sample {
		sums[0], sums[1] = sums[0]+s.Value[0], sums[1]+s.Value[1]
	}
	if len(p.SampleType) != 2 || p.SampleType[1].Type != "bytes" || sums != [2]int64{13, 4000} {
		t.Errorf("pprof: %v, sums %d, want calls 13 and bytes 4000", p.SampleType, sums)
	}
}
