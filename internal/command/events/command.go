package events

import (
	"bufio"
	"flag"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/decode"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
)

// Command shows what a program recorded with -events.
func Command() *base.Command {
	return &base.Command{
		Name: "events",
		Args: "[-kind K,...] [-by count|sum|max] [-histogram] [-log] [-fingerprint] [-top N] [-format F] [-json] " +
			"[FILE|LIVEDIR]",
		Short: "show a program's events by calling context",
		Long: `Events prints the events that stemma build -events=... made the program record.
For each kind and calling context it prints their number, and the sum and the
largest of their amounts. -histogram shows the distribution of the amounts by
powers of two.

	kind    amount
	alloc   bytes that were asked for
	block   time for which the goroutine waited
	go      -
	panic   -
	error   - (errors made with stemma.Errorf and stemma.WrapError)

Contexts are added up after decoding, so one that had several IDs is one line.
FILE is a sealed file or a live directory, by default the newest here, as with report.
Formats are those of stemma decode.

With -fingerprint contexts that have one fingerprint are one line: it is the same in
every process and build, and knows functions but no lines.

With -log it prints the newest events one by one, the last one last: the time
since the program began, the kind, the amount (for go, the number of the goroutine)
and the context. The program must also be built with -event-log.

With -json it prints one JSON object for each line: kind, count and stack, and
where there are amounts sum, max and unit (bytes or nanoseconds) and histogram, a
list of {from, to, count}; with -log time in nanoseconds, kind, value, unit and
stack. Where the context is known there are fingerprint and fingerprintLines, the one
with the lines of the calls. What is missing is said on standard error.
`,
		Flags: func(fs *flag.FlagSet) { declareEvents(fs, new(Options)) },
		Pages: true,
		Run:   runEvents,
	}
}

func declareEvents(fs *flag.FlagSet, o *Options) {
	fs.StringVar(&o.Kinds, "kind", "", "only events of these `KINDS`: "+strings.Join(engine.EventKinds(), ", "))
	base.ChoiceVar(fs, &o.By, "by", "count", "sort by `WHAT`: count, sum or max", base.Of("count", "sum", "max"))
	fs.BoolVar(&o.Histogram, "histogram", false, "show how the amounts are distributed")
	fs.BoolVar(&o.Log, "log", false, "print the newest events one by one")
	fs.BoolVar(&o.Fingerprint, "fingerprint", false, "add contexts up by their fingerprints, and print these")
	fs.IntVar(&o.Top, "top", 20, "list at most `N` contexts or events; -1 for all")
	base.ChoiceVar(fs, &o.Format, "format", "",
		"print stacks as `F`: line, short or stack (default short; line with -json)",
		base.Of(string(decode.FormatLine), string(decode.FormatShort), string(decode.FormatStack)))
	fs.BoolVar(&o.JSON, "json", false, "print JSON, one object for each context or event")
	o.Store.Declare(fs)
}

// checkEvents returns an error of usage, and fills in the format.
func checkEvents(fs *flag.FlagSet, o *Options) error {
	if o.By != "count" && o.By != "sum" && o.By != "max" {
		return base.Usagef("events: -by=%s: no such order (have count, sum, max)", o.By)
	}
	for kind := range strings.SplitSeq(o.Kinds, ",") {
		if kind != "" && !slices.Contains(engine.EventKinds(), kind) {
			return base.Usagef("events: -kind=%s: no such kind (have %s)", kind,
				strings.Join(engine.EventKinds(), ", "))
		}
	}
	if o.Fingerprint && o.Format != "" {
		return base.Usagef("events: -fingerprint prints functions, and no stacks; leave -format out")
	}
	if o.Format == "" {
		o.Format = string(decode.FormatShort)
		if o.JSON {
			o.Format = string(decode.FormatLine)
		}
	}
	if err := decode.Format(o.Format).Check(); err != nil {
		return err
	}
	switch {
	case o.Log:
		return base.OnlyFlags(fs, "a log",
			append([]string{"kind", "log", "top", "format", "json"}, outside.StoreFlags...)...)
	case o.JSON:
		return base.OnlyFlags(fs, "JSON, which always has histograms",
			append([]string{"kind", "by", "top", "format", "fingerprint", "json"}, outside.StoreFlags...)...)
	}
	return nil
}

// runEvents reads at most one record: a context is one of one program. A directory
// of live directories counts as one; the processes in it are added up.
func runEvents(e *base.Env, args []string) error {
	var o Options
	fs := flag.NewFlagSet("events", flag.ContinueOnError)
	declareEvents(fs, &o)
	paths, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	if err := checkEvents(fs, &o); err != nil {
		return err
	}
	if len(paths) > 1 {
		return base.Usagef("events: have %s, want one; a directory of records counts as one",
			humanize.Plural(len(paths), "record"))
	}
	if paths, err = o.Store.Paths(e, "events", paths); err != nil {
		return err
	}
	rec, err := Load(paths)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(e.Stdout)
	if !o.JSON {
		store.PrintSources(w, "", rec.Sources)
	}
	show := ShowSums
	if o.Log {
		show = ShowLog
	}
	if err := show(w, e.Stderr, rec, &o); err != nil {
		return store.In(rec.Sources[0].Path, err)
	}
	return w.Flush()
}
