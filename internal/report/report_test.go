package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// TestHeadings prints a tree of times: its columns are not calls.
func TestHeadings(t *testing.T) {
	tree := &cct.Tree{
		Type:  profile.CPU,
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "main.main"}},
		Sites: make([]cct.Site, 1),
		Nodes: []cct.Node{{}, {Func: 1, Count: 1_500_000}},
	}
	var out bytes.Buffer
	r := &reporter{w: &out, t: tree, o: &Options{Top: -1, Depth: -1, Min: 1}, totals: tree.Totals()}
	r.tree()
	r.contexts()
	if err := r.groups(profile.New()); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, "calls") || strings.Count(s, " cpu ") != 3 ||
		!strings.Contains(s, "less than 1% of the time on CPU are left out") {
		t.Error(s)
	}
}
