// Package recorded tests recordings of all calls, and the commands that read what programs recorded.
package recorded

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }

// TestScript runs the scripts in testdata/script/recorded.
func TestScript(t *testing.T) { e2e.Scripts(t, "recorded") }
