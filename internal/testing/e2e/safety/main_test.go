// Package safety tests that programs run on, and their records can be read, whatever happens.
package safety

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }
