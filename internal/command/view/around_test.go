package view

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/page"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// The last line, and what can be copied, are of what is on screen: not of the view before, nor of another metric.
func TestFooter(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	_, url := serve(t, sealed(t, "values", func(*profile.Profile) {}), "")
	for _, view := range []string{"functions", "source", "peek"} {
		follow(t, p, url, []step{{"ArrowUp ArrowUp", []string{"!$('copystack').hidden"}}})
		before := eval[string](t, p, "$('status').textContent")
		visit(t, p, "view="+view)
		if have := eval[string](t, p, "$('status').textContent"); have == before || have == "" {
			t.Errorf("%s: %q is there, as in the plot before", view, have)
		}
	}
	follow(t, p, url, nil)
	names := eval[[]string](t, p, "page.info.values.map(v => v.name)")
	for _, name := range names[1:] {
		must(t, p.Eval(fmt.Sprintf("$('metric').focus(), $('metric').value = %q, "+
			"$('metric').dispatchEvent(new Event('change'))", name), nil), p.Eval("page.drawn", nil))
		text := "$('status').textContent === page.plots[0].text(page.plots[0].selected)"
		if !eval[bool](t, p, text) {
			t.Errorf("%s: the last line is %q", name, eval[string](t, p, "$('status').textContent"))
		}
	}
	_, shop, _, _ := recordtest.Shop(t)
	_, events := serve(t, shop, "")
	follow(t, p, events+"#view=functions", []step{{"", []string{"!$('copyname').hidden"}}})
	visit(t, p, "view=timeline")
	if !eval[bool](t, p, "$('copyname').hidden") {
		t.Error("the timeline has a name to copy")
	}
	must(t, p.Resize(500, 800), p.Wait("document.querySelector('main canvas').clientWidth < 500"))
}

// The callers and callees of a function whose calls are gone are those that it had, in a file as well. They look
// unlike what has not changed.
func TestGoneCallers(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	now := sealed(t, "shapes", func(p *profile.Profile) {
		gone := make([]bool, len(p.Nodes))
		for i, n := range p.Nodes {
			name := p.String(p.Funcs[n.Func].Name)
			if gone[i] = gone[n.Parent] || name == "main.area"; gone[i] {
				clear(p.Columns[0].Values[n.First : n.First+p.Funcs[n.Func].Counters])
			}
		}
	})
	v, url := serve(t, now, sealed(t, "shapes", func(*profile.Profile) {}))
	var file bytes.Buffer
	must(t, v.Write(&file))
	out := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(out, file.Bytes(), 0o666))
	const boxes = "page.plots[%d].items.map(i => page.plots[%[1]d].answer.funcs[i.box.fn].name)"
	for _, at := range []string{url, "file://" + out} {
		follow(t, p, at+"#view=sandwich&q=square", nil)
		if callers := eval[[]string](t, p, fmt.Sprintf(boxes, 0)); !slices.Contains(callers, "main.area") {
			t.Errorf("%s: the callers are %q", at, callers)
		}
		legend := eval[string](t, p, "$('legend').textContent")
		if !strings.Contains(legend, "gone") || !eval[bool](t, p, "$('gone').hidden") {
			t.Errorf("%s: the legend is %q, or there is a choice without effect", at, legend)
		}
		must(t, p.Press("p"), p.Wait(link("view=peek")), p.Wait("document.querySelector('main table')"))
		if !eval[bool](t, p, shows("main.area")) {
			t.Errorf("%s: the callers are %q", at, eval[string](t, p, "$('main').textContent"))
		}
	}
	follow(t, p, url, nil)
	must(t, p.Eval(contrastFunctions, nil))
	for _, theme := range []string{"light", "dark"} {
		dark := theme == "dark"
		n := eval[float64](t, p, fmt.Sprintf("contrast(compared(0, 1, %v)[0], compared(1, 1, %[1]v)[0])", dark))
		if n < 3 {
			t.Errorf("%s: gone and same have a contrast of %.2f", theme, n)
		}
	}
}

// What is not compared is said: else the calls of a record are others than without a base.
func TestNotCompared(t *testing.T) {
	p := tab(t)
	missing := func() string {
		return sealed(t, "shapes", func(p *profile.Profile) {
			for i, s := range p.Strings {
				p.Strings[i] = strings.Replace(s, "runtime.newobject", "runtime.typeAssert", 1) // a miss of its cache
			}
		})
	}
	_, url := serve(t, missing(), missing())
	for _, view := range []string{"flame", "functions"} {
		follow(t, p, url+"#view="+view, nil)
		text := eval[string](t, p, "$('crumbs').textContent")
		const want = " · not compared, as it varies from run to run: 20 calls, 20 in the base"
		if !strings.HasSuffix(text, want) {
			t.Errorf("%s: %q, want %q at the end", view, text, want)
		}
	}
}

// Long warnings leave the path beside them in one line, and a table where nothing is found has the columns that it
// had.
func TestRoom(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	v, err := page.New(page.Options{Load: func() (*page.Data, error) {
		return &page.Data{Title: "long", Record: &record.Record{Profile: forest(t, 300, profile.Calls, 1e9, 1)},
			Warnings: []string{strings.Repeat("a context had no room; its calls are counted by function. ", 5)}}, nil
	}})
	must(t, err)
	s := httptest.NewServer(v.Handler(""))
	t.Cleanup(s.Close)
	for _, width := range []int{1000, 1440} {
		must(t, p.Resize(width, 800))
		follow(t, p, s.URL, nil)
		if high := eval[float64](t, p, "$('crumbs').querySelector('button').offsetHeight"); high > 26 {
			t.Errorf("%d: [root] is %v high", width, high)
		}
	}
	must(t, p.Resize(1000, 800))
	follow(t, p, s.URL+"#view=functions", nil)
	const apart = "document.querySelector('table').classList.contains('apart')"
	before := eval[bool](t, p, apart)
	visit(t, p, "view=functions&q=nosuch")
	must(t, p.Eval("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))", nil))
	if after := eval[bool](t, p, apart); before || after {
		t.Errorf("names in lines of their own: %v before, %v after", before, after)
	}
	must(t, p.Resize(640, 800))
	follow(t, p, s.URL+"#view=source&q=Branch0", nil)
	line := "getComputedStyle(document.querySelector('.source tbody tr')).borderBottomWidth"
	if have := eval[string](t, p, line); have != "1px" {
		t.Errorf("the numbers of a line are not set apart from the line before: %s", have)
	}
	if have := eval[string](t, p, "$('legend').textContent"); !strings.HasPrefix(have, "bar: ") {
		t.Errorf("the legend of source is %q", have)
	}
}
