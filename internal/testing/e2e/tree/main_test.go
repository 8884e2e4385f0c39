// Package tree tests exact trees (engine cct): every kind of call, exact counts, many contexts.
package tree

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }
