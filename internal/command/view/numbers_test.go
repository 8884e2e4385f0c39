package view

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"testing"

	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/page"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/profile"
)

// rowsOf returns the table of functions as it should be on the page, cell by cell. That the answers
// are the numbers of report -json is for the test of package command that compares these.
func rowsOf(t *testing.T, v *page.View, value, unit string) (rows [][]string) {
	t.Helper()
	got, err := v.Answer("functions", page.Args{"metric": {value}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Rows []struct {
			Name                  string
			Self, Total, Contexts uint64
		}
		All struct{ Self uint64 }
	}
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	number := func(n uint64) []string {
		text := humanize.Commas(n)
		switch unit {
		case "nanoseconds":
			text = humanize.Milliseconds(n)
		case "bytes":
			text += " B"
		}
		return []string{text, fmt.Sprintf("%.2f%%", 100*float64(n)/float64(a.All.Self))}
	}
	for _, r := range a.Rows {
		rows = append(rows, append(append(number(r.Self), number(r.Total)...), humanize.Commas(r.Contexts), r.Name))
	}
	return rows
}

// The numbers that a browser shows are those of the answers, for each value.
func TestNumbers(t *testing.T) {
	level.NeedMore(t)
	p := tab(t)
	for _, name := range []string{"shapes", "values", "allocs"} {
		v, address := serve(t, sealed(t, name, func(*profile.Profile) {}), "")
		info, err := v.Answer("info", nil)
		if err != nil {
			t.Fatal(err)
		}
		var have struct{ Values []struct{ Name, Unit string } }
		if b, err := json.Marshal(info); err != nil || json.Unmarshal(b, &have) != nil || len(have.Values) == 0 {
			t.Fatal(err, have)
		}
		for _, value := range have.Values {
			follow(t, p, address+"#view=functions&metric="+url.QueryEscape(value.Name), nil)
			var rows [][]string
			err := p.Eval("[...document.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.textContent))",
				&rows)
			want := rowsOf(t, v, value.Name, value.Unit)
			if err != nil || len(want) == 0 || !reflect.DeepEqual(rows, want) {
				t.Errorf("%s: %s: %v: the page has\n%q\nwant\n%q", name, value.Name, err, rows, want)
			}
		}
	}
}
