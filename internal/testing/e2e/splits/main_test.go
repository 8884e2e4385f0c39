// Package splits tests the samplers on programs that know where their time goes.
package splits

import (
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

func TestMain(m *testing.M) { e2e.Main(m) }
