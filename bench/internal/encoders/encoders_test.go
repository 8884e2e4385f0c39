package encoders

import (
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/bench/internal/chart"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/bench/internal/session"
)

func TestEncodingCells(t *testing.T) {
	s := &session.Session{Counts: map[string]session.Count{"demo": {Calls: 30, User: 2}}}
	e := &measure.Encoding{Functions: 1, Edges: 2, Encoded: 3, BackEdges: 4, LeftOut: 5, MaxID: 6, Pushes: 4096,
		MeanDepth: 1.5,
		MaxDepth:  7, Reencodings: 8, ReencodeTime: 9 * time.Microsecond, MaxPause: 10 * time.Microsecond}
	got := strings.Join(encodingCells(s, &program.Program{Name: "demo"}, e, 2), " ")
	if want := "1 2 3 4 5 6 2048 1.50 7 8 9 10 15"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestProgressFigures(t *testing.T) {
	tab, edges, ids := stepsTable(), new(chart.Figure), new(chart.Figure)
	addProgress("demo", []records.Step{{}, {After: time.Second, Nodes: 3, Edges: 4, MaxID: 5}}, tab, edges, ids)
	addProgress("short", []records.Step{{}}, tab, edges, ids)
	if len(tab.Rows) != 3 || strings.Join(tab.Rows[1], " ") != "demo 1 1.000 3 4 5" {
		t.Errorf("rows %v", tab.Rows)
	}
	if len(edges.Lines) != 1 || edges.Lines[0].Y[1] != 4 || ids.Lines[0].Y[1] != 5 {
		t.Errorf("lines %+v, %+v", edges.Lines, ids.Lines)
	}
}

func TestDepthsRow(t *testing.T) {
	d := newDepthsReport()
	d.add("demo", records.Depths{Stack: records.Histogram{3: 1, 5: 3}, CCStack: records.Histogram{0: 3, 2: 1}})
	if got, want := strings.Join(d.table.Rows[0], " "), "demo 4 4.5 5 5 5 5 75.0 0.50 2 2 2"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
