package parquet

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// records returns profiles of several runs, days and shapes: those that package profile has for its tests.
func records(t *testing.T) (list []*profile.Profile) {
	t.Helper()
	start := time.Date(2026, 11, 25, 23, 30, 0, 0, time.UTC)
	for i := range 6 {
		for k, name := range []string{"shapes", "allocs", "values"} {
			text, err := os.ReadFile("../../../../profile/testdata/" + name + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			p, err := profile.ParseText(strings.NewReader(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			p.Processes = p.Processes[:1]
			p.Processes[0].Run, p.Processes[0].Start = uint64(100*i+k+1), start.Add(time.Duration(i)*20*time.Minute)
			list = append(list, p)
		}
	}
	for n := range uint64(2) {
		p := *list[0]
		p.Processes = []profile.Process{p.Processes[0]}
		p.Processes[0].Run = 7777
		p.Processes[0].Segment = &profile.Segment{Number: n + 1, Began: start.Add(time.Duration(n) * time.Hour)}
		list = append(list, &p)
	}
	return list
}

// TestSums writes records of several days, each of them twice, and reads the tables back: the sums of each run, segment
// and metric are those of the record, each value has its context, and each context its parent, in the files of the day.
func TestSums(t *testing.T) {
	dir := t.TempDir()
	w := NewWriter(dir)
	want := make(map[string]int64)
	for _, p := range records(t) {
		for again := range 2 {
			written, err := w.Add(p, Origin{Labels: map[string]string{"zone": "a"}})
			if err != nil || written == (again == 1) {
				t.Fatalf("run %d: written: %v, %v", p.Processes[0].Run, written, err)
			}
		}
		for _, c := range p.Columns {
			tree, err := cct.Of(p, c.Name)
			if err != nil {
				t.Fatal(err)
			}
			segment := uint64(0)
			if s := p.Processes[0].Segment; s != nil {
				segment = s.Number
			}
			for _, n := range tree.Nodes[1:] {
				if n.Count > 0 {
					want[fmt.Sprintf("%016x/%d %s", p.Processes[0].Run, segment, c.Name)] += int64(n.Count)
				}
			}
		}
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*.parquet")); len(names) > 0 {
		t.Errorf("%q are there before they are complete", names)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	have := make(map[string]int64)
	for _, day := range []string{"2026-11-25", "2026-11-26"} {
		contexts := make(map[string]Context)
		for _, c := range read[Context](t, filepath.Join(dir, "contexts-"+day+".parquet")) {
			if _, ok := contexts[c.Context]; ok {
				t.Errorf("%s: context %s is there twice", day, c.Context)
			}
			contexts[c.Context] = c
		}
		for _, c := range contexts {
			up, ok := contexts[c.Parent]
			if !ok && c.Parent != "" || int(c.Depth) != len(c.Path) || c.Path[c.Depth-1] != c.Function ||
				ok && up.Function != c.Path[c.Depth-2] {
				t.Errorf("%s: context %+v has parent %+v", day, c, up)
			}
		}
		for _, v := range read[Value](t, filepath.Join(dir, "values-"+day+".parquet")) {
			c, ok := contexts[v.Context]
			if !ok || c.Fingerprint != v.Fingerprint || v.Time.Format(time.DateOnly) != day || v.Labels["zone"] != "a" {
				t.Fatalf("%s: value %+v of context %+v", day, v, c)
			}
			have[fmt.Sprintf("%s/%d %s", v.Run, v.Segment, v.Metric)] += v.Value
		}
	}
	for key, sum := range want {
		if have[key] != sum {
			t.Errorf("%s: have %d, want %d", key, have[key], sum)
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d sums, want %d", len(have), len(want))
	}
}

// read reads a table.
func read[T any](t *testing.T, name string) []T {
	t.Helper()
	rows, err := parquet.ReadFile[T](name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return rows
}

// TestOneLine has a function called twice in one line: two nodes, one context, and one value that is their sum.
func TestOneLine(t *testing.T) {
	p, err := profile.ParseText(strings.NewReader(`stemma profile 2
record 0 run 00000000000000a1
process 0 args "prog" run 00000000000000a1 pid 7 go "go1.26.8" engine "cct"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 3 cells 2 counters 1
	site 0 kind call callee "main.f" file "main.go" line 5 cell 0
	site 1 kind call callee "main.f" file "main.go" line 5 cell 1
func 2 name "main.f" file "main.go" line 9 counters 1
value 0 name "calls" unit "count" about "the calls" flags perCounter
node 0 calls 0
node 1 func 1 parent 0 calls 1
node 2 func 2 parent 1 cell 0 calls 30
node 3 func 2 parent 1 cell 1 calls 12
`))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w := NewWriter(dir)
	if _, err := w.Add(p, Origin{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "values-*.parquet"))
	if err != nil || len(names) != 1 {
		t.Fatalf("%q, %v", names, err)
	}
	have := make(map[int64]int)
	for _, v := range read[Value](t, names[0]) {
		have[v.Value]++
	}
	if len(have) != 2 || have[1] != 1 || have[42] != 1 {
		t.Errorf("values %v, want 1 and 42", have)
	}
}

// TestTwice adds a run as a whole and in segments, which would count twice.
func TestTwice(t *testing.T) {
	list := records(t)
	segment, whole := list[len(list)-1], *list[0]
	whole.Processes = []profile.Process{whole.Processes[0]}
	whole.Processes[0].Run = segment.Processes[0].Run
	for _, order := range [][]*profile.Profile{{segment, &whole}, {&whole, segment}} {
		w := NewWriter(t.TempDir())
		defer w.Discard()
		if _, err := w.Add(order[0], Origin{}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Add(order[1], Origin{}); err == nil || !strings.Contains(err.Error(), "name either") {
			t.Errorf("error: %v", err)
		}
	}
}

// TestClose has a table that cannot be completed: the tables of all days are those that there were.
func TestClose(t *testing.T) {
	dir := t.TempDir()
	var sizes []string
	for i := range 3 {
		w := NewWriter(dir)
		for _, p := range records(t)[i:] {
			if _, err := w.Add(p, Origin{}); err != nil {
				t.Fatal(err)
			}
		}
		if i == 1 {
			w.days["2026-11-26"].contexts.file.Close()
		}
		if err := w.Close(); (err != nil) != (i == 1) {
			t.Fatalf("writer %d: %v", i, err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 4 {
			t.Fatalf("writer %d: %v, %v", i, entries, err)
		}
		text := ""
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			text += fmt.Sprint(e.Name(), " ", info.Size(), " ", info.ModTime(), "\n")
		}
		sizes = append(sizes, text)
	}
	left := filepath.Join(dir, ".stemma-tables-1")
	for _, age := range []time.Duration{time.Hour, 48 * time.Hour} {
		if err := os.WriteFile(left, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if err := os.Chtimes(left, then, then); err != nil {
			t.Fatal(err)
		}
		NewWriter(dir)
		if _, err := os.Lstat(left); (err != nil) != (age > 24*time.Hour) {
			t.Errorf("a file that was left %v ago: %v", age, err)
		}
	}
	if sizes[1] != sizes[0] || sizes[2] == sizes[0] {
		t.Errorf("the files are\n%s\n%s\n%s", sizes[0], sizes[1], sizes[2])
	}
}
