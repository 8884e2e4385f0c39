// Package builds tests what of the go command stemma build passes on: build modes,
// -race, -toolexec, overlays, plugins, and programs with a static call graph. Each has the
// standard library compiled once more, so it is a package of its own.
package builds

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }

// TestScript runs the scripts in testdata/script/builds.
func TestScript(t *testing.T) { e2e.Scripts(t, "builds") }
