package tree

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// recordedWork is how often the program bypass calls main.work in a recorded context. What is deferred runs below the
// panic that it recovers, which is not recorded.
const recordedWork = 5 * 3

// TestBypass runs a program that does the same things recorded and not recorded. What is not, is in no value.
func TestBypass(t *testing.T) {
	e2e.NeedMore(t)
	flags := []string{"-metrics=calls,alloc,inuse,wait"}
	if e2e.Full() {
		flags = []string{"-metrics=calls,alloc,inuse,wait,cpu", "-every=100us"}
	}
	exe := e2e.Build(t, "bypass", flags...)
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
		if c.Name == profile.Calls.Name && works != recordedWork {
			t.Errorf("%d calls of main.work, want %d", works, recordedWork)
		}
	}
	if _, n := below(t, p, profile.AllocObjects, "main.main", "main.node"); n != recordedWork {
		t.Errorf("%d allocations, want %d", n, recordedWork)
	}
	checked := e2e.Build(t, "bypass", "-verify") // which records all of it, and finds no difference
	r = e2e.Run(t, checked)
	r.OK(t)
	r.Verify(t)
}
