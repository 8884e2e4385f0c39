package diff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// A program is what functions call, in the order of the calls: the root calls main.main. What is called f#2 is f that
// calls something else there.
type program map[string][]call

// A call is made n times for each time that its caller is called.
type call struct {
	to string
	n  int
}

// calls parses "f 3, g".
func calls(text string) (list []call) {
	for part := range strings.SplitSeq(text, ", ") {
		c := call{n: 1}
		if n, _ := fmt.Sscan(part, &c.to, &c.n); n > 0 {
			list = append(list, c)
		}
	}
	return list
}

// side runs a program, once.
func (p program) side(name string) *Side {
	t := &cct.Tree{Nodes: make([]cct.Node, 1), Sites: make([]cct.Site, 1),
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}}}
	funcs, values := make(map[string]uint32), []uint64{0}
	var run func(up uint32, f string, n int)
	run = func(up uint32, f string, n int) {
		body := p[f]
		if f, _, _ = strings.Cut(f, "#"); funcs[f] == 0 {
			file := "/src/main.go"
			if !strings.HasPrefix(f, "main.") {
				file = "/goroot/src/" + cct.Package(f) + "/file.go"
			}
			funcs[f] = uint32(len(t.Funcs))
			t.Funcs = append(t.Funcs, cct.Func{Name: f, File: file, Line: 10})
		}
		at := uint32(len(t.Nodes))
		t.Nodes = append(t.Nodes, cct.Node{Parent: up, Func: funcs[f]})
		values = append(values, uint64(n))
		for _, c := range body {
			run(at, c.to, n*c.n)
		}
	}
	run(0, "main.main", 1)
	return &Side{Name: name, Go: []string{"go1.26.8"}, Programs: []string{"prog"}, Contexts: true,
		Exact: &cct.Values{Tree: t, Types: []profile.Metric{profile.Calls}, Counts: [][]uint64{values}}}
}

// costly returns what the gate says of a change.
func costly(t testing.TB, base, new program) string {
	t.Helper()
	d := compare(t, base.side("base"), new.side("new"), Options{})
	results, err := d.Check(d.Gate(), false)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range results {
		for _, i := range r.Over {
			x := d.Over(r, i)
			list = append(list, fmt.Sprintf("%s %d→%d", x.Name, x.Base, x.New))
		}
	}
	return strings.Join(list, "; ")
}

// TestCosts changes a program and wants what has grown, or nothing.
func TestCosts(t *testing.T) {
	base := map[string]string{
		"main.main":      "os.Open, net/http.serve 50, main.report",
		"net/http.serve": "net/http.Serve",
		"net/http.Serve": "main.handle",
		"main.handle":    "main.load, main.render",
		"main.load":      "main.query 10, strings.Index 3",
		"main.query":     "os.Read 4",
		"main.render":    "fmt.Print 5",
		"fmt.Print":      "os.Write 2",
		"main.report":    "main.query, sort.Sort",
		"sort.Sort":      "main.less 30",
	}
	for _, test := range []struct {
		name string
		edit map[string]string
		want string
	}{
		{name: "nothing"},
		{name: "extracted", edit: map[string]string{
			"main.load": "main.new 10, strings.Index 3", "main.new": "main.query"}},
		{name: "inlined", edit: map[string]string{"main.handle": "main.query 10, strings.Index 3, main.render"}},
		{name: "in another order", edit: map[string]string{"main.handle": "main.render, main.load"}},
		{name: "called by another one", edit: map[string]string{"main.load": "main.query 10",
			"main.render": "fmt.Print 5, strings.Index 3"}},
		{name: "fewer queries, with other functions", edit: map[string]string{
			"main.load": "main.batch", "main.batch": "main.query 5, strings.Join 9, fmt.Print"}},
		{name: "less in one function, more in another", edit: map[string]string{
			"main.load": "main.query 4", "main.render": "fmt.Print 5, main.query 2, strings.Index 9"}},
		{name: "a new function that calls nothing", edit: map[string]string{
			"main.load": "main.query 10, strings.Index 3, main.log 5"}},
		{name: "a few calls", edit: map[string]string{"main.report": "main.query, sort.Sort, strings.Index 10"}},

		{name: "a lost cache", edit: map[string]string{"main.load": "main.query 12, strings.Index 3"},
			want: "main.load → main.query 2500→3000"},
		{name: "a call more in the library", edit: map[string]string{"fmt.Print": "os.Write 2, os.Sync"},
			want: "fmt.Print → os.Sync 0→250"},
		{name: "a call more in a new function", edit: map[string]string{"main.load": "main.new 10, strings.Index 3",
			"main.new": "main.query, os.Sync"}, want: "main.load → os.Sync 0→500"},
		{name: "sorted twice", edit: map[string]string{"main.report": "main.query, sort.Sort 2"},
			want: "main.report → sort.Sort 31→62"},
		{name: "a handler around the others", edit: map[string]string{"net/http.Serve": "main.new",
			"main.new": "net/http.Serve#2, strings.Index 5", "net/http.Serve#2": "main.handle"},
			want: "net/http.Serve 3550→3850"},
		{name: "a handler in the middle", edit: map[string]string{"main.handle": "main.new, main.render",
			"main.new": "net/http.Serve#2, strings.Index 5", "net/http.Serve#2": "main.load"},
			want: "main.handle → net/http.Serve 2700→3000"},
		{name: "less in one request, more in another", edit: map[string]string{
			"main.report": "main.query, sort.Sort, strings.Index 50", "main.load": "main.query 8"},
			want: ""}, // main.main costs less
	} {
		p, q := make(program), make(program)
		for f, text := range base {
			p[f], q[f] = calls(text), calls(text)
		}
		for f, text := range test.edit {
			q[f] = calls(text)
		}
		if have := costly(t, p, q); have != test.want {
			t.Errorf("%s: have %q, want %q", test.name, have, test.want)
		}
	}
}

