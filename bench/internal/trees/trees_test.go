package trees

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/internal/cct"
)

func TestTreeCells(t *testing.T) {
	tree := &records.Tree{
		Totals: cct.Totals{Calls: 4_000_000, Contexts: 200, Functions: 30}, Nodes: 150, NoAdapters: 120,
		NativeNodes: 20, NativeCalls: 1_000_000, CallbackCalls: 400_000, InlinedCalls: 2_000_000, FunctionCalls: 8,
		IndirectCalls: 3, MaxDepth: 9, MeanDepth: 4.25, StandardCalls: [4]uint64{50, 0, 25, 25},
	}
	if got, want := strings.Join(sizeCells(tree, 20480), " "),
		"200 30 150 1.250 9 4.2 4.0 37.50 20 10.00 1.0 25.00 65.00 50.00 20 102"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := strings.Join(originCells(tree), " "), "50.00 0.00 25.00 25.00"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
