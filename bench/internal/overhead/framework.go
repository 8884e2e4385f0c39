package overhead

import (
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// framework makes CCCP's tables 3 and 4 of what overhead has measured: what the
// extended runtime costs without any instrumentation, and what counting adds.
func framework(rows []*row) *table.Table {
	t := &table.Table{
		Name: "framework", Title: "Cost of the framework and of profiling (CCCP, tables 3 and 4)", Left: 1,
		Head: []string{"program", "plain s", "framework", "interval", "calls of functions", "interval", "all calls",
			"interval"},
		Notes: []string{"Ratios of user time to plain. framework: stemma's compiler and runtime without " +
			"instrumentation (engine none); " +
			"calls of functions: cct -inlined=off; all calls: cct, with inlined ones. In the paper the framework " +
			"duplicates code and passes an argument; " +
			"stemma has no code in the framework, only fields of g and hooks in the runtime, so what is seen here " +
			"beyond the noise is those."},
	}
	columns := []string{FrameworkVariant, "cct -inlined=off", "cct"}
	byProgram := make(map[string]map[string]*row)
	var order []string
	for _, r := range rows {
		if byProgram[r.program] == nil {
			byProgram[r.program] = make(map[string]*row)
			order = append(order, r.program)
		}
		byProgram[r.program][r.build] = r
	}
	ratios := make([][]float64, len(columns))
	for _, p := range order {
		builds := byProgram[p]
		if builds[FrameworkVariant] == nil || builds[measure.Plain.Name] == nil {
			continue
		}
		cells := []string{p, session.Number(builds[measure.Plain.Name].user, 2)}
		for i, c := range columns {
			if r := builds[c]; r != nil {
				cells = append(cells, session.Number(r.userRatio.Median, 3), session.Span(r.userRatio))
				ratios[i] = append(ratios[i], r.userRatio.Median)
			} else {
				cells = append(cells, "", "")
			}
		}
		t.Add(cells...)
	}
	if len(t.Rows) == 0 {
		return nil
	}
	cells := []string{"geometric mean", ""}
	for _, r := range ratios {
		if len(r) == 0 {
			cells = append(cells, "", "")
		} else {
			cells = append(cells, session.Number(stats.GeoMean(r), 3), "")
		}
	}
	t.Add(cells...)
	return t
}

// FrameworkVariant is the build that has the extended runtime only.
const FrameworkVariant = "none"
