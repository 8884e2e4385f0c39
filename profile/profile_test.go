package profile_test

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func mustText(t testing.TB, p *profile.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func mustLive(t testing.TB, d *recordtest.Dir) *profile.Profile {
	t.Helper()
	l, err := livedir.Open(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	return l.Profile
}

func mustMerge(t testing.TB, list ...*profile.Profile) *profile.Profile {
	t.Helper()
	p, err := profile.Merge(list...)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

func mustWrite(t testing.TB, p *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// golden compares have with testdata/name.
func golden(t *testing.T, name, have string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(have), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if have != string(want) {
		t.Errorf("%s differs; run with -update and look at the difference. have:\n%s", path, have)
	}
}

func TestLiveToText(t *testing.T) {
	golden(t, "shapes.txt", mustText(t, mustMerge(t, mustLive(t, recordtest.Shapes()))))
}

// TestTextIdentity checks text → binary → text for every profile in testdata.
func TestTextIdentity(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 2 {
		t.Fatalf("found %d profiles in testdata (%v), want at least 2", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := profile.ParseText(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if p, err = profile.Read(bytes.NewReader(mustWrite(t, p))); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if have := mustText(t, p); have != string(text) {
			t.Errorf("%s: after a round trip:\n%s", file, have)
		}
	}
}

func TestParseTextErrors(t *testing.T) {
	const head = "stemma profile 2\nrecord 0\nprocess 0 pid 1\n"
	for _, test := range []struct{ text, want string }{
		{"", "line 1: not the text form"},
		{"nonsense", `line 1: have "nonsense", want "stemma profile 2"`},
		{head + "colour 3", `line 4: unknown table "colour"`},
		{head + "func 1 kind root", `line 4: func: have index "1", want 0`},
		{head + "func 0 kind tree", `line 4: have "tree", want one of`},
		{head + "func 0 colour 3", `line 4: func: unknown word "colour"`},
		{head + "func 0 line 1 line 2", `line 4: func: unknown word "line", or given twice`},
		{head + "func 0 kind root cells 1 counters 1", "funcs: function 0: the root has 1 cells"},
		{head + "inlined 0", `line 4: "inlined" before the first "func"`},
		{head + "process 1 pid x", `line 4: have "x", want a number`},
		{head + "process 1 flags full,tall", `line 4: unknown flag "tall"`},
		{head + "process 1 start yesterday", `line 4: have "yesterday", want a time`},
		{head + "process 1 pid 1 2", `line 4: process: unknown word "2"`},
		{head + "node 0 func 3", "table node: row 0: function 3 is not one of 0"},
		{head + "func 0 kind root cells 10 counters 1\nvalue 0 name \"calls\" flags perCounter\nnode 0 calls 1,2",
			"table node: column calls: row 0: 2 numbers, want 1"},
		{head + "func 0 kind root cells 10 counters 1\nvalue 0 name \"a\" about \"\\x1b[31m\"\nnode 0",
			"is not printable"},
		{head + "func 0 kind root cells 10 counters 1\nvalue 0 name \"cell\"\n", "nodes have a column of that name"},
		{head + "func 0 kind root cells 10 counters 1\nnode 0\nvalue 0 name \"a\"\n", "a value behind the first node"},
		{"stemma profile 2\nrecord 0 kind ids\n", "a record of context IDs has no tree"},
	} {
		_, err := profile.ParseText(strings.NewReader(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: have error %v, want %q", test.text, err, test.want)
		}
	}
}

// TestMerge checks that merging does not depend on the order, adds up all
// counts, and does nothing to a single merged profile.
func TestMerge(t *testing.T) {
	for seed := range uint64(20) {
		var list []*profile.Profile
		want := uint64(0)
		for i := range uint64(3) {
			p := mustLive(t, recordtest.Random(seed, 60, rand.New(rand.NewPCG(seed, i))))
			p.Processes[0].Run = i + 1
			list = append(list, p)
			want += sum(p)
		}
		abc := mustMerge(t, list...)
		cab := mustMerge(t, list[2], mustMerge(t, list[0], list[1]))
		if a, b := mustText(t, abc), mustText(t, cab); a != b {
			t.Fatalf("seed %d: merging depends on the order:\n%s\n%s", seed, a, b)
		}
		if have := sum(abc); have != want {
			t.Errorf("seed %d: merged counts add up to %d, want %d", seed, have, want)
		}
		if a, b := mustText(t, abc), mustText(t, mustMerge(t, abc)); a != b {
			t.Errorf("seed %d: merging one profile changes it", seed)
		}
	}
}

// otherRun returns a profile like p, of processes whose runs are not known.
func otherRun(p *profile.Profile) *profile.Profile {
	q := *p
	q.Processes = slices.Clone(p.Processes)
	for i := range q.Processes {
		q.Processes[i].Run = 0
	}
	return &q
}

// TestSnapshots merges records of one run: they do not add up. What is taken is the one
// with most in it, whatever the order, and that is said.
func TestSnapshots(t *testing.T) {
	shapes := func(run, more uint64) *profile.Profile {
		p := mustLive(t, recordtest.Shapes())
		p.Processes[0].Run = run
		p.NodeCounts(1)[0] += more
		return p
	}
	early, late, other := shapes(7, 0), shapes(7, 5), shapes(8, 0)
	both := mustMerge(t, late, other)
	for _, tt := range []struct {
		name string
		list []*profile.Profile
		want uint64
		note string
	}{
		{"early and late", []*profile.Profile{early, late}, sum(late), "older, with less in it"},
		{"late and early", []*profile.Profile{late, early}, sum(late), "older, with less in it"},
		{"twice", []*profile.Profile{late, late}, sum(late), "has as much"},
		{"three", []*profile.Profile{early, other, late}, sum(late) + sum(other), "older, with less in it"},
		{"part", []*profile.Profile{early, both}, sum(both), "part of this one"},
		{"whole", []*profile.Profile{both, other, late}, sum(both), "part of this one"},
		{"not known", []*profile.Profile{late, otherRun(late)}, 2 * sum(late), ""},
	} {
		p := mustMerge(t, tt.list...)
		if have := sum(p); have != tt.want {
			t.Errorf("%s: counts add up to %d, want %d", tt.name, have, tt.want)
		}
		notes := ""
		for _, proc := range p.Processes {
			notes += strings.Join(proc.Notes, "\n")
		}
		if !strings.Contains(notes, tt.note) || tt.note == "" && notes != "" {
			t.Errorf("%s: have notes %q, want %q", tt.name, notes, tt.note)
		}
	}
	if len(early.Processes[0].Notes)+len(late.Processes[0].Notes) > 0 {
		t.Error("a profile that was merged has changed")
	}
	if _, err := profile.Merge(both, mustMerge(t, early, shapes(9, 0))); err == nil ||
		!strings.Contains(err.Error(), "share 1 of their runs") {
		t.Errorf("two that share a run: have error %v", err)
	}
}

// TestSegments adds up segments of a run, and records of the whole run, which have some of them.
func TestSegments(t *testing.T) {
	part := func(number, closed, calls uint64) *profile.Profile {
		p := mustLive(t, recordtest.Shapes())
		p.Processes[0].Run = 7
		p.Processes[0].Segment = &profile.Segment{Number: number, Closed: closed, Dropped: 1, Failed: 2,
			Began: time.Unix(1, 2).UTC(), Ended: time.Unix(3, 4).UTC()}
		p.NodeCounts(1)[0] += calls
		return p
	}
	first, second, third, fifth := part(1, 1, 10), part(2, 2, 20), part(3, 3, 30), part(5, 5, 50)
	whole := part(0, 2, 1000) // when two segments had ended
	for _, tt := range []struct {
		name string
		list []*profile.Profile
		want uint64 // 0 for an error
	}{
		{"segments", []*profile.Profile{second, third, first}, sum(first) + sum(second) + sum(third)},
		{"twice", []*profile.Profile{second, first, second}, sum(first) + sum(second)},
		{"whole", []*profile.Profile{first, whole, second}, sum(whole)},
		{"later", []*profile.Profile{whole, fifth}, sum(whole) + sum(fifth)},
		{"begun", []*profile.Profile{whole, third}, 0},
		{"begun before", []*profile.Profile{third, whole}, 0},
	} {
		p, err := profile.Merge(tt.list...)
		if (err == nil) != (tt.want > 0) || err == nil && sum(p) != tt.want {
			t.Errorf("%s: %v, want the sum %d", tt.name, err, tt.want)
		}
		if err != nil {
			continue
		}
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := profile.Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		if mustText(t, again) != mustText(t, p) || *again.Processes[0].Segment != *p.Processes[0].Segment {
			t.Errorf("%s: a sealed file has %+v, want %+v", tt.name, again.Processes[0].Segment, p.Processes[0].Segment)
		}
	}
}

func sum(p *profile.Profile) uint64 {
	var n uint64
	for i := range p.Nodes {
		for _, c := range p.NodeCounts(i) {
			n += c
		}
	}
	return n
}

func TestMergeRefusesMixedRecursion(t *testing.T) {
	a, b := mustLive(t, recordtest.Shapes()), mustLive(t, recordtest.Shapes())
	b.Processes[0].Full = true
	b.Processes[0].Run++
	if _, err := profile.Merge(a, b); err == nil {
		t.Error("merged a folded with a full profile")
	}
}

func TestWriteRefusesInvalid(t *testing.T) {
	p := mustLive(t, recordtest.Shapes())
	p.Nodes[3].Parent = 99
	if err := p.Write(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "node 3: parent 99") {
		t.Errorf("have error %v, want one about node 3", err)
	}
}

// TestDamage flips every bit of a sealed file and cuts it at every place: each
// must give an error that names an offset.
func TestDamage(t *testing.T) {
	good := mustWrite(t, mustMerge(t, mustLive(t, recordtest.Shapes())))
	read := func(data []byte, what string, at int) {
		_, err := profile.Read(bytes.NewReader(data))
		if err == nil || !strings.Contains(err.Error(), "offset ") {
			t.Fatalf("%s at %d: have error %v, want one that names an offset", what, at, err)
		}
	}
	for i := range good {
		read(good[:i], "cut", i)
		for bit := range 8 {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << bit
			read(bad, "bit flipped", i)
		}
	}
	read(append(bytes.Clone(good), 0), "byte appended", len(good))
}

func BenchmarkMillion(b *testing.B) {
	d := recordtest.Random(3, 1_000_000, rand.New(rand.NewPCG(1, 1)))
	for b.Loop() {
		p := mustMerge(b, mustLive(b, d))
		data := mustWrite(b, p)
		if _, err := profile.Read(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(data))/float64(len(p.Nodes)), "bytes/node")
	}
}

// TestMergeValues brings nodes into another order: each keeps its values.
func TestMergeValues(t *testing.T) {
	p := profile.New(profile.Calls, profile.CPU)
	x := profile.NewNodeIndex(p, 0)
	for _, name := range []string{"z", "m", "a"} { // merging sorts places by name
		p.Strings = append(p.Strings, name)
		p.Funcs = append(p.Funcs,
			profile.Func{Kind: profile.FuncPlace, Frames: []profile.Frame{{Func: uint32(len(p.Strings) - 1)}}})
		n := x.Node(0, 0, uint32(len(p.Funcs)-1))
		p.Column("cpu").Values[n] = uint64(name[0])
	}
	for _, p := range []*profile.Profile{mustMerge(t, p), mustMerge(t, p, otherRun(p))} {
		for i, n := range p.Nodes[1:] {
			name := p.String(p.Funcs[n.Func].Frames[0].Func)
			if v := p.Value(profile.CPU, i+1); v%uint64(name[0]) != 0 || v == 0 {
				t.Errorf("node %d of %s has the value %d, want that of %s", i+1, name, v, name)
			}
		}
		if name := p.String(p.Funcs[p.Nodes[1].Func].Frames[0].Func); name != "a" {
			t.Errorf("%s comes first, want a", name)
		}
	}
}
