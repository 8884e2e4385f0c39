// Package export writes profiles for other tools.
package export

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
)

// errNoCounts is the error of a record that has nothing to export.
var errNoCounts = errors.New("a record of context IDs has no counts to export; see stemma decode and stemma events")

// Command is for looking at a profile with tools that exist already.
func Command() *base.Command {
	return &base.Command{
		Name:  "export",
		Args:  "[-format FORMAT] [-min PERCENT] [-o FILE] [FILE|LIVEDIR...]",
		Short: "write a profile in the format of another tool",
		Long: `Export writes the calling context tree as
	pprof       for go tool pprof: samples of type calls, with inlined frames
	pgo         for go build -pgo: calls, by their places
	folded      for flamegraph.pl and similar tools: one line for each context
	speedscope  for speedscope.app
	callgrind   for kcachegrind: callers and callees with true call counts
	parquet     for DuckDB, ClickHouse and Spark: tables of contexts and of all values, in
	            the directory that -o names; this is done by stemma-fleet

With -request=ID it writes the stacks of the samples that the program asked for under
that identifier by stemma.Sample or stemma.SampleLabeled.

A frame [go] stands between the function with a go statement and the one it starts.
Without a profile it takes the newest here, as report does.
`,
		Flags: func(fs *flag.FlagSet) { new(exportOptions).declare(fs) },
		Run:   runExport,
	}
}

// exportOptions are the flags of export.
// min is a percentage of all calls, out the empty string for standard output.
type exportOptions struct {
	format, out string
	metric      string
	min         float64
	request     report.RequestID
	store       outside.Store
}

// declare is called for parsing, and for the help text with options that are
// thrown away; so the two cannot differ.
func (o *exportOptions) declare(fs *flag.FlagSet) {
	base.ChoiceVar(fs, &o.format, "format", "pprof", "write `FORMAT`: "+strings.Join(formats(), ", "), formats)
	base.ChoiceVar(fs, &o.metric, "metric", "",
		"write `METRIC`: "+report.MetricsHelp()+
			"; by default the first of these that was recorded (pprof gets all that were counted, or all that "+
			"were sampled)", report.Metrics)
	fs.Func("request", "write the samples that the program asked for under identifier `ID`", o.request.Set)
	fs.StringVar(&o.out, "o", "", "write to `FILE`; without -o, or with -, to standard output")
	o.store.Declare(fs)
	fs.Float64Var(&o.min, "min", 0,
		"combine subtrees with less than `PERCENT` of all calls as [trimmed]; by default none, but of a tree that go "+
			"tool pprof could not open, in the format pprof, the smallest")
}

// openable returns t, or as much of it as go tool pprof can open, and reports that.
func openable(stderr io.Writer, t *cct.Tree) *cct.Tree {
	least := export.Openable(t, export.MostFrames)
	if least == 1 {
		return t
	}
	fmt.Fprintf(stderr, "stemma: go tool pprof could not open all %s; subtrees with less than %s are combined as "+
		"[trimmed]; -min=0 leaves them\n", humanize.Plural(t.Totals().Contexts, "context"),
		humanize.Amount(t.Type, least)+" "+t.Type.Name)
	return t.Trim(least)
}

// parquet is the format that another program writes.
const parquet = "parquet"

// formats returns what -format takes.
func formats() []string {
	list := append(export.Formats(), parquet)
	slices.Sort(list)
	return list
}

// runExport writes a file only when the whole of it could be made; standard
// output gets it piece by piece.
// The format is checked when it is written, behind the reading: its error lists
// what there is. Trimming keeps the sum of all calls.
func runExport(e *base.Env, args []string) error {
	var o exportOptions
	fs := flag.NewFlagSet("export", flag.ContinueOnError)
	o.declare(fs)
	paths, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	all := false
	fs.Visit(func(f *flag.Flag) { all = all || f.Name == "min" })
	base.CurrentMetrics(e.Stderr, &o.metric)
	if !(o.min >= 0 && o.min <= 100) { // and it is a number
		return base.Usagef("export: -min: have %g, want 0 to 100", o.min)
	}
	if o.format == parquet {
		if err := base.OnlyFlags(fs, "tables", append([]string{"format", "o"}, outside.StoreFlags...)...); err != nil {
			return err
		}
		if o.out == "" {
			return base.Usagef("export: tables are files in a directory; name it with -o")
		}
		return o.store.Parquet(e, o.out, paths)
	}
	if !slices.Contains(export.Formats(), o.format) {
		return base.Usagef("export: -format=%s: no such format (have %s)", o.format, strings.Join(formats(), ", "))
	}
	if o.out == "-" {
		o.out = ""
	}
	if o.format == "pprof" && o.out == "" {
		if err := base.RefuseTerminal(e.Stdout, "export: the format pprof"); err != nil {
			return err
		}
	}
	if paths, err = o.store.Paths(e, "export", paths); err != nil {
		return err
	}
	work := progress.Begin(e.Stderr, "export")
	defer work.End()
	rec, p, err := store.LoadCounts(paths, errNoCounts)
	if rec != nil {
		store.PrintSources(work.Output(e.Stderr), "stemma: ", rec.Sources)
	}
	if err != nil {
		return err
	}
	for _, line := range report.Warnings(p.Profile) {
		fmt.Fprintf(work.Output(e.Stderr), "stemma: warning: %s\n", line)
	}
	if o.request.Given {
		list, err := o.request.Of(p.Profile)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		p.Profile = p.OfRequests(list)
	}
	defer progress.Step(report.Adding(p), "", nil)()
	t, err := cct.Of(p.Profile, o.metric)
	if err != nil {
		return base.Usagef("export: %w%s", err, humanize.DidYouMean("", o.metric, report.Metrics()))
	}
	if o.min > 0 {
		t = t.Trim(uint64(o.min / 100 * float64(t.Totals().Calls)))
	} else if o.format == "pprof" && !all && !t.Type.Sampled {
		t = openable(work.Output(e.Stderr), t)
	}
	write := func(w io.Writer) error { return export.Write(w, o.format, p.Profile, t) }
	if o.out == "" {
		work.End()
		return write(e.Stdout)
	}
	mode := safefile.Private // for the command line
	if o.format == "pgo" || o.format == "folded" {
		mode = safefile.Usual // it has none
	}
	return safefile.Write(o.out, mode, write)
}
