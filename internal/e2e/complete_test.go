package e2e

import (
	"path/filepath"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
)

// TestComplete runs programs that make every kind of invocation.
func TestComplete(t *testing.T) {
	for _, name := range []string{"calls", "defers", "goroutines", "initorder", "asm", "cgo"} {
		t.Run(name, func(t *testing.T) { prove(t, name, []int{1, 2, 8}) })
	}
}

// TestPlugin loads a package at run time.
func TestPlugin(t *testing.T) {
	needBuilds(t)
	lib := build(t, "plugin/lib", "so", "-buildmode=plugin")
	r := run(t, build(t, "plugin", "default"), "PLUGIN="+lib, "GOMAXPROCS=2")
	r.ok(t)
	p := r.read(t)
	noLoss(t, p)
	check(t, cct.New(p), sourceWants(t, filepath.Join(programs, "plugin")), "default")
}
