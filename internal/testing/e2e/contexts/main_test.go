// Package contexts tests context IDs: each engine's contexts are compared with stack walks.
package contexts

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }
