package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/profile"
)

// random returns a profile of a program that calls functions at random, now and then in
// new goroutines. Seeds that differ differ in some of the nodes and in all counts.
func random(t *testing.T, nodes int, seed uint64) *profile.Profile {
	t.Helper()
	p := profile.New(profile.Calls)
	p.Processes = []profile.Process{{Args: []string{"prog"}, Run: seed, GoVersion: "go1.26.8", Engine: "cct",
		Full: true}}
	word := func(s string) uint32 {
		p.Strings = append(p.Strings, s)
		return uint32(len(p.Strings) - 1)
	}
	file := word("/src/main.go")
	const funcs = 12
	for i := range uint32(funcs) {
		f := profile.Func{Name: word(fmt.Sprintf("main.f%d", i)), File: file, Line: 100 * (i + 1), Cells: 3,
			Counters: 1}
		for cell, kind := range []profile.SiteKind{profile.SiteCall, profile.SiteCall, profile.SiteGo} {
			line := f.Line + 10 + 20*uint32(cell/2) // two calls on one line
			f.Sites = append(f.Sites, profile.Site{Kind: kind, File: file, Line: line,
				Inlined: profile.None, Cell: int32(cell), Counter: profile.None})
		}
		p.Funcs = append(p.Funcs, f)
	}
	same, own := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(2, seed))
	seen := map[[3]uint32]bool{}
	counts := []uint64{0}
	for len(p.Nodes) <= nodes {
		r := same
		if len(p.Nodes) > nodes/2 {
			r = own
		}
		n := profile.Node{Parent: uint32(r.IntN(len(p.Nodes))), Func: 1 + uint32(r.IntN(funcs)),
			Cell: uint32(r.IntN(3))}
		if r.IntN(3) == 0 {
			n.Parent = uint32(r.IntN(min(len(p.Nodes), 5)))
		}
		if key := [3]uint32{n.Parent, n.Func, n.Cell}; seen[key] {
			continue
		} else {
			seen[key] = true
		}
		n.First = uint32(len(counts))
		p.Nodes = append(p.Nodes, n)
		counts = append(counts, uint64(own.IntN(1000)))
	}
	p.Columns[0].Values = counts
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	return p
}

