// Package recorded tests recordings of all calls.
package recorded

import (
	"testing"

	"github.com/stemma-go/stemma/internal/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }
