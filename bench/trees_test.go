package main

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/internal/cct"
)

func TestTreeCells(t *testing.T) {
	tree := &records.Tree{
		Totals: cct.Totals{Calls: 4_000_000, Contexts: 200, Functions: 30}, Nodes: 150, NativeNodes: 20,
		NativeCalls: 1_000_000, InlinedCalls: 2_000_000, FunctionCalls: 8, IndirectCalls: 3,
		MaxDepth: 9, MeanDepth: 4.25, StandardCalls: [4]uint64{50, 0, 25, 25},
	}
	if got, want := strings.Join(sizeCells(tree, 20480), " "),
		"200 30 150 9 4.2 4.0 37.50 20 10.00 1.0 25.00 50.00 20 102"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := strings.Join(originCells(tree), " "), "50.00 0.00 25.00 25.00"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestFramework(t *testing.T) {
	at := func(program, build string, ratio float64) *row {
		return &row{program: program, build: build, user: 2,
			userRatio: stats.Interval{Median: ratio, Low: ratio, High: ratio}}
	}
	rows := []*row{
		at("a", "plain", 1), at("a", "none", 1), at("a", "cct -inlined=off", 1.1), at("a", "cct", 4),
		at("b", "plain", 1), at("b", "cct", 9), // without the framework there is nothing to split
		at("c", "plain", 1), at("c", "none", 1), at("c", "cct", 1),
	}
	got := framework(rows)
	if len(got.Rows) != 3 || got.Rows[0][0] != "a" || got.Rows[1][0] != "c" {
		t.Fatalf("rows %v", got.Rows)
	}
	if got, want := strings.Join(got.Rows[2], "|"), "geometric mean||1.000||1.100||2.000|"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if framework(rows[:1]) != nil {
		t.Error("a table without rows")
	}
}
