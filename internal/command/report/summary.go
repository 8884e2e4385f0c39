package report

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/profile"
)

// summarizeContexts prints what run says about a program with context IDs.
func summarizeContexts(w io.Writer, p *record.Record, outFile string) {
	s := p.IDs.Stats
	if l := p.IDs.Log; l != nil {
		fmt.Fprintf(w, "stemma: %s · %s · %s in the log · %s\n", humanize.Plural(s.Functions, "function"),
			humanize.Plural(s.Edges, "edge"),
			humanize.Plural(l.Entries, "entry", "entries"), humanize.Plural(len(p.IDs.Interned)-1, "version"))
		contextsWritten(w, p, outFile)
		return
	}
	fmt.Fprintf(w, "stemma: %s · %s, %s encoded · %s in %v · ids below %s\n", humanize.Plural(s.Functions, "function"),
		humanize.Plural(s.Edges, "edge"),
		humanize.Commas(s.Encoded), humanize.Plural(s.Reencodings, "re-encoding"),
		s.ReencodeTime.Round(time.Microsecond),
		humanize.Commas(s.MaxID+1))
	contextsWritten(w, p, outFile)
}

// contextsWritten prints the end of the summary.
func contextsWritten(w io.Writer, p *record.Record, outFile string) {
	for _, line := range Warnings(p.Profile) {
		fmt.Fprintf(w, "stemma: warning: %s\n", line)
	}
	fmt.Fprintf(w, "stemma: wrote %s; see 'stemma decode %[2]s <LOG' and 'stemma events %[2]s'\n",
		profile.Printable(outFile), base.Typed(outFile))
}

// How many functions and paths the summary of a run shows.
const (
	topFunctions = 6
	topPaths     = 6
)

// Summarize prints what a person wants to know of a record that was written to outFile.
func Summarize(w io.Writer, p *record.Record, outFile string) error {
	if p.IDs != nil {
		summarizeContexts(w, p, outFile)
		return nil
	}
	t, err := cct.Of(p.Profile, "")
	if err != nil {
		return err
	}
	r := &reporter{w: w, t: t, totals: t.Totals()}
	for _, line := range SamplingLines(p.Profile) {
		r.printf("stemma: %s\n", line)
	}
	if !t.Type.Sampled {
		r.printf("stemma: %s\n", SummaryLine(t, r.totals))
	}
	for _, line := range Warnings(p.Profile) {
		r.printf("stemma: warning: %s\n", line)
	}
	if err := r.overview(); err != nil {
		return err
	}
	r.printf("stemma: wrote %s; see 'stemma report %s'\n", profile.Printable(outFile), base.Typed(outFile))
	return nil
}

// overview prints what a person wants to know first: the most-called functions, and the call paths that lead to most of
// the calls. One context on its own has few of them.
func (r *reporter) overview() error {
	list, err := r.t.By("function")
	list = slices.DeleteFunc(list, func(g cct.Group) bool { return g.Self == 0 })
	if err != nil || len(list) == 0 {
		return err
	}
	r.groupHead("function")
	for _, g := range list[:min(topFunctions, len(list))] {
		r.groupLine(g)
	}
	r.printf("%15s %7s  call path\n", "total", "%")
	below := r.t.Inclusive()
	for _, n := range r.t.Cover(topPaths) {
		r.printf("%15s %s  %s\n", r.amount(below[n]), r.percent(below[n]), ContextLine(r.t.Stack(n)))
	}
	return nil
}

// Widths of contextLine.
const (
	contextWidth  = 100
	contextFrames = 4
)

// ContextLine returns a context in one line, innermost first. Of a long one it
// shows the innermost frames, how many are left out, and the outermost.
func ContextLine(stack []cct.Frame) string {
	const arrow = " ← "
	line := stack[0].Func
	last := len(stack) - 1
	for i := 1; i <= last; i++ {
		next := arrow + stack[i].Func
		if left := last - i; left > 1 && (i > contextFrames || len(line)+len(next) > contextWidth) {
			return line + fmt.Sprintf("%s%d more%s%s", arrow, left, arrow, stack[last].Func)
		}
		line += next
	}
	return line
}
