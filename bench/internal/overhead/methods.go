package overhead

import (
	"slices"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// A method is what Lucce's table 1 says of one, other than what is measured.
type method struct{ build, intrusiveness, precise string }

// ownMethods are stemma's engines, as their builds are called. None needs a change of the source; so it is told what
// is in a program that was not, and whether it is ever stopped.
var ownMethods = []method{
	{"cct", "code in each function; never stopped", "yes"},
	{"lucce", "code in each function; stopped only to begin a segment", "yes"},
	{"pcce", "code in each function; a call graph made before the run", "yes"},
	{"dacce", "code in each function; stopped to re-encode", "yes"},
	{"pcc", "code in each function", "no: hashes"},
	{"acct", "a countdown in each function", "no: sampled calls"},
	{"sample -every=1ms", "hooks in the runtime only", "no: sampled times"},
}

// methods makes the rows of Lucce's table 1 for this project.
func methods(rows []*row) *table.Table {
	t := &table.Table{
		Name: "methods", Title: "Methods compared (Lucce, table 1)", Left: 3,
		Head: []string{"method", "intrusiveness", "precise", "overhead ratio", "worst", "in", "code ratio",
			"memory MB", "most", "record KB", "most"},
		Notes: []string{"overhead, code: geometric means over the programs of user time and of the binary's size, " +
			"to plain. memory: what the peak of the resident memory is more than that of the plain program, mapped " +
			"records included, which the kernel may drop; record: on disk; both medians over the programs. What is " +
			"precise is so with panics and goroutines; HotSpot does not apply."},
	}
	for _, m := range ownMethods {
		sum := &summary{build: m.build}
		for _, r := range rows {
			if r.build == m.build {
				sum.add(r)
			}
		}
		if len(sum.rows) == 0 {
			continue
		}
		mean, worst, where := sum.over(func(r *row) float64 { return r.userRatio.Median })
		code, _, _ := sum.over(func(r *row) float64 { return r.binaryRatio })
		memory, most := sum.middle(func(r *row) float64 { return r.memory / (1 << 20) })
		record, largest := sum.middle(func(r *row) float64 { return float64(r.record.Bytes >> 10) })
		t.Add(m.build, m.intrusiveness, m.precise, session.Number(mean, 3), session.Number(worst, 3), where,
			session.Number(code, 2), session.Number(memory, 1), session.Number(most, 1), session.Number(record, 0),
			session.Number(largest, 0))
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// middle returns the median of a figure over the programs, and the largest.
func (s *summary) middle(figure func(*row) float64) (median, most float64) {
	var values []float64
	for _, r := range s.rows {
		values = append(values, figure(r))
	}
	return stats.Median(values), slices.Max(values)
}

// peakOf is the peak of a run's resident memory.
func peakOf(r measure.Run) float64 { return float64(r.Peak) }