// viewOf returns a view of a profile, compared with base if that is one.
func viewOf(t *testing.T, p, base *profile.Profile) *View {
	t.Helper()
	d := &Data{Title: "prog", Record: &record.Record{Profile: p}}
	if base != nil {
		d.Base = diff.FromProfile("base", base)
	}
	v, err := New(Options{Load: func() (*Data, error) { return d, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func answer[A any](t *testing.T, v *View, question string, args ...string) A {
	t.Helper()
	a := Args{}
	for i := 0; i < len(args); i += 2 {
		a[args[i]] = []string{args[i+1]}
	}
	got, err := v.Answer(question, a)
	if err != nil {
		t.Fatalf("%s %v: %v", question, args, err)
	}
	return got.(A)
}

// checkFlame checks that what is drawn and what is not drawn are all that the plot has below its root:
// it looks at each node of the plot and finds the box that must account for it.
func checkFlame(t *testing.T, m *model, a *flameAnswer, args Args) {
	t.Helper()
	p, err := m.plot(plotKey{args.get("metric"), args.get("kind"), args.get("func"), args.get("gone") != "",
		args.selection()})
	if err != nil {
		t.Fatal(err)
	}
	boxOf := make(map[string]int)
	for i, b := range a.Boxes {
		boxOf[b.ID] = i
		if i > 0 && b.Up >= i {
			t.Fatalf("box %d is in box %d", i, b.Up)
		}
	}
	if len(boxOf) != len(a.Boxes) {
		t.Fatalf("%d boxes, %d of them different", len(a.Boxes), len(boxOf))
	}
	root, _ := p.node(args.get("root"))
	out := make(map[uint32]bool)
	for _, kid := range p.children(root)[:args.number("skip", 0, 0, len(p.nodes))] {
		out[kid] = true
	}
	at := make([]int, len(p.nodes)) // box that accounts for a node
	own, below := make([]numbers, len(a.Boxes)), make([]numbers, len(a.Boxes))
	for i, n := range p.nodes {
		id := hex(p.prints[i])
		if i == 0 {
			id = ""
		}
		k, drawn := boxOf[id]
		switch {
		case out[uint32(i)] || i > 0 && at[n.Parent] < 0 && uint32(i) != root || i == 0 && root != 0:
			at[i] = -1
			continue
		case drawn:
			at[i] = k
		default:
			at[i] = at[n.Parent]
		}
		if uint32(i) == root && len(out) > 0 {
			continue // what stands for some children has nothing of its own
		}
		sum := &below[at[i]]
		if drawn {
			sum = &own[at[i]]
		}
		sum.Total += p.self[sideNew][i]
		if p.self[sideBase] != nil {
			sum.BaseAll += p.self[sideBase][i]
		}
		sum.Contexts += p.ends[i]
	}
	var all numbers
	for i, b := range a.Boxes {
		var f rest
		if b.Rest != nil {
			f = *b.Rest
		}
		if b.Self != own[i].Total || b.Base != own[i].BaseAll {
			t.Errorf("box %d: own %d, base %d; want %d and %d", i, b.Self, b.Base, own[i].Total, own[i].BaseAll)
		}
		if f.Total != below[i].Total || f.BaseAll != below[i].BaseAll || f.Contexts != below[i].Contexts {
			t.Errorf("box %d: rest %+v, want %+v", i, f.numbers, below[i])
		}
		all.Total += b.Self + f.Total
		all.BaseAll += b.Base + f.BaseAll
		all.Contexts += own[i].Contexts + f.Contexts
	}
	if b := a.Boxes[0]; all.Total != b.Total || all.BaseAll != b.BaseAll || all.Contexts != b.Contexts {
		t.Errorf("shown and rest %+v, in all %+v", all, b.numbers)
	}
	if t.Failed() {
		t.Fatalf("%v", args)
	}
}

// What is shown and what is not drawn are everything, in each plot, at each bound, and however
// deep one zooms.
func TestPlotsAddUp(t *testing.T) {
	for name, base := range map[string]*profile.Profile{"alone": nil, "compared": random(t, 3000, 8)} {
		t.Run(name, func(t *testing.T) {
			v := viewOf(t, random(t, 3000, 7), base)
			s, err := v.m.set("calls", selectionKey{})
			if err != nil {
				t.Fatal(err)
			}
			whole := s.tree().Totals().Calls
			totals := s.tree().InclusiveByFunction()
			r := rand.New(rand.NewPCG(3, 3))
			rests := 0
			for _, kind := range []string{kindContexts, kindGoroutines, kindCallers, kindCallees} {
				for _, gone := range []string{"", "1"} {
					for _, limit := range []string{"1", "40", "5000"} {
						args := Args{"metric": {"calls"}, "kind": {kind}, "gone": {gone}, "limit": {limit},
							"px": {"800"}}
						want := whole
						if kind == kindCallers || kind == kindCallees {
							fn := uint32(3)
							args["func"], want = []string{functionKey(s.tree().Funcs[fn])}, totals[fn]
						}
						for zoom := range 6 {
							got, err := v.Answer("flame", args)
							if err != nil {
								t.Fatal(err)
							}
							a := got.(*flameAnswer)
							if zoom == 0 && a.Boxes[0].Total != want {
								t.Errorf("%v: total %d, want %d", args, a.Boxes[0].Total, want)
							}
							checkFlame(t, v.m, a, args)
							b := a.Boxes[r.IntN(len(a.Boxes))]
							args["root"], args["skip"] = []string{b.ID}, []string{"0"}
							if f := b.Rest; f != nil {
								rests++
								args["skip"] = []string{fmt.Sprint(f.Skip)}
							}
						}
					}
				}
			}
			if rests < 20 {
				t.Errorf("%d rests were opened: the test sees too few", rests)
			}
		})
	}
}

// Rows and what is not drawn are all functions that match, and these with the others are all calls.
func TestTableAddsUp(t *testing.T) {
	v := viewOf(t, random(t, 3000, 7), random(t, 3000, 8))
	for _, q := range []string{"", "f1", "F1", "none"} {
		for sort := range orders {
			a := answer[*functionsAnswer](t, v, "functions", "q", q, "sort", sort, "from", "1", "n", "2")
			all := answer[*functionsAnswer](t, v, "functions", "q", q, "n", "1000")
			sum := a.Rest
			for _, r := range a.Rows {
				sum.add(funcRow{numbers: r.numbers})
			}
			var matched rowSum
			for _, r := range all.Rows {
				matched.add(funcRow{numbers: r.numbers})
			}
			s, _ := v.m.set("", selectionKey{})
			if sum != matched || a.Matched != matched || all.Rest != (rowSum{}) ||
				a.All.Self != s.tree().Totals().Calls {
				t.Errorf("%q by %s: rows and rest %+v, all that match %+v", q, sort, sum, matched)
			}
		}
	}
}

// Lines and what is not drawn have all calls that a function makes.
func TestSourceAddsUp(t *testing.T) {
	p := random(t, 2000, 7)
	text := strings.Repeat("\n", 319) + "}\n" + strings.Repeat("x\n", 1500)
	d := &Data{Record: &record.Record{Profile: p}}
	open := func(string) (io.ReadCloser, error) { return readCloser{strings.NewReader(text)}, nil }
	v, err := New(Options{Load: func() (*Data, error) { return d, nil }, Open: open})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := v.m.set("", selectionKey{})
	for i, f := range s.tree().Funcs {
		if f.Pseudo {
			continue
		}
		a := answer[*sourceAnswer](t, v, "source", "func", functionKey(f))
		made := uint64(0)
		for _, n := range s.tree().Nodes[1:] {
			if s.tree().Nodes[n.Parent].Func == uint32(i) {
				made += n.Count
			}
		}
		shown := a.Rest.Self
		lines := map[int]bool{}
		for _, l := range a.Lines {
			shown += l.Self
			lines[l.Line] = true
		}
		if shown != made || a.All.Self != made || made == 0 {
			t.Errorf("%s: lines and rest have %d calls, of %d", f.Name, shown, made)
		}
		if !lines[f.Line] || !lines[f.Line+20] {
			t.Errorf("%s: lines %v", f.Name, lines)
		}
	}
}

// A page in a file has the source that somebody else may see, and no other.
func TestSourceOfPage(t *testing.T) {
	d := &Data{Record: &record.Record{Profile: random(t, 2000, 7)}}
	open := func(line string) func(string) (io.ReadCloser, error) {
		return func(string) (io.ReadCloser, error) {
			return readCloser{strings.NewReader(strings.Repeat(line+"\n", 900))}, nil
		}
	}
	none := func(string) (io.ReadCloser, error) { return nil, errors.New("not to be seen") }
	for _, public := range []func(string) (io.ReadCloser, error){open("public"), none, nil} {
		v, err := New(Options{Load: func() (*Data, error) { return d, nil }, Open: open("private"), OpenPublic: public})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := v.Write(&b); err != nil {
			t.Fatal(err)
		}
		if page := b.String(); strings.Contains(page, `"private"`) {
			t.Error("the page has what is only for who makes it")
		}
	}
}

// A million epochs are some hundred points that stand for all of them.
func TestTimelineAddsUp(t *testing.T) {
	for _, n := range []int{0, 1, 599, 601, 100_000} {
		c := &ids.Encoding{Dict: ids.Dictionary{Epochs: []ids.EpochInfo{{Known: true}}}}
		for i := range n {
			c.Dict.Epochs = append(c.Dict.Epochs,
				ids.EpochInfo{Time: time.Unix(int64(i), 0), MaxID: uint32(i), Known: true})
		}
		m := &model{data: &Data{Record: &record.Record{IDs: c}}}
		a := m.epochs()
		sum := 0
		for _, p := range a.Points {
			if p.First != sum+1 {
				t.Errorf("%d epochs: a point begins at %d, behind %d", n, p.First, sum)
			}
			sum += p.Epochs
		}
		if sum != n || a.All != n || len(a.Points) > maxPoints {
			t.Errorf("%d epochs: %d points stand for %d", n, len(a.Points), sum)
		}
		if n > 0 && (a.Points[len(a.Points)-1].MaxID != uint32(n-1)) {
			t.Errorf("%d epochs: the last point has id %d", n, a.Points[len(a.Points)-1].MaxID)
		}
	}
}

// What is compared has on each side what that side has alone.
func TestComparedSides(t *testing.T) {
	now, was := random(t, 3000, 7), random(t, 3000, 8)
	byName := func(v *View, base bool) map[string]uint64 {
		list := map[string]uint64{}
		for _, r := range answer[*functionsAnswer](t, v, "functions", "n", "1000").Rows {
			if list[r.Name] = r.Self; base {
				list[r.Name] = r.Base
			}
		}
		return list
	}
	both := viewOf(t, now, was)
	if have, want := byName(both, false), byName(viewOf(t, now, nil), false); !maps.Equal(have, want) {
		t.Errorf("new side: %v, want %v", have, want)
	}
	if have, want := byName(both, true), byName(viewOf(t, was, nil), false); !maps.Equal(have, want) {
		t.Errorf("base: %v, want %v", have, want)
	}
	s, _ := both.m.set("", selectionKey{})
	if a, b := len(s.tree().Nodes), len(cct.New(now).Nodes); a <= b {
		t.Errorf("one tree of both has %d nodes, the new side alone %d", a, b)
	}
}

// A link to a box finds it in a record that was read again, and reports it if there is none.
func TestLinks(t *testing.T) {
	v, again := viewOf(t, random(t, 500, 7), nil), viewOf(t, random(t, 900, 7), nil)
	a := answer[*flameAnswer](t, v, "flame", "least", "0")
	found := 0
	for _, b := range a.Boxes[1:50] {
		got := answer[*flameAnswer](t, again, "flame", "root", b.ID)
		if got.Missing {
			continue
		}
		found++
		if name := got.Funcs[got.Boxes[0].Func].Name; name != a.Funcs[b.Func].Name || len(got.Path) == 0 {
			t.Errorf("box %s is %s, was %s", b.ID, name, a.Funcs[b.Func].Name)
		}
	}
	if found < 10 {
		t.Errorf("%d of 49 boxes were found", found)
	}
	if got := answer[*flameAnswer](t, v, "flame", "root", "123456"); !got.Missing || got.Boxes[0].ID != "" {
		t.Error("a link to nothing shows something")
	}
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// Values of a record of context IDs and of samples do not disturb each other.
func TestValues(t *testing.T) {
	text, err := os.ReadFile("../../profile/testdata/values.txt")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseText(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	v := viewOf(t, p, nil)
	for _, value := range answer[infoAnswer](t, v, "info").Values {
		a := answer[*flameAnswer](t, v, "flame", "metric", value.Name)
		want, err := cct.Of(p, value.Name)
		if err != nil && value.Name != "bytes" {
			t.Fatal(err)
		}
		if err == nil && a.Boxes[0].Total != want.Totals().Calls {
			t.Errorf("%s: %d, want %d", value.Name, a.Boxes[0].Total, want.Totals().Calls)
		}
		if value.Unit != a.Unit {
			t.Errorf("%s: unit %s, want %s", value.Name, a.Unit, value.Unit)
		}
	}
	if b, err := json.Marshal(answer[infoAnswer](t, v, "info")); err != nil || !bytes.Contains(b, []byte(`"bytes"`)) {
		t.Errorf("%v: %s", err, b)
	}
}
