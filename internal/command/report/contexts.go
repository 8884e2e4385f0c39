package report

import (
	"fmt"
	"io"
	"time"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
)

// reportContexts prints what an engine with context IDs says about itself: the
// columns of table 1 of the DACCE paper first.
func reportContexts(w io.Writer, p *record.Record) {
	s := p.IDs.Stats
	for _, line := range ProcessLines(p.Profile) {
		fmt.Fprintf(w, "%s\n", line)
	}
	for _, line := range Warnings(p.Profile) {
		fmt.Fprintf(w, "warning: %s\n", line)
	}
	if p.IDs.Log != nil {
		reportLucce(w, p.IDs)
		return
	}
	fmt.Fprintf(w, "\n%10s %10s %12s %12s %7s %8s %14s\n", "nodes", "edges", "maxID", "ccStack/s", "depth", "epochs",
		"costs(us)")
	perSecond := "-"
	if s.Elapsed > 0 {
		perSecond = humanize.Commas(uint64(float64(s.Pushes) / s.Elapsed.Seconds()))
	}
	fmt.Fprintf(w, "%10s %10s %12s %12s %7.2f %8s %14s\n\n", humanize.Commas(s.Functions), humanize.Commas(s.Edges),
		humanize.Commas(s.MaxID), perSecond,
		s.MeanDepth, humanize.Commas(s.Reencodings), humanize.Commas(uint64(s.ReencodeTime.Microseconds())))
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-14s "+format+"\n", append([]any{name}, args...)...)
	}
	before := ""
	if s.GraphEdges > 0 {
		before = " beside those taken out before the run"
	}
	row("edges", "%s encoded, %s%s, %s left out to keep ids small, %s of dynamic callees",
		humanize.Commas(s.Encoded), humanize.Plural(s.BackEdges, "back edge"), before, humanize.Commas(s.LeftOut),
		humanize.Plural(s.Groups, "group"))
	row("ccStack", "%s, mean depth %.2f, deepest %s", humanize.Plural(s.Pushes, "push", "pushes"), s.MeanDepth,
		humanize.Commas(s.MaxDepth))
	row("slow entries", "%s", humanize.Commas(s.Slow))
	row("re-encoding", "%s, %v in all, longest pause %v, %s rewritten",
		humanize.Plural(s.Reencodings, "time"), s.ReencodeTime.Round(time.Microsecond),
		s.MaxPause.Round(time.Microsecond), humanize.Plural(s.Rewrites, "goroutine"))
	if s.Start != ids.StartNothing {
		more := s.Edges - min(s.GraphTaken, s.Edges)
		row("started from", "%v: %s, %s; %s of them %s given; %s more %s seen", s.Start,
			humanize.Plural(s.GraphNodes, "function"),
			humanize.Plural(s.GraphEdges, "edge"), humanize.Commas(s.GraphTaken), humanize.Noun(s.GraphTaken, "was",
				"were"),
			humanize.Commas(more), humanize.Noun(more, "was", "were"))
	}
	row("interned", "%s", humanize.Plural(len(p.IDs.Interned)-1, "entry", "entries"))
	row("truncated", "%s", humanize.Plural(s.Truncated, "context"))
	if s.Elapsed > 0 {
		row("ran for", "%v", s.Elapsed.Round(time.Millisecond))
	}
}

// reportLucce prints what engine lucce says about itself.
func reportLucce(w io.Writer, c *ids.Encoding) {
	s := c.Stats
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-14s "+format+"\n", append([]any{name}, args...)...)
	}
	fmt.Fprintln(w)
	row("call graph", "%s, %s", humanize.Plural(s.Functions, "function"), humanize.Plural(s.Edges, "edge"))
	row("log", "%s", humanize.Plural(c.Log.Entries, "entry", "entries"))
	row("numbering", "%s; %s ids without bound, in %s; largest numCC of the others %s", humanize.Plural(s.Encoded,
		"step"),
		humanize.Plural(s.BackEdges, "function takes", "functions take"), humanize.Plural(s.Groups, "group"),
		humanize.Commas(s.MaxID+1))
	kinds := map[uint8]int{}
	for _, n := range c.Interned[1:] {
		kinds[n.Kind]++
	}
	row("versions", "%s: %s at roots, %s at go statements, %s where ids began again, %s at faults, %s of "+
		"captured contexts",
		humanize.Commas(uint64(len(c.Interned)-1)), humanize.Commas(uint64(kinds[layout.InternRoot])),
		humanize.Commas(uint64(kinds[layout.InternGo])),
		humanize.Commas(uint64(kinds[layout.InternSite])),
		humanize.Commas(uint64(kinds[layout.InternFault]+kinds[layout.InternCall])),
		humanize.Commas(uint64(kinds[layout.InternAt])))
	row("slow entries", "%s", humanize.Commas(s.Slow))
	row("truncated", "%s", humanize.Plural(s.Truncated, "context"))
	if s.Elapsed > 0 {
		row("ran for", "%v", s.Elapsed.Round(time.Millisecond))
	}
}