// TestNewTests compares tests: one more costs nothing, and does not hide that another one costs more.
func TestNewTests(t *testing.T) {
	tests := func(run, a string) program {
		return program{"main.main": calls("testing.run"), "testing.run": calls(run), "testing.tRunner": nil,
			"main.TestA": calls(a), "main.TestB": calls("main.query 3"), "main.TestC": calls("main.query 50, os.Read"),
			"main.query": calls("os.Read 9")}
	}
	base := tests("main.TestA, main.TestB, sync.Lock 20", "main.query 4")
	for _, test := range []struct{ run, a, want string }{
		{"main.TestA, main.TestB, main.TestC, sync.Lock 300", "main.query 4", ""},
		{"main.TestB", "main.query 4", ""},
		{"main.TestB, main.TestC, main.TestA, sync.Lock 300", "main.query 14", "main.TestA → main.query 40→140"},
	} {
		if have := costly(t, base, tests(test.run, test.a)); have != test.want {
			t.Errorf("%s: have %q, want %q", test.run, have, test.want)
		}
	}
}

// TestGuessedNames compares programs in which functions have other names, or one has gone and another one is new, as
// far as anybody can tell by who calls them, and what they call.
func TestGuessedNames(t *testing.T) {
	const leaf, others = "", "os.Read, os.Write, os.Stat"
	for _, c := range []struct{ first, run, other, want string }{
		{leaf, "main.other", leaf, ""},
		{others, "main.other", others, ""},
		{others, "main.other", others + ", os.Sync 100", "main.other → os.Sync 0→100"},
		{leaf, "main.other 2000", leaf, ""}, // another one, perhaps of code of main.run
		{others, "main.other 2000", others, "main.run → os.Read 3→6000"},
	} {
		program := func(run, name, body string) program {
			p := program{"main.main": calls("main.run"), "main.run": calls("main.work 3000, " + run),
				"main.work": calls("os.Read 2")}
			if body != leaf {
				p[name] = calls(body)
			}
			return p
		}
		base, new := program("main.first", "main.first", c.first), program(c.run, "main.other", c.other)
		d := compare(t, base.side("base"), new.side("new"), Options{Renames: true})
		results, err := d.Check(d.Gate(), false)
		if err != nil {
			t.Fatal(err)
		}
		have := ""
		for _, i := range results[0].Over {
			x := d.Over(results[0], i)
			have += fmt.Sprintf("%s %d→%d", x.Name, x.Base, x.New)
		}
		if have != c.want {
			t.Errorf("%s, which calls %s, for one that calls %s: have %q, want %q", c.run, c.other, c.first, have,
				c.want)
		}
	}
}

// TestNamesLikeGo compares programs of modules whose paths begin as those of packages of Go do.
func TestNamesLikeGo(t *testing.T) {
	for _, pkg := range []string{"testing.example.com/app", "runtime.example.com/app", "example.com/app"} {
		of := func(n int) program {
			return program{"main.main": calls(pkg + ".Load"), pkg + ".Load": []call{{pkg + ".query", n}},
				pkg + ".query": calls("os.Read 4")}
		}
		want := pkg + ".Load → " + pkg + ".query 500→1000"
		if have := costly(t, of(100), of(200)); have != want {
			t.Errorf("have %q, want %q", have, want)
		}
	}
}

