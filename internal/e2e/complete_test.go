package e2e

import "testing"

// TestComplete runs programs that make every kind of invocation.
func TestComplete(t *testing.T) {
	for _, name := range []string{"calls", "defers", "goroutines", "initorder", "asm", "cgo"} {
		t.Run(name, func(t *testing.T) { prove(t, name, []int{1, 2, 8}) })
	}
}
