package encoders

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/command/replay"
)

func TestReplayCells(t *testing.T) {
	row := replay.Row{Nodes: 1, Edges: 2, Encoded: 3, LeftOut: 19, NumCC: 4,
		MaxID: 5, StackOps: 6, StackMean: 7.5, StackMax: 8,
		Compares: 9,
		Epochs:   10, EncodeUS: 11, Interned: 12, LogBytes: 13, Bytes: 14 << 10, Truncated: 15, Collisions: 16,
		Checked: 17, Mismatches: 18}
	if got, want := strings.Join(replayCells(row), " "),
		"1 2 3 19 4 5 6 7.50 8 9 10 11 12 13 14 15 16 17 18"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
