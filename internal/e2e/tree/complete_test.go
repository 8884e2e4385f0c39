package tree

import (
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/e2e"
)

// TestComplete runs programs that make every kind of invocation.
func TestComplete(t *testing.T) {
	for _, name := range []string{"calls", "defers", "goroutines", "initorder", "asm", "cgo"} {
		t.Run(name, func(t *testing.T) { e2e.Prove(t, name, []int{1, 2, 8}) })
	}
}

// TestPlugin loads a package at run time.
func TestPlugin(t *testing.T) {
	lib := e2e.Build(t, "plugin/lib", "-buildmode=plugin")
	r := e2e.Run(t, e2e.Build(t, "plugin"), "PLUGIN="+lib, "GOMAXPROCS=2")
	r.OK(t)
	p := r.Read(t)
	e2e.NoLoss(t, p)
	e2e.Check(t, cct.New(p), e2e.SourceWants(t, "plugin"), "default")
}
