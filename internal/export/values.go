package export

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// A Span is what values are of: the time up to End. If Length is 0, that is since the program began.
type Span struct {
	End    time.Time
	Length time.Duration
}

// Values writes v, the values of p, as [Write] does in the format pprof. A context is one sample with all
// values, also with those that are negative: they have grown less than nothing. The period is that of Go's own profile
// of the same metrics, so that a database keeps both under one name. A sample of places has those of p, not of v.
//
// Samples have the labels of goroutines, one value of each key, and no other ones. Databases take each set of labels
// for a series: where recursion was folded would make hundreds of them. Pyroscope takes one value of each key; then it
// keeps the samples of one of the sets that have become equal.
func Values(w io.Writer, p *profile.Profile, v *cct.Values, usual string, of Span) error {
	x := &pprofExporter{t: v.Tree, out: &pprof.Profile{Period: 1}, locations: make(map[string]*pprof.Location)}
	x.mapping(p)
	x.out.TimeNanos, x.out.DurationNanos = of.End.UnixNano(), int64(of.Length)
	x.out.DefaultSampleType = usual
	for _, t := range v.Types {
		x.out.SampleType = append(x.out.SampleType, &pprof.ValueType{Type: t.Name, Unit: t.Unit})
	}
	if v.Type.Sampled {
		var columns []profile.Column
		for _, t := range v.Types {
			columns = append(columns, *p.Column(t.Name))
		}
		x.places(p, columns)
		return x.out.Write(w)
	}
	x.out.PeriodType = periodOf(v, usual)
	x.funcs = make([]*pprof.Function, len(v.Funcs))
	for i := range v.Nodes {
		if values := valuesAt(v, i); values != nil {
			x.sample(&pprof.Sample{Value: values}, uint32(i))
			x.relabel(v.Tree, uint32(i))
		}
	}
	return x.out.Write(w)
}

// relabel gives the last sample the labels of context n of t alone.
func (x *pprofExporter) relabel(t *cct.Tree, n uint32) {
	s := x.out.Sample[len(x.out.Sample)-1]
	s.Label = nil
	for key, value := range t.LabelsOf(n) {
		setLabel(s, key, value)
	}
}

// periodOf returns what Go's profile of a metric has as the type of its period: that of the heap, of contention, or the
// metric itself.
func periodOf(v *cct.Values, metric string) *pprof.ValueType {
	switch metric {
	case profile.AllocSpace.Name, profile.AllocObjects.Name, profile.InuseSpace.Name, profile.InuseObjects.Name:
		return &pprof.ValueType{Type: "space", Unit: "bytes"}
	case profile.Delay.Name, profile.Contentions.Name:
		return &pprof.ValueType{Type: profile.Contentions.Name, Unit: profile.Contentions.Unit}
	}
	i := slices.IndexFunc(v.Types, func(t profile.Metric) bool { return t.Name == metric })
	return &pprof.ValueType{Type: metric, Unit: v.Types[i].Unit}
}

// valuesAt returns the values of node i, nil if all are 0.
func valuesAt(v *cct.Values, i int) []int64 {
	values, any := make([]int64, len(v.Types)), false
	for k := range values {
		values[k] = int64(v.Counts[k][i])
		any = any || values[k] != 0
	}
	if !any {
		return nil
	}
	return values
}

// Text writes the contexts with the largest values as text, in the form of Go's profiles with debug=1: the numbers of a
// context, and its stack below. The first metric decides. most is how many; what the others have is added up.
func Text(w io.Writer, v *cct.Values, most int, of Span) error {
	type context struct {
		node   uint32
		values []int64
	}
	var list []context
	sums := make([]int64, len(v.Types))
	for i := range v.Nodes {
		if values := valuesAt(v, i); values != nil {
			list = append(list, context{uint32(i), values})
			add(sums, values)
		}
	}
	slices.SortFunc(list, func(a, b context) int {
		return cmp.Or(slices.Compare(b.values, a.values), cmp.Compare(a.node, b.node))
	})
	b := bufio.NewWriter(w)
	since := "since the program began"
	if of.Length > 0 {
		since = "in " + of.Length.Round(time.Millisecond).String()
	}
	contexts := "contexts"
	if len(list) == 1 {
		contexts = "context"
	}
	fmt.Fprintf(b, "%s, %s, in %d %s\n", amounts(v, sums), since, len(list), contexts)
	shown := list[:min(most, len(list))]
	for _, c := range shown {
		fmt.Fprintf(b, "\n%s\n", strings.Trim(fmt.Sprint(c.values), "[]"))
		for _, f := range v.Stack(c.node) {
			fmt.Fprintf(b, "#\t%s%s\n", f.Func, where(f))
		}
	}
	if rest := list[len(shown):]; len(rest) > 0 {
		clear(sums)
		for _, c := range rest {
			add(sums, c.values)
		}
		fmt.Fprintf(b, "\n%d more contexts, with %s\n", len(rest), amounts(v, sums))
	}
	return b.Flush()
}

// add adds values to sums.
func add(sums, values []int64) {
	for k, n := range values {
		sums[k] += n
	}
}

// amounts returns numbers with what they are of.
func amounts(v *cct.Values, sums []int64) string {
	var list []string
	for k, t := range v.Types {
		text := fmt.Sprintf("%s %d", t.Name, sums[k])
		if t.Unit != "count" {
			text += " " + t.Unit
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// where returns how a frame was entered, if not by a call, and its place.
func where(f cct.Frame) (text string) {
	if f.Via != cct.ViaCall {
		text = " (" + f.Via.String() + ")"
	}
	if f.File != "" {
		text += fmt.Sprintf("\t%s:%d", f.File, f.Line)
	}
	return text
}
