package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/profile"
)

// printContextsInfo prints what a program recorded to decode its context IDs.
func printContextsInfo(w io.Writer, p *record.Record) {
	c := p.IDs
	var events uint64
	err := c.EventCounts(func(e *ids.EventCount) error { events += e.Count; return nil })
	fmt.Fprintf(w, "text        %#x\n", c.Text)
	if c.Log != nil {
		fmt.Fprintf(w, "log         %d %s\nversions    %d\n", c.Log.Entries,
			humanize.Noun(c.Log.Entries, "entry", "entries"), len(c.Interned)-1)
	} else {
		fmt.Fprintf(w, "epochs      %d\ninterned    %d\nstarted     from %v\n", len(c.Dict.Epochs)-1,
			len(c.Interned)-1, c.Stats.Start)
	}
	fmt.Fprintf(w, "code        %d %s\nevents      %d\n", len(c.Code), humanize.Noun(len(c.Code), "function"), events)
	if err != nil {
		fmt.Fprintf(w, "warning: %v\n", err)
	}
}

// Info prints what was recorded, in physical terms: nodes, counters and
// function records, and not contexts.
func Info(w io.Writer, p *record.Record) {
	for _, proc := range p.Processes {
		fmt.Fprintf(w, "command     %q\n", proc.Args)
		if proc.Run != 0 {
			fmt.Fprintf(w, "run         %016x\n", proc.Run)
		}
		fmt.Fprintf(w, "pid         %d\n", proc.PID)
		if !proc.Start.IsZero() {
			fmt.Fprintf(w, "start       %s\n", proc.Start.Format(time.RFC3339Nano))
		}
		fmt.Fprintf(w, "go          %s\nengine      %s\n", profile.Printable(proc.GoVersion),
			profile.Printable(proc.Engine))
		if e := engine.Lookup(proc.Engine); e == nil || e.Takes("recursion") {
			recursion := "folded"
			if proc.Full {
				recursion = "full"
			}
			fmt.Fprintf(w, "recursion   %s\n", recursion)
		}
		if s := proc.Sampling; s != nil {
			fmt.Fprintf(w, "sampler     %s\n", samplingCounters(s))
		}
		if s := proc.Segment; s != nil {
			fmt.Fprintf(w, "segment     %s\nsegments    %d ended, %d dropped, %d not written in time\n", segmentText(s),
				s.Closed, s.Dropped, s.Failed)
		}
		fmt.Fprintln(w)
	}
	if p.IDs != nil {
		printContextsInfo(w, p)
	}
	var inlined, sites int
	for _, f := range p.Funcs {
		inlined += len(f.Inlined)
		sites += len(f.Sites)
	}
	fmt.Fprintf(w, "nodes       %d\ncounters    %d\nfunctions   %d, with %d %s and %d %s\n",
		len(p.Nodes), counters(p), len(p.Funcs), sites, humanize.Noun(sites, "call site"), inlined,
		humanize.Noun(inlined, "inlined call"))
	if tree, err := cct.Of(p.Profile, ""); err == nil {
		// What nodes and functions become in reports, with inlined calls and natives.
		sum := tree.Totals()
		fmt.Fprintf(w, "expanded    %s of %s\n", humanize.Plural(sum.Contexts, "context"),
			humanize.Plural(sum.Functions, "function"))
	}
	if len(p.Columns) > 0 {
		fmt.Fprintf(w, "metrics     %s\n", metricsOf(p.Profile))
	}
	for _, line := range Warnings(p.Profile) {
		fmt.Fprintf(w, "warning: %s\n", line)
	}
}

// metricsOf lists the metrics of a profile, with units where the name does not tell.
func metricsOf(p *profile.Profile) string {
	var list []string
	for _, c := range p.Columns {
		text := profile.Printable(c.Name)
		if c.Unit != profile.Calls.Unit && c.Unit != c.Name {
			text += " (" + profile.Printable(c.Unit) + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// counters returns how many counters the nodes have.
func counters(p *record.Record) (n int) {
	for _, node := range p.Nodes {
		n += int(p.Funcs[node.Func].Counters)
	}
	return n
}
