package tree

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestBypass runs a program that does the same things recorded and not recorded. What is not, is in no value.
func TestBypass(t *testing.T) {
	exe := e2e.Build(t, "bypass", "-metrics=calls,alloc,live,wait,cpu", "-every=100us")
	r := e2e.Run(t, exe)
	r.OK(t)
	p := r.Read(t)
	e2e.NoLoss(t, p)
	for _, c := range p.Columns {
		tree, err := cct.Of(p, c.Name)
		if err != nil {
			t.Fatal(err)
		}
		works := uint64(0)
		for _, n := range tree.Nodes {
			name := tree.Funcs[n.Func].Name
			if strings.HasPrefix(name, "main.hidden") || name == "main.child" || name == "main.again" ||
				name == "main.fails" {
				t.Errorf("%s: %s is there", c.Name, name)
			}
			if name == "main.work" {
				works += n.Count
			}
		}
		if c.Name == profile.Calls.Name && works != 5*4 {
			t.Errorf("%d calls of main.work, want %d", works, 5*4)
		}
	}
	if _, n := below(t, p, profile.Allocs, "main.main", "main.node"); n != 5*4 {
		t.Errorf("%d allocations, want %d", n, 5*4)
	}
	checked := e2e.Build(t, "bypass", "-verify") // which records all of it, and finds no difference
	r = e2e.Run(t, checked)
	r.OK(t)
	r.Verify(t)
}
