package report

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// TestCollided has two contexts whose texts have one hash, in a sum of two processes and in one process.
func TestCollided(t *testing.T) {
	tree := &cct.Tree{Sites: make([]cct.Site, 1), Nodes: []cct.Node{{}, {Func: 1}, {Func: 2}, {Parent: 1, Func: 3}},
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "8yn0iYCKYHlIj4-BwPqk", Pseudo: true},
			{Name: "GReLUrM4wMqfg9yzV3KQ", Pseudo: true}, {Name: "main.f"}}}
	p := &profile.Profile{Processes: make([]profile.Process, 2)}
	const want = "1 fingerprint stands for several contexts, first "
	if have := collided(collisionsOf(p, tree)); !strings.HasPrefix(have, want) ||
		!strings.HasSuffix(have, ": 8yn0iYCKYHlIj4-BwPqk; and GReLUrM4wMqfg9yzV3KQ") {
		t.Errorf("have %q", have)
	}
	p.Processes = p.Processes[:1]
	if have := collided(collisionsOf(p, tree)); have != "" {
		t.Errorf("of one process: %q", have)
	}
}
