package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
)

// selves returns what each function has of its own.
func selves(rows []functionInfo) map[string]uint64 {
	list := map[string]uint64{}
	for _, r := range rows {
		if r.Self > 0 {
			list[r.Name] = r.Self
		}
	}
	return list
}

// What is selected has the numbers of a report with -focus, -ignore and -hide, on each side of what is compared, in
// the table and in plots; and shares stay those of all.
func TestSelectionIsThatOfReport(t *testing.T) {
	now, was := random(t, 2000, 7), random(t, 2000, 8)
	both := viewOf(t, now, was)
	for _, c := range []struct{ focus, ignore, hide string }{
		{"/f1$/", "", ""}, {"", "/f[2-4]$/", ""}, {"", "", "/f[5-9]$/"}, {"/f1$/", "/f2/", "/f3/"}, {"F10", "", "F11"},
	} {
		key := selectionKey{c.focus, c.ignore, c.hide}
		sel, err := key.selection()
		if err != nil {
			t.Fatal(err)
		}
		args := []string{"focus", c.focus, "ignore", c.ignore, "hide", c.hide, "n", "1000"}
		a := answer[*functionsAnswer](t, both, "functions", args...)
		whole := cct.New(now).Totals().Calls
		want := map[string]uint64{}
		for _, n := range cct.New(now).Select(sel).Nodes[1:] {
			if n.Count > 0 {
				want[cct.New(now).Funcs[n.Func].Name] += n.Count
			}
		}
		if have := selves(a.Rows); !maps.Equal(have, want) || a.Whole != whole || len(want) == 0 {
			t.Errorf("%+v: have %v of %d, want %v of %d", c, have, a.Whole, want, whole)
		}
		base := uint64(0)
		for _, n := range cct.New(was).Select(sel).Nodes {
			base += n.Count
		}
		if a.All.Base != base {
			t.Errorf("%+v: the base has %d, want %d", c, a.All.Base, base)
		}
		f := answer[*flameAnswer](t, both, "flame", args...)
		if b := f.Boxes[0]; b.Total != a.All.Self || b.BaseAll != base || f.Whole != whole {
			t.Errorf("%+v: the plot has %d and %d, want %d and %d", c, b.Total, b.BaseAll, a.All.Self, base)
		}
	}
	for _, bad := range []string{"focus", "q"} {
		_, err := both.Answer("flame", Args{bad: {"/(/"}})
		if err == nil || !strings.Contains(err.Error(), "missing closing") {
			t.Errorf("a regular expression that is none, as %s: %v", bad, err)
		}
	}
}

// What a search has found is all that matches, below what is zoomed to: boxes, and what is in rests.
func TestHitsAddUp(t *testing.T) {
	v := viewOf(t, random(t, 3000, 7), random(t, 3000, 8))
	re := regexp.MustCompile("f[13]$")
	for _, kind := range []string{kindContexts, kindGoroutines, kindCallees} {
		for _, limit := range []int{1, 30, 5000} {
			args := []string{"kind", kind, "limit", fmt.Sprint(limit), "q", "/f[13]$/"}
			if kind == kindCallees {
				s, _ := v.m.set("", selectionKey{})
				args = append(args, "func", functionKey(s.tree().Funcs[3]))
			}
			a := answer[*flameAnswer](t, v, "flame", args...)
			p := v.m.plots[0]
			boxes, total, functions := 0, uint64(0), map[uint32]bool{}
			within := make([]bool, len(p.nodes))
			for i, n := range p.nodes {
				hit := re.MatchString(p.funcs[n.Func].Name)
				if within[i] = hit || i > 0 && within[n.Parent]; hit {
					boxes++
					functions[n.Func] = true
					if i == 0 || !within[n.Parent] {
						total += p.below[sideNew][i]
					}
				}
			}
			shown, rest := 0, 0
			for _, b := range a.Boxes {
				if a.Funcs[b.Func].Hit {
					shown++
				}
				if b.Rest != nil {
					rest += b.Rest.Hits
				}
			}
			want := hitsInfo{Functions: len(functions), Boxes: boxes, InRest: boxes - shown, Total: total,
				Base: a.Hits.Base}
			if *a.Hits != want || rest != want.InRest || boxes == 0 {
				t.Errorf("%s, %d boxes: %+v with %d in rests, want %+v", kind, limit, *a.Hits, rest, want)
			}
		}
	}
}

// A line of any length has its text, and so have those behind it.
func TestLongLines(t *testing.T) {
	p := random(t, 200, 7)
	text := strings.Repeat("\n", 105) + "var data = `" + strings.Repeat("é", 1<<16) + "`\r\nbehind\n" +
		strings.Repeat("\n", 20) + "last"
	d := &Data{Record: &record.Record{Profile: p}}
	open := func(string) (io.ReadCloser, error) { return readCloser{strings.NewReader(text)}, nil }
	v, err := New(Options{Load: func() (*Data, error) { return d, nil }, Open: open})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := v.m.set("", selectionKey{})
	var key string
	for _, f := range s.tree().Funcs {
		if f.Line == 100 {
			key = functionKey(f)
		}
	}
	lines := map[int]string{}
	for _, l := range answer[*sourceAnswer](t, v, "source", "func", key).Lines {
		lines[l.Line] = l.Text
	}
	if !strings.HasPrefix(lines[106], "var data = `éé") || len([]rune(lines[106])) > maxName || lines[107] != "behind" {
		t.Errorf("line 106: %.20q, line 107: %q", lines[106], lines[107])
	}
}

// While an answer is being made one can ask what is done for it, and gets an answer at once.
func TestWork(t *testing.T) {
	v := viewOf(t, random(t, 300, 7), nil)
	v.mu.Lock() // as another question holds it
	v.m.doing("adding up", 3_500_000)
	got, err := v.Answer("work", nil)
	v.mu.Unlock()
	if have, ok := got.(workAnswer); err != nil || !ok || have.What != "adding up 3,500,000 contexts" {
		t.Errorf("%+v, %v", got, err)
	}
	answer[*flameAnswer](t, v, "flame")
	if have := answer[workAnswer](t, v, "work"); have.What != "" {
		t.Errorf("after the answer: %+v", have)
	}
}

// A page of what is compared has the functions first that have changed most, however many there are.
func TestPageHasChanges(t *testing.T) {
	base := wide(t, fileRows+100)
	now := wide(t, fileRows+100)
	now.Columns[0].Values[fileRows+50] = 1_000_000
	base.Columns[0].Values[7] = 900_000
	v := viewOf(t, now, base)
	var b bytes.Buffer
	if err := v.Write(&b); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(answersIn(t, b.String()))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{fmt.Sprint("main.f", fileRows+49), "main.f6"} {
		if !strings.Contains(string(text), `"name":"`+name+`"`) {
			t.Errorf("%s, which has changed most, is not in the page", name)
		}
	}
}
