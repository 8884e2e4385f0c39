package sampling

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestPlugin samples a program that works in a package it has loaded at run time: its functions are
// named, below the call that led there, and incremental traces agree with walks.
func TestPlugin(t *testing.T) {
	e2e.NeedFull(t)
	const dir = "../contexts/testdata/plugin"
	lib := e2e.BuildDir(t, dir+"/lib", "-engine=sample", "-every=100us", "-buildmode=plugin")
	exe := e2e.BuildDir(t, dir, "-engine=sample", "-every=100us")
	e2e.Retry(t, func() error {
		r := e2e.Run(t, exe, "PLUGIN="+lib, "SPIN=500ms", "STEMMA_TRACE_CHECK=throw")
		if r.Err != nil {
			return fmt.Errorf("%w\n%s", r.Err, e2e.Tail(r.Stderr))
		}
		p := r.Read(t)
		s := sampling(t, p)
		if s.Stat("checked") == 0 || s.Stat("mismatches")+s.Stat("dead") > 0 {
			return fmt.Errorf("traces: %v", s.Stats)
		}
		tree, err := cct.Of(p, "samples")
		if err != nil {
			return err
		}
		if n := samplesBelow(tree, "main.main", "plugin/lib.Work", "plugin/lib.spin"); n < 20 {
			return fmt.Errorf("%d samples in lib.spin, called by lib.Work, called by main.main; want at least 20", n)
		}
		return nil
	})
}

// samplesBelow returns the samples in functions whose names end so, each called by the one before it.
func samplesBelow(tree *cct.Tree, path ...string) (sum uint64) {
	depth := make([]int, len(tree.Nodes)) // how much of the path a node ends
	for i, n := range tree.Nodes {        // the root is its own parent
		at := depth[n.Parent]
		if at == len(path) || !strings.HasSuffix(tree.Funcs[n.Func].Name, path[at]) {
			continue
		}
		if depth[i] = at + 1; depth[i] == len(path) {
			sum += n.Count
		}
	}
	return sum
}
