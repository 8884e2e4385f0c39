package cli

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/stemma-go/stemma/internal/ids"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/profile"
)

// infoCommand shows the raw profile, before package cct has interpreted it.
func infoCommand() *command {
	return &command{
		name:  "info",
		args:  "[-text] [FILE|LIVEDIR...]",
		short: "show where a profile comes from and what is in it",
		long: `Info prints the processes, sizes and losses of a profile as it was recorded,
before inlined calls are expanded. With -text it prints the whole profile in
the text form that profile/FORMAT.md describes.
`,
		flags: func(fs *flag.FlagSet) { infoFlags(fs) },
		pages: true,
		run:   runInfo,
	}
}

// infoFlags declares the flags, for parsing and for the help text.
func infoFlags(fs *flag.FlagSet) *bool {
	return fs.Bool("text", false, "print the text form")
}

// runInfo prints the profile itself, not its expansion: it helps when the two
// seem to disagree.
func runInfo(e *env, args []string) error {
	fs := flag.NewFlagSet("info", flag.ContinueOnError)
	text := infoFlags(fs)
	paths, err := parseMixed(e, fs, args)
	if err != nil {
		return err
	}
	rec, err := loadRecords(paths)
	if err != nil {
		return err
	}
	p, err := rec.merged()
	if err != nil {
		return err
	}
	if *text {
		return p.WriteText(e.stdout)
	}
	w := bufio.NewWriter(e.stdout)
	printRecords(w, "", rec.sources)
	printInfo(w, p)
	return w.Flush()
}

// printContextsInfo prints what a program recorded to decode its context IDs.
func printContextsInfo(w io.Writer, p *record.Record) {
	c := p.IDs
	var events uint64
	err := c.EventCounts(func(e *ids.EventCount) error { events += e.Count; return nil })
	fmt.Fprintf(w, "text        %#x\n", c.Text)
	if c.Log != nil {
		fmt.Fprintf(w, "log         %d %s\nversions    %d\n", c.Log.Entries, noun(c.Log.Entries, "entry", "entries"), len(c.Interned)-1)
	} else {
		fmt.Fprintf(w, "epochs      %d\ninterned    %d\nstarted     from %v\n", len(c.Dict.Epochs)-1, len(c.Interned)-1, c.Stats.Start)
	}
	fmt.Fprintf(w, "code        %d %s\nevents      %d\n", len(c.Code), noun(len(c.Code), "function"), events)
	if err != nil {
		fmt.Fprintf(w, "warning: %v\n", err)
	}
}

// printInfo prints what was recorded, in physical terms: nodes, counters and
// function records, and not contexts.
func printInfo(w io.Writer, p *record.Record) {
	for _, proc := range p.Processes {
		fmt.Fprintf(w, "command     %q\n", proc.Args)
		if proc.Run != 0 {
			fmt.Fprintf(w, "run         %016x\n", proc.Run)
		}
		fmt.Fprintf(w, "pid         %d\n", proc.PID)
		if !proc.Start.IsZero() {
			fmt.Fprintf(w, "start       %s\n", proc.Start.Format(time.RFC3339Nano))
		}
		recursion := "folded"
		if proc.Full {
			recursion = "full"
		}
		fmt.Fprintf(w, "go          %s\nengine      %s\nrecursion   %s\n", profile.Printable(proc.GoVersion), profile.Printable(proc.Engine), recursion)
		if s := proc.Sampling; s != nil {
			fmt.Fprintf(w, "sampler     %s\n", samplingCounters(s))
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
		len(p.Nodes), counters(p), len(p.Funcs), sites, noun(sites, "call site"), inlined, noun(inlined, "inlined call"))
	for _, line := range warnings(p.Profile) {
		fmt.Fprintf(w, "warning: %s\n", line)
	}
}

// counters returns how many counters the nodes have.
func counters(p *record.Record) (n int) {
	for _, node := range p.Nodes {
		n += int(p.Funcs[node.Func].Counters)
	}
	return n
}
