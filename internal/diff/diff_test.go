package diff

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/profile"
)

// side reads the profile in testdata/base.txt after some replacements of old by new text, each
// of which must be there.
func side(t testing.TB, name string, changes ...string) *Side {
	t.Helper()
	text, err := os.ReadFile("testdata/base.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(s, changes[i]) {
			t.Fatalf("no %q in testdata/base.txt", changes[i])
		}
		s = strings.ReplaceAll(s, changes[i], changes[i+1])
	}
	return FromProfile(name, parse(t, s))
}

// Values that no engine records have no columns in the text form of nodes.
var (
	otherValue  = regexp.MustCompile(`(?m)^value 1 name "(.*)" unit "bytes".*\n`)
	otherValues = regexp.MustCompile(`(?m)^(node \d+ .*) alloc_space (\d+)$`)
)

// parse reads a text like testdata/base.txt.
func parse(t testing.TB, text string) *profile.Profile {
	t.Helper()
	plain := otherValues.ReplaceAllString(otherValue.ReplaceAllString(text, ""), "$1")
	p, err := profile.ParseText(strings.NewReader(plain))
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.AddColumn(profile.Metric{Name: otherValue.FindStringSubmatch(text)[1], Unit: "bytes",
		About: "the bytes allocated"})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range otherValues.FindAllStringSubmatch(text, -1) {
		var node int
		fmt.Sscanf(m[1], "node %d", &node)
		if c.Values[node], err = strconv.ParseUint(m[2], 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func compare(t testing.TB, a, b *Side, o Options) *Diff {
	t.Helper()
	d, err := Compare(a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// changes lists the rows that differ, as text.
func changes(d *Diff, value string, s Scope) string {
	v, err := d.Value(value)
	if err != nil {
		return err.Error()
	}
	var lines []string
	rows, _ := d.Changed(v, s)
	for _, i := range rows {
		r := d.Row(v, s, i)
		line := fmt.Sprintf("%s %s %d→%d", r.Name, r.Change(), r.Base, r.New)
		if s == Line {
			line += fmt.Sprintf(" :%d", r.Line)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// shiftAll gives all functions other lines, in another checkout.
var shiftAll = []string{"line 10 ", "line 13 ", "line 20 ", "line 23 ", "line 30 ", "line 33 ", "/src/",
	"/home/ci/src/"}

func TestChanges(t *testing.T) {
	for _, test := range []struct {
		name                     string
		edit                     []string
		function, context, lines string
		matched                  string
	}{
		{name: "nothing"},
		{
			name: "one more call", edit: []string{"calls 1000", "calls 1001"},
			function: "main.leaf changed 1025→1026",
			context:  "main.leaf ← main.main ← [main] changed 1000→1001",
			lines:    "main.main → main.leaf changed 1000→1001 :12",
		},
		{
			name: "of an inlined function", edit: []string{"calls 1,500", "calls 1,501"},
			function: "main.square changed 500→501",
			context:  "main.square ← main.main ← [main] changed 500→501",
			lines:    "main.main → main.square changed 500→501 :11",
		},
		{
			name:    "moved from one place to the other",
			edit:    []string{"calls 1000", "calls 999", "calls 5\n", "calls 6\n"},
			context: "main.leaf ← main.main ← [main] changed 1000→999; main.leaf ← main.main ← [main] changed 5→6",
			lines:   "main.main → main.leaf changed 1000→999 :12; main.main → main.leaf changed 5→6 :14",
		},
		{
			name: "never called any more", edit: []string{"calls 20\nnode 6", "calls 0\nnode 6"},
			function: "main.deep removed 20→0",
			context:  "main.deep ← main.twice ← main.main ← [main] removed 20→0",
			lines:    "main.twice → main.deep removed 20→0 :32",
		},
		{
			name: "another name", edit: []string{"main.twice", "main.double", "calls 10\n", "calls 11\n"},
			function: "main.double changed 10→11",
			context:  "main.double ← main.main ← [main] changed 10→11",
			lines:    "main.main → main.double changed 10→11 :13",
			matched:  "main.double renamed main.twice",
		},
		{
			name: "another package", edit: []string{"main.deep", "example.com/m/deep.deep"},
			matched: "example.com/m/deep.deep moved main.deep",
		},
		{
			name: "another file", edit: []string{"/src/deep.go", "/src/other.go"},
			matched: "main.deep moved ",
		},
		{
			name: "other lines", edit: []string{"line 40", "line 50", "line 32", "line 33"},
			matched: "main.deep lines , main.twice lines ",
		},
		{
			name: "another checkout", edit: []string{"/src/", "/home/ci/"},
		},
		{
			name: "one closure more", edit: []string{"main.main.func1", "main.main.func2", "line 15", "line 16"},
			matched: "main.main lines , main.main.func2 renumbered main.main.func1",
		},
	} {
		d := compare(t, side(t, "base"), side(t, "new", test.edit...), Options{Renames: true})
		for scope, want := range map[Scope]string{Function: test.function, Context: test.context, Line: test.lines} {
			if have := changes(d, "calls", scope); have != want {
				t.Errorf("%s: by %v: have %q, want %q", test.name, scope, have, want)
			}
		}
		var matched []string
		for _, r := range d.Matched() {
			matched = append(matched, r.Name+" "+r.How+" "+r.Was)
		}
		if have := strings.Join(matched, ", "); have != test.matched {
			t.Errorf("%s: matched: have %q, want %q", test.name, have, test.matched)
		}
		if have := changes(d, "alloc_space", Function); have != "" {
			t.Errorf("%s: alloc: %s", test.name, have)
		}
	}
}

// Without a search for names, a new name is a function less and one more.
func TestWithoutRenames(t *testing.T) {
	d := compare(t, side(t, "base"), side(t, "new", "main.deep", "main.low"), Options{})
	if have, want := changes(d, "calls", Function), "main.deep removed 20→0; main.low added 0→20"; have != want {
		t.Errorf("have %q, want %q", have, want)
	}
}

// A value that only some functions have is found like calls, and on its own.
func TestOtherValues(t *testing.T) {
	d := compare(t, side(t, "base"), side(t, "new", "alloc_space 64", "alloc_space 80"), Options{})
	if have, want := changes(d, "alloc_space", Line), "[main] → main.main changed 64→80 :0"; have != want {
		t.Errorf("have %q, want %q", have, want)
	}
	if have := changes(d, "calls", Context); have != "" {
		t.Errorf("calls: %s", have)
	}
}

// What is ignored counts neither in rows nor in sums.
func TestIgnore(t *testing.T) {
	p, err := NewPattern("main.le*")
	if err != nil {
		t.Fatal(err)
	}
	d := compare(t, side(t, "base"), side(t, "new", "calls 1000", "calls 1001"), Options{Ignore: []Pattern{p}})
	if have := changes(d, "calls", Function); have != "" || d.Values[0].Base != 533 || d.Values[0].New != 533 {
		t.Errorf("have %q and %d → %d calls, want none and 533", have, d.Values[0].Base, d.Values[0].New)
	}
}

// TestPlanted plants a call more, or a byte, at a random node, and wants the function and the
// context found, and nothing else, by a limit of 0.
func TestPlanted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text, err := os.ReadFile("testdata/base.txt")
	if err != nil {
		t.Fatal(err)
	}
	base := side(t, "base")
	for range 100 {
		p := parse(t, string(text))
		node := 1 + r.IntN(len(p.Nodes)-1)
		c := p.Columns[r.IntN(len(p.Columns))]
		c.Of(p, node)[0]++
		d := compare(t, base, FromProfile("new", p), Options{Renames: true})
		want := p.String(p.Funcs[p.Nodes[node].Func].Name)
		for _, scope := range []Scope{Function, Context, Line} {
			results, err := d.Check([]Limit{{Metric: c.Name, Scope: scope}}, false)
			if err != nil {
				t.Fatal(err)
			}
			over := results[0].Over
			if len(over) != 1 || !Exceeded(results) {
				t.Fatalf("%s of node %d: %d rows by %v, want 1", c.Name, node, len(over), scope)
			}
			v := results[0].Of
			if row := d.Row(v, scope, over[0]); !strings.Contains(row.Name, want) || row.New != row.Base+1 {
				t.Fatalf("%s of node %d: found %+v, want %s", c.Name, node, row, want)
			}
		}
		for _, v := range d.Values {
			if rows, _ := d.Changed(v, Context); (v.Name == c.Name) != (len(rows) == 1) {
				t.Fatalf("%s differs in %d contexts, and was planted in %s", v.Name, len(rows), c.Name)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	d := compare(t, side(t, "base"),
		side(t, "new", "calls 1000", "calls 1010", "alloc_space 64", "alloc_space 1064", "main.deep", "main.deeper"),
		Options{})
	for limits, want := range map[string]string{ // how many rows exceed it, or the error
		"calls>0":                   "1",
		"calls>0.65%":               "0", // 10 of 1,558
		"calls>0.6%":                "1",
		"calls>9":                   "1",
		"calls>10":                  "0",
		"calls>0.5%+3":              "0",
		"calls@main.leaf>0.9%":      "1",
		"calls@main.leaf>1%":        "0",
		"calls@main.l*>0":           "1",
		"calls@*.square>0":          "0",
		"calls/function>0":          "2", // main.leaf, and main.deeper is new
		"calls/function>50%":        "1",
		"calls/function>50%+20":     "0",
		"calls/context@main.leaf>0": "1",
		"calls/line>0":              "2",
		" calls > 0 ":               "1",
		"alloc_space>1000B":         "0",
		"alloc_space>0.999kB":       "1",
		"calls>0.009k":              "1",
		"alloc_space>1ms": `limit "alloc_space>1ms": alloc_space has the unit bytes,` +
			` and the limit is in nanoseconds`,
		"cpu>0": `limit "cpu>0": base has no cpu, but calls, alloc_space;` +
			` new has no cpu, but calls, alloc_space; record it on both sides, or leave the limit out`,
		"calls@nothing.*>0": `limit "calls@nothing.*>0": no function with calls matches ` +
			`nothing.* in either record; a limit that guards nothing is a mistake`,
		"calls":                             "no >",
		"calls<1":                           "no >",
		">1":                                "is no metric",
		"":                                  "no >",
		"calls>":                            "no amount",
		"calls>-1":                          "no amount",
		"calls>NaN":                         "no amount",
		"calls>1e999":                       "no amount",
		"calls>0x10":                        "no amount",
		"calls>+1":                          "no amount",
		"calls>=1":                          "no amount",
		"calls>1%%":                         "behind the %",
		"calls>1%5":                         "behind the %",
		"calls>k":                           "no amount",
		"calls/file>1":                      `unknown scope "file" (want function, context, line, cost)`,
		"calls/total>1":                     `unknown scope "total" (want function, context, line, cost)`,
		"calls@>1":                          "an empty pattern",
		"calls>1,":                          "no >",
		"calls/function/x>1":                "unknown scope",
		"calls>1%+alloc":                    "no amount",
		"calls>" + strings.Repeat("9", 400): "no amount",
	} {
		have := ""
		parsed, err := ParseLimits(limits)
		if err == nil {
			var results []Result
			if results, err = d.Check(parsed, false); err == nil {
				have = fmt.Sprint(len(results[0].Over))
			}
		}
		if err != nil {
			have = err.Error()
		}
		if have != want && (err == nil || !strings.Contains(have, want)) {
			t.Errorf("%s: have %s, want %s", limits, have, want)
		}
	}
}

// Records that do not belong together are refused, or it is said.
func TestBelongTogether(t *testing.T) {
	stranger := []string{"/bin/prog", "/bin/other", "main.leaf", "main.l", "main.twice", "main.t", "main.deep",
		"main.d", "main.square", "main.s", "main.main.func1", "main.main.func9"}
	stranger[len(stranger)-1] = "main.x"
	if _, err := Compare(side(t, "base"), side(t, "new", stranger...), Options{Renames: true}); err == nil ||
		!strings.Contains(err.Error(),
			"base is of prog and new of other, which have no function of their own in common") {
		t.Errorf("have error %v", err)
	}
	compare(t, side(t, "base"), side(t, "new", stranger...), Options{Force: true})
	d := compare(t, side(t, "base"), side(t, "new", "go1.26.8", "go1.27.4"), Options{})
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "base is of go1.26.8, new of go1.27.4") {
		t.Errorf("notes %q", d.Notes)
	}
	if d = compare(t, side(t, "base"), side(t, "new", `"alloc_space"`, `"waste"`), Options{}); strings.Join(d.Notes,
		"; ") != "alloc_space is in base only, and not compared; waste is in new only, and not compared" {
		t.Errorf("notes %q", d.Notes)
	}
}

// baseline writes s and reads it again.
func baseline(t *testing.T, s *Side, contexts bool) (*Side, string) {
	t.Helper()
	var b bytes.Buffer
	if err := WriteBaseline(&b, s, contexts); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	read, err := ReadBaseline(&b, "baseline.txt")
	if err != nil {
		t.Fatal(err)
	}
	return read, text
}

// TestOnlyPrograms has records of several programs, some of which are on one side only.
func TestOnlyPrograms(t *testing.T) {
	for _, c := range []struct{ base, new, want string }{
		{"a b c", "b", "new has no record of a, c, as base has"},
		{"a", "a b", "base has no record of b, as new has"},
		{"a b", "b a", ""},
		{"old", "new", ""}, // the program has another name
	} {
		a, b := side(t, "base"), side(t, "new")
		a.Programs, b.Programs = strings.Fields(c.base), strings.Fields(c.new)
		if have := strings.Join(compare(t, a, b, Options{}).Notes, "; "); have != c.want {
			t.Errorf("%s → %s: have %q, want %q", c.base, c.new, have, c.want)
		}
	}
}

func TestBaseline(t *testing.T) {
	want := `stemma baseline 2
go go1.26.8
flags engine=cct inlined=on recursion=folded
program prog
metric calls count
metric alloc_space bytes
rows function
20 0 main.deep
1025 4096 main.leaf
1 64 main.main
2 0 main.main.func1
500 0 main.square
10 0 main.twice
end
`
	base, text := baseline(t, side(t, "base"), false)
	if text != want {
		t.Errorf("have:\n%swant:\n%s", text, want)
	}
	if _, again := baseline(t, side(t, "base", shiftAll...), false); again != text {
		t.Errorf("other lines make another baseline:\n%s", again)
	}
	if _, again := baseline(t, base, false); again != text {
		t.Errorf("a baseline of the baseline differs:\n%s", again)
	}
	d := compare(t, base, side(t, "new", "calls 1000", "calls 1001", "main.deep", "main.low"), Options{Renames: true})
	if have, want := changes(d, "calls", Function),
		"main.deep removed 20→0; main.low added 0→20; main.leaf changed 1025→1026"; have != want {
		t.Errorf("have %q, want %q", have, want)
	}
	for _, s := range []Scope{Context, Line} {
		if err := d.Knows(s); err == nil {
			t.Errorf("a baseline of functions knows %v", s)
		}
	}
	for _, other := range [][]string{{"go1.26.8", "go1.26.7"}, {`engine "cct"`, `engine "cct" flags full`}} {
		if _, err := Compare(base, side(t, "new", other...), Options{}); err == nil ||
			!strings.Contains(err.Error(), "stemma baseline") {
			t.Errorf("%q: error %v", other, err)
		}
		compare(t, base, side(t, "new", other...), Options{Force: true})
	}
}

func TestBaselineContexts(t *testing.T) {
	base, text := baseline(t, side(t, "base"), true)
	want := `rows context
1 0 0 [main]
2 1 64 main.main
3 1005 4096 main.leaf
3 2 0 main.main.func1
3 500 0 main.square
3 10 0 main.twice
4 20 0 main.deep
4 20 0 main.leaf
end
`
	if !strings.HasSuffix(text, want) {
		t.Errorf("have:\n%swant at the end:\n%s", text, want)
	}
	d := compare(t, base, side(t, "new", "calls 1000", "calls 1001"), Options{})
	if have, want := changes(d, "calls", Context), "main.leaf ← main.main ← [main] changed 1005→1006"; have != want {
		t.Errorf("have %q, want %q", have, want)
	}
	if _, again := baseline(t, base, true); again != text {
		t.Errorf("a baseline of the baseline differs:\n%s", again)
	}
}

// A baseline that was edited, merged or cut is refused, with the line.
func TestBadBaseline(t *testing.T) {
	_, good := baseline(t, side(t, "base"), false)
	_, deep := baseline(t, side(t, "base"), true)
	for _, test := range []struct{ text, old, new, want string }{
		{good, "baseline 2", "baseline 9", "line 1: "},
		{good, "end\n", "", "it is cut off"},
		{good, "20 0 main.deep", "<<<<<<< HEAD", "line 8: "},
		{good, "20 0 main.deep", "20 main.deep", "line 8: "},
		{good, "20 0 main.deep", "-20 0 main.deep", "line 8: "},
		{good, "20 0 main.deep", "99999999999999999999 0 main.deep", "line 8: "},
		{good, "20 0 main.deep", "20 0 main.leaf", "line 9: main.leaf for the second time"},
		{good, "20 0 main.deep", "20 0 ", "line 8: no name"},
		{good, "rows function", "rows many", "line 7: "},
		{good, "metric calls count\nmetric alloc_space bytes\n", "", "behind the metrics"},
		{good, "metric alloc_space", "metric calls", "line 6: "},
		{good, "end\n", "end\n1 1 main.x\n", "behind the end"},
		{good, "go go1.26.8", "gone", "line 2: "},
		{deep, "2 1 64 main.main", "3 1 64 main.main", "line 9: depth 3"},
		{deep, "2 1 64 main.main", "0 1 64 main.main", "line 9: depth 0"},
		{deep, "2 1 64 main.main", strings.Repeat("1", 2<<20), "line 9: "},
	} {
		text := strings.Replace(test.text, test.old, test.new, 1)
		if text == test.text {
			t.Fatalf("no %q", test.old)
		}
		if _, err := ReadBaseline(strings.NewReader(text), "b"); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: error %v, want %s", test.new[:min(20, len(test.new))], err, test.want)
		}
	}
}

func FuzzBaseline(f *testing.F) {
	for _, contexts := range []bool{false, true} {
		var b bytes.Buffer
		if err := WriteBaseline(&b, side(f, "base"), contexts); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadBaseline(bytes.NewReader(text), "b")
		if err != nil {
			return
		}
		if err := WriteBaseline(new(bytes.Buffer), s, s.Contexts); err != nil {
			t.Fatal(err)
		}
		if d, err := Compare(s, s, Options{Force: true}); err == nil {
			for _, v := range d.Values {
				if rows, _ := d.Changed(v, Function); len(rows) > 0 {
					t.Fatal("a baseline differs from itself")
				}
			}
		}
	})
}

// repeated is side for two runs, the second of which has other changes.
func repeated(t testing.TB, name string, changes ...string) *Side {
	t.Helper()
	text, err := os.ReadFile("testdata/base.txt")
	if err != nil {
		t.Fatal(err)
	}
	other := string(text)
	for i := 0; i < len(changes); i += 2 {
		if !strings.Contains(other, changes[i]) {
			t.Fatalf("no %q in testdata/base.txt", changes[i])
		}
		other = strings.ReplaceAll(other, changes[i], changes[i+1])
	}
	runs := []*profile.Profile{parse(t, string(text)), parse(t, other)}
	for i, p := range runs {
		p.Processes[0].Run = uint64(i + 1)
	}
	p, err := profile.Repeats(func(yield func(*profile.Profile, error) bool) {
		for i := 0; i < len(runs) && yield(runs[i], nil); i++ {
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return FromProfile(name, p)
}

// TestVarying compares a base of two runs, in which main.twice has other counts, with a new one: nothing of
// main.twice and of what it calls is compared, and all else is. A baseline made of it does the same.
func TestVarying(t *testing.T) {
	base := repeated(t, "base", "cell 1 calls 10", "cell 1 calls 11")
	if base.Varying["calls"] == nil || len(base.Exact.Types) != 2 {
		t.Fatalf("have %v and the values %v; want calls, which vary", base.Varying, base.Exact.Types)
	}
	for _, contexts := range []bool{false, true} {
		from, text := baseline(t, base, contexts)
		if want := "varies calls\n1 0 [main]\n2 0 main.main\n3 1 main.twice\nend\n"; !strings.HasSuffix(text, want) {
			t.Errorf("have\n%swant at the end\n%s", text, want)
		}
		if strings.Contains(text, "main.deep") {
			t.Errorf("the baseline has counts of main.deep, which main.twice calls:\n%s", text)
		}
		if _, again := baseline(t, from, contexts); again != text {
			t.Errorf("a baseline of the baseline differs:\n%s", again)
		}
		for _, b := range []*Side{base, from} {
			d := compare(t, b, side(t, "new",
				"cell 1 calls 10", "cell 1 calls 500", "parent 3 calls 20", "parent 3 calls 700"), Options{})
			if have := changes(d, "calls", Function); have != "" {
				t.Errorf("%s: what varies is compared: %s", b.Name, have)
			}
			v := d.Values[0]
			if list := d.VaryingContexts(v); len(list) != 1 || list[0].Func != "main.twice" || v.Varying[1] == 0 {
				t.Errorf("%s: have %+v and %d calls, want main.twice and some", b.Name, list, v.Varying)
			}
			d = compare(t, b, side(t, "new", "calls 1000", "calls 1001"), Options{})
			if have, want := changes(d, "calls", Function), "main.leaf changed 1005→1006"; have != want {
				t.Errorf("%s: have %q, want %q", b.Name, have, want)
			}
			if list := d.VaryingContexts(d.Values[1]); len(list) != 0 {
				t.Errorf("%s: alloc varies: %+v", b.Name, list)
			}
		}
	}
	d := compare(t, side(t, "base"), base, Options{})
	if list := d.VaryingContexts(d.Values[0]); len(list) != 1 || changes(d, "calls", Context) != "" {
		t.Errorf("what varies on the new side: %+v; %s", list, changes(d, "calls", Context))
	}
}

// TestIncomplete checks limits on records that lack something, on either side: what is about counts is an error, and
// so is a baseline of such a record.
func TestIncomplete(t *testing.T) {
	limits, err := ParseLimits("calls>0,calls/function>0,alloc_space>1%")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/base.txt")
	if err != nil {
		t.Fatal(err)
	}
	harmless := []string{profile.LossChecks, profile.LossDeep, profile.LossLabels, profile.LossIncomplete,
		profile.LossPlaces,
		profile.LossRequests, profile.LossSampleNodes, profile.LossTruncated, profile.LossTraces,
		profile.LossMismatches}
	for _, kind := range append([]string{profile.LossNodes, profile.LossFuncs, profile.LossPages, profile.LossShards,
		profile.LossTables, profile.LossPaths, profile.LossEdges, profile.LossUnread, profile.LossUnreadable,
		profile.LossFaults, "of a later version"}, harmless...) {
		p := parse(t, string(text))
		p.Processes[0].Losses = []profile.Loss{{Kind: kind, Count: 2}}
		whole, lossy := side(t, "whole"), FromProfile("lossy", p)
		want := "lossy is not complete, so that %s may be too low there: it lacks " + kind + " (2)"
		if kind == profile.LossFaults {
			want = "lossy is not exact, so that %s may be too high there: inlined calls behind faults"
		}
		for _, pair := range [][2]*Side{{whole, lossy}, {lossy, whole}, {lossy, lossy}} {
			d := compare(t, pair[0], pair[1], Options{})
			for _, l := range limits {
				for _, soft := range []bool{false, true} {
					results, err := d.Check([]Limit{l}, soft)
					alloc := l.Metric == profile.AllocSpace.Name
					if slices.Contains(harmless, kind) || kind == profile.LossFaults && alloc {
						if err != nil || Exceeded(results) {
							t.Errorf("%s, limit %s: %v", kind, l.Text, err)
						}
					} else if err == nil || !strings.Contains(err.Error(), fmt.Sprintf(want, l.Metric)) {
						t.Errorf("%s, limit %s: have error %v, want %q", kind, l.Text, err, want)
					}
				}
			}
		}
		if err := WriteBaseline(io.Discard, lossy, false); (err == nil) != slices.Contains(harmless, kind) {
			t.Errorf("%s: baseline: %v", kind, err)
		}
	}
}

// TestPartial checks limits on a sum of records that do not all have a metric: those on others hold.
func TestPartial(t *testing.T) {
	for _, i := range []int{0, 1} {
		sides := [2]*Side{side(t, "base"), side(t, "new")}
		sides[i].Losses = append(sides[i].Losses, profile.LossWithout(profile.AllocSpace.Name))
		d := compare(t, sides[0], sides[1], Options{})
		for limit, want := range map[string]string{"calls>0": "",
			"alloc_space>1%": "some of its records have no alloc_space"} {
			limits, err := ParseLimits(limit)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = d.Check(limits, false); (err != nil) != (want != "") || err != nil &&
				!strings.Contains(err.Error(), want) {
				t.Errorf("%s: have %v, want %q", limit, err, want)
			}
		}
		if _, err := d.Check(d.Gate(), false); err == nil {
			t.Error("the gate passes")
		}
		if err := WriteBaseline(io.Discard, sides[i], false); err == nil {
			t.Error("a baseline is written")
		}
	}
}

// TestInlined checks limits where inlined calls were counted on one side only.
func TestInlined(t *testing.T) {
	for _, c := range []struct {
		flag  string
		force bool
		limit string
		ok    bool
	}{{"inlined=on", false, "calls>0", true}, {"inlined=off", false, "calls>0", false},
		{"inlined=off", false, "alloc_space>0", true}, {"inlined=off", true, "calls>0", true}} {
		a, b := side(t, "base"), side(t, "new")
		a.Flags, b.Flags = []string{"inlined=on"}, []string{c.flag}
		limits, err := ParseLimits(c.limit)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compare(t, a, b, Options{Force: c.force}).Check(limits, false); (err == nil) != c.ok {
			t.Errorf("%+v: have %v", c, err)
		}
	}
}

// TestNegative checks limits on a record of a program that wanted numbers below 0 added to a metric of its own.
func TestNegative(t *testing.T) {
	s := side(t, "lossy")
	s.Losses = []profile.Loss{{Kind: profile.LossNegative, Count: 2}}
	if err := s.complete(profile.Calls); err != nil {
		t.Error(err)
	}
	want := "lossy is not complete, so that open may be too low there: numbers below 0 were not added to metrics of " +
		"the program (2 of them), which only grow; use two metrics for what comes and goes"
	if err := s.complete(profile.Metric{Name: "open", Unit: "files"}); err == nil || err.Error() != want {
		t.Errorf("have %v, want %s", err, want)
	}
}
