package view

import (
	"io"
	"net/http/httptest"
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

// A view that has nothing to show does not keep what stood around the one before: the path of a zoom, a legend,
// a name to copy.
func TestNothingStays(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	_, url := serve(t, sealed(t, "shapes", func(*profile.Profile) {}), "")
	const around = "[$('crumbs').textContent, $('legend').hidden, $('copyname').hidden, $('copystack').hidden].join()"
	for _, view := range []string{"sandwich", "source", "peek", "timeline"} {
		follow(t, p, url, []step{{"ArrowUp ArrowUp Enter", []string{link("root="), "!$('legend').hidden"}}})
		visit(t, p, "q=nosuch&view="+view)
		if have := eval[string](t, p, around); have != ",true,true,true" {
			t.Errorf("%s: %s", view, have)
		}
	}
}

// A line of source has the change of what stands before it, also where its own value is nothing.
func TestSourceChanges(t *testing.T) {
	p := tab(t)
	// What main.main calls has no calls of its own, but what is below that has some, and had three times as many.
	with := func(factor uint64) string {
		return sealed(t, "shapes", func(p *profile.Profile) {
			for _, n := range p.Nodes {
				own := &p.Columns[0].Values[n.First]
				if *own *= factor; p.String(p.Funcs[p.Nodes[n.Parent].Func].Name) == "main.main" {
					*own = 0
				}
			}
		})
	}
	_, url := serve(t, with(1), with(3))
	follow(t, p, url+"#view=source&q=main.main", nil)
	rows := eval[[][]string](t, p, "[...document.querySelectorAll('.source tbody tr')]"+
		".map(r => [...r.cells].map(c => c.textContent)).filter(c => c[1])")
	if len(rows) < 2 || !slices.ContainsFunc(rows, func(cells []string) bool { return cells[0] == "" }) {
		t.Fatalf("want lines with and without calls of their own; have %q", rows)
	}
	for _, cells := range rows {
		if cells[2] == "" {
			t.Errorf("line %s has %s, and no change", cells[3], cells[1])
		}
	}
}

// What stands behind a line of 64 KB is on the page.
func TestSourceBehindLongLine(t *testing.T) {
	p := tab(t)
	text := strings.Repeat("\n", 8) + "var data = `" + strings.Repeat("x", 1<<16) + "`\n" +
		strings.Repeat("here\n", 20) + "}\n"
	v, err := page.New(page.Options{
		Load: func() (*page.Data, error) {
			prof := forest(t, 30, profile.Calls, 1000, 1)
			return &page.Data{Record: &record.Record{Profile: prof}}, nil
		},
		Open: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
	})
	must(t, err)
	s := httptest.NewServer(v.Handler(""))
	t.Cleanup(s.Close)
	follow(t, p, s.URL+"#view=source&q=Branch0", nil)
	have := eval[[]string](t, p, "[...document.querySelectorAll('.source tbody .code')].map(c => c.textContent)")
	if len(have) < 10 || have[0] != "here" || have[len(have)-1] != "}" {
		t.Errorf("%d lines: %.200q", len(have), have)
	}
}

// A page of a record without metrics, whose program still runs or was killed, shows no choice of none, and no time that
// is not known.
func TestNothingToChoose(t *testing.T) {
	p := tab(t)
	dir := filepath.Join(t.TempDir(), "p.1-abcdef")
	recordtest.NewContexts("p").WriteTo(t, dir)
	_, url := serve(t, dir, "")
	follow(t, p, url+"#view=timeline", nil)
	if eval[bool](t, p, "$('metric').checkVisibility()") {
		t.Error("there is a list of metrics, with nothing in it")
	}
	if text := eval[string](t, p, "$('main').textContent"); strings.Contains(text, "ran for") ||
		!strings.Contains(text, "edges") {
		t.Errorf("have %q, want what the encoder did, without a time", text)
	}
}
