package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/profile"
)

// Stability prints how much of each value lies in contexts that vary in the runs of p, and which
// these are. p was made by [profile.Repeats] and written to outFile.
func Stability(w io.Writer, p *profile.Profile, runs int, outFile string) {
	v := cct.ValuesOf(p, false)
	for k, t := range v.Types {
		by := slices.IndexFunc(v.Types, func(u profile.Metric) bool { return u.Name == t.Varying().Name })
		if by >= 0 {
			stabilityOf(w, v, k, by, runs, outFile)
		}
	}
}

// stabilityOf prints it for value k, whose variation is value by.
func stabilityOf(w io.Writer, v *cct.Values, k, by, runs int, outFile string) {
	var all, stable uint64
	var vary []int
	for i, n := range v.Counts[k] {
		all += n
		if v.Counts[by][i] == 0 {
			stable += n
		} else {
			vary = append(vary, i)
		}
	}
	t := v.Types[k]
	amount := humanize.Plural(all, "call")
	if t.Name != profile.Calls.Name {
		amount = humanize.Amount(t, all) + " of " + t.Name
	}
	line := fmt.Sprintf("stemma: %s: %s, %s in contexts that do not vary", humanize.Plural(runs, "run"), amount,
		percentAtLeast(stable, all))
	if len(vary) == 0 {
		fmt.Fprintln(w, line)
		return
	}
	fmt.Fprintf(w, "%s; %s %s\n%15s  context\n", line, humanize.Plural(len(vary), "context"),
		humanize.Noun(len(vary), "does", "do"), "varies by")
	slices.SortStableFunc(vary, func(a, b int) int { return cmp.Compare(v.Counts[by][b], v.Counts[by][a]) })
	for _, i := range vary[:min(len(vary), topPaths)] {
		fmt.Fprintf(w, "%15s  %s\n", humanize.Amount(t, v.Counts[by][i]), ContextLine(v.Stack(uint32(i))))
	}
	fmt.Fprintf(w, "stemma: 'stemma report -metric=%s -contexts %s' lists all; diff leaves them out\n",
		base.Typed(t.Varying().Name), base.Typed(outFile))
}

// percentAtLeast returns a share, rounded down: 100 % means all.
func percentAtLeast(part, all uint64) string {
	if part == all {
		return "100%"
	}
	return fmt.Sprintf("%.2f%%", math.Floor(1e4*float64(part)/float64(all))/100)
}