// TestOtherGo compares builds by two releases of Go: what is inside of the library, or begins there, has no cost.
func TestOtherGo(t *testing.T) {
	base := program{"main.main": calls("fmt.Print 50, sync.init"), "fmt.Print": calls("os.Write 2, main.String")}
	for edit, want := range map[string]string{
		"os.Write 2, main.String":                 "",
		"os.Write 3, os.Sync, main.String":        "",
		"os.Write 2, main.String 2":               "fmt.Print → main.String 50→100",
		"fmt.inner":                               "",
		"fmt.inner, os.Write 80, runtime.memmove": "",
	} {
		new := program{"main.main": base["main.main"], "fmt.Print": calls(edit),
			"fmt.inner": calls("os.Read 7, main.String")}
		a, b := base.side("base"), new.side("new")
		b.Go = []string{"go1.26.9"}
		d := compare(t, a, b, Options{})
		results, err := d.Check(d.Gate(), false)
		if err != nil {
			t.Fatal(err)
		}
		have := ""
		for _, i := range results[0].Over {
			x := d.Over(results[0], i)
			have += fmt.Sprintf("%s %d→%d", x.Name, x.Base, x.New)
		}
		if have != want {
			t.Errorf("fmt.Print calls %s: have %q, want %q", edit, have, want)
		}
	}
}

// TestChance compares programs that differ in what Go does by chance.
func TestChance(t *testing.T) {
	base := program{"main.main": calls("runtime.typeAssert 5, sync.(*Pool).Get 3"),
		"sync.(*Pool).Get": calls("main.new")}
	new := program{"main.main": calls("runtime.typeAssert 9, sync.(*Pool).Get 3"),
		"sync.(*Pool).Get": calls("main.new 2")}
	a, b := base.side("base"), new.side("new")
	d := compare(t, a, b, Options{})
	if have := changes(d, "calls", Function); have != "" || d.Values[0].Chance != [2]uint64{8, 15} {
		t.Errorf("have %q, and %d calls by chance", have, d.Values[0].Chance)
	}
	d = compare(t, a, b, Options{Chance: true})
	want := "runtime.typeAssert changed 5→9; main.new changed 3→6"
	if have := changes(d, "calls", Function); have != want {
		t.Errorf("with chance: have %q, want %q", have, want)
	}
	// Without Put each Get makes something new.
	base = program{"main.main": calls("sync.(*Pool).Get 99, sync.(*Pool).Get#1"),
		"sync.(*Pool).Get#1": calls("main.new")}
	new = program{"main.main": calls("sync.(*Pool).Get 100"), "sync.(*Pool).Get": calls("main.new")}
	for _, chance := range []bool{false, true} {
		d := compare(t, base.side("base"), new.side("new"), Options{Chance: chance})
		if results, err := d.Check(d.Gate(), false); err != nil || Exceeded(results) != chance {
			t.Errorf("with chance %v: %v, %v", chance, Exceeded(results), err)
		}
	}
	_, text := baseline(t, a, false)
	if strings.Contains(text, "typeAssert") || strings.Contains(text, "main.new") {
		t.Errorf("a baseline has what Go does by chance:\n%s", text)
	}
}

// randomProgram returns a program without cycles in which each function calls something.
func randomProgram(r *rand.Rand) (p program, names []string) {
	p = make(program)
	for i := range 12 {
		name := fmt.Sprintf("main.f%d", i)
		if i == 0 {
			name = "main.main"
		}
		if i > 6 && r.IntN(2) == 0 {
			name = fmt.Sprintf("lib.F%d", i)
		}
		names = append(names, name)
	}
	for i, name := range names[:len(names)-1] {
		for range 1 + r.IntN(3) {
			p[name] = append(p[name], call{names[i+1+r.IntN(len(names)-i-1)], 1 + r.IntN(4)})
		}
	}
	return p, names
}

// TestRandomCosts changes random programs. Pieces of code that become functions, and functions that are put where they
// are called, cost what they did. A call of something more often does not, whatever else becomes of the code.
func TestRandomCosts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		base, names := randomProgram(r)
		new := make(program)
		for f, list := range base {
			new[f] = slices.Clone(list)
		}
		for n := range r.IntN(6) {
			f := names[r.IntN(len(names)-1)]
			list := new[f]
			switch k := r.IntN(len(list)); r.IntN(3) {
			case 0: // a piece of it becomes a function
				helper := fmt.Sprintf("main.new%d", n)
				new[helper], list[k] = []call{{list[k].to, 1}}, call{helper, list[k].n}
			case 1: // what it calls is put there
				if c := list[k]; strings.HasPrefix(c.to, "main.new") {
					list = slices.Delete(list, k, k+1)
					for _, inner := range new[c.to] {
						list = append(list, call{inner.to, inner.n * c.n})
					}
				}
			case 2:
				r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
			}
			new[f] = list
		}
		if have := costly(t, base, new); have != "" {
			t.Fatalf("%v\nbecame\n%v\nand costs more: %s", base, new, have)
		}
		f := names[r.IntN(len(names)-1)]
		k := r.IntN(len(base[f]))
		called := func(x cct.Func) bool { return x.Name == f }
		if !slices.ContainsFunc(base.side("x").Exact.Funcs, called) {
			continue
		}
		callee := base[f][k].to
		new[f] = append(new[f], call{callee, 1000})
		if have := costly(t, base, new); !strings.Contains(have, " → "+callee+" ") {
			t.Fatalf("%v\nbecame\n%v\nand calls %s more often; have %q", base, new, callee, have)
		}
	}
}
