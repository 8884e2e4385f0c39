package cli

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/goroot/rt"
	"github.com/stemma-go/stemma/internal/ids"
	"github.com/stemma-go/stemma/internal/record"
)

// loadContexts reads what load reads. Profiles without context IDs are left out, but there
// must be one with them.
func loadContexts(paths []string) (*records, error) {
	r, err := loadRecords(paths)
	if err != nil {
		return nil, err
	}
	r.profiles = slices.DeleteFunc(r.profiles, func(p *record.Record) bool { return p.IDs == nil })
	if len(r.profiles) == 0 {
		return nil, in(r.sources[0].path, errNoContexts)
	}
	return r, nil
}

// A stackFormat is how a command prints contexts.
type stackFormat string

// The formats of contexts.
const (
	formatLine  stackFormat = "line"  // one line, all frames
	formatShort stackFormat = "short" // one line, the inner frames and the root
	formatStack stackFormat = "stack" // two lines for each frame
)

// shortFrames is how many frames formatShort shows.
const shortFrames = 6

// check returns an error for a format that does not exist.
func (f stackFormat) check() error {
	switch f {
	case formatLine, formatShort, formatStack:
		return nil
	}
	return usageError("-format=%s: no such format (have line, short, stack)", f)
}

// append appends a context. In formatStack it is several lines with the prefix.
func (f stackFormat) append(b []byte, s decode.Stack, prefix string) []byte {
	switch f {
	case formatStack:
		return s.AppendStack(b, prefix)
	case formatShort:
		return s.AppendLine(b, shortFrames)
	}
	return s.AppendLine(b, -1)
}

// reportContexts prints what an engine with context IDs says about itself: the
// columns of table 1 of the DACCE paper first.
func reportContexts(w io.Writer, p *record.Record) {
	s := p.IDs.Stats
	for _, proc := range p.Processes {
		fmt.Fprintf(w, "%s\n", describe(proc))
	}
	for _, line := range warnings(p.Profile) {
		fmt.Fprintf(w, "warning: %s\n", line)
	}
	if p.IDs.Log != nil {
		reportLucce(w, p.IDs)
		return
	}
	fmt.Fprintf(w, "\n%10s %10s %12s %12s %7s %8s %14s\n", "nodes", "edges", "maxID", "ccStack/s", "depth", "epochs", "costs(us)")
	perSecond := "-"
	if s.Elapsed > 0 {
		perSecond = commas(uint64(float64(s.Pushes) / s.Elapsed.Seconds()))
	}
	fmt.Fprintf(w, "%10s %10s %12s %12s %7.2f %8s %14s\n\n", commas(s.Functions), commas(s.Edges), commas(s.MaxID), perSecond,
		s.MeanDepth, commas(s.Reencodings), commas(uint64(s.ReencodeTime.Microseconds())))
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-14s "+format+"\n", append([]any{name}, args...)...)
	}
	before := ""
	if s.GraphEdges > 0 {
		before = " beside those taken out before the run"
	}
	row("edges", "%s encoded, %s%s, %s left out to keep ids small, %s of dynamic callees",
		commas(s.Encoded), plural(s.BackEdges, "back edge"), before, commas(s.LeftOut), plural(s.Groups, "group"))
	row("ccStack", "%s, mean depth %.2f, deepest %s", plural(s.Pushes, "push", "pushes"), s.MeanDepth, commas(s.MaxDepth))
	row("slow entries", "%s", commas(s.Slow))
	row("re-encoding", "%s, %v in all, longest pause %v, %s rewritten",
		plural(s.Reencodings, "time"), s.ReencodeTime.Round(time.Microsecond), s.MaxPause.Round(time.Microsecond), plural(s.Rewrites, "goroutine"))
	if s.Start != ids.StartNothing {
		more := s.Edges - min(s.GraphTaken, s.Edges)
		row("started from", "%v: %s, %s, of which %s %s given; %s more %s seen", s.Start, plural(s.GraphNodes, "function"),
			plural(s.GraphEdges, "edge"), commas(s.GraphTaken), noun(s.GraphTaken, "was", "were"), commas(more), noun(more, "was", "were"))
	}
	row("interned", "%s", plural(len(p.IDs.Interned)-1, "entry", "entries"))
	row("truncated", "%s", plural(s.Truncated, "context"))
	if s.Elapsed > 0 {
		row("ran for", "%v", s.Elapsed.Round(time.Millisecond))
	}
}

// reportLucce prints what engine lucce says about itself.
func reportLucce(w io.Writer, c *ids.Record) {
	s := c.Stats
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-14s "+format+"\n", append([]any{name}, args...)...)
	}
	fmt.Fprintln(w)
	row("call graph", "%s, %s", plural(s.Functions, "function"), plural(s.Edges, "edge"))
	row("log", "%s", plural(c.Log.Entries, "entry", "entries"))
	row("numbering", "%s; %s ids without bound, in %s; largest numCC of the others %s", plural(s.Encoded, "step"),
		plural(s.BackEdges, "function takes", "functions take"), plural(s.Groups, "group"), commas(s.MaxID+1))
	kinds := map[uint8]int{}
	for _, n := range c.Interned[1:] {
		kinds[n.Kind]++
	}
	row("versions", "%s: %s at roots, %s at go statements, %s where ids began again, %s at faults, %s of captured contexts",
		commas(uint64(len(c.Interned)-1)), commas(uint64(kinds[rt.InternRoot])), commas(uint64(kinds[rt.InternGo])),
		commas(uint64(kinds[rt.InternSite])), commas(uint64(kinds[rt.InternFault]+kinds[rt.InternCall])), commas(uint64(kinds[rt.InternAt])))
	row("slow entries", "%s", commas(s.Slow))
	row("truncated", "%s", plural(s.Truncated, "context"))
	if s.Elapsed > 0 {
		row("ran for", "%v", s.Elapsed.Round(time.Millisecond))
	}
}

// summarizeContexts prints what run says about a program with context IDs.
func summarizeContexts(e *env, p *record.Record, outFile string) {
	s := p.IDs.Stats
	if l := p.IDs.Log; l != nil {
		fmt.Fprintf(e.stderr, "stemma: %s · %s · %s in the log · %s\n", plural(s.Functions, "function"), plural(s.Edges, "edge"),
			plural(l.Entries, "entry", "entries"), plural(len(p.IDs.Interned)-1, "version"))
		contextsWritten(e, p, outFile)
		return
	}
	fmt.Fprintf(e.stderr, "stemma: %s · %s, %s encoded · %s in %v · ids below %s\n", plural(s.Functions, "function"), plural(s.Edges, "edge"),
		commas(s.Encoded), plural(s.Reencodings, "re-encoding"), s.ReencodeTime.Round(time.Microsecond), commas(s.MaxID+1))
	contextsWritten(e, p, outFile)
}

// contextsWritten prints the end of the summary.
func contextsWritten(e *env, p *record.Record, outFile string) {
	for _, line := range warnings(p.Profile) {
		fmt.Fprintf(e.stderr, "stemma: warning: %s\n", line)
	}
	fmt.Fprintf(e.stderr, "stemma: wrote %s; see 'stemma decode %s <LOG' and 'stemma events %s'\n", outFile, outFile, outFile)
}
