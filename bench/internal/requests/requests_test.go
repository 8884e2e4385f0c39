package requests

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/bench/internal/session"
)

func TestRequestTable(t *testing.T) {
	figures := map[string][]float64{
		"sample/depth=10": {130, 120, 140}, "callers/depth=10": {400, 400, 500}, "down/depth=10": {20, 20, 20},
		"down-sample/depth=10": {220, 320, 420}, "down-callers/depth=10": {420, 420, 520},
		"sample/depth=100": {1, 2}, // one round has failed
	}
	table := requestTable(new(session.Session), figures, 3)
	if len(table.Rows) != 1 {
		t.Fatalf("%d rows, want 1", len(table.Rows))
	}
	if have := strings.Join(table.Rows[0], " "); !strings.HasPrefix(have, "10 130.0 ") ||
		!strings.HasSuffix(have, " 400.0 30.0 40.0") {
		t.Errorf("have row %q", have)
	}
}
