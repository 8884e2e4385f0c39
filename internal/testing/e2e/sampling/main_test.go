// Package sampling tests the samplers, and the accumulator beside the exact tree.
package sampling

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }
