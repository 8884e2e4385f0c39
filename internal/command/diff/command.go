package diff

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/command/seal"
	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
	"github.com/stemma-go/stemma/profile"
)

// Command compares two records, and is the gate of a CI job.
func Command() *base.Command {
	return &base.Command{
		Name:  "diff",
		Args:  "[-gate] [-by SCOPE] [-fail-over LIMITS] [-warn-over LIMITS] [-ignore PATTERN] BASE NEW",
		Short: "compare two records, and fail if a metric grew",
		Long: `Diff prints what has changed from BASE to NEW, for each metric that both have. Each
of the two is a sealed file, a live directory, a directory of those, or a text of
'stemma baseline'. Several of them, separated by commas, are added up.

The records may be of different builds. Functions that have moved, and functions
and call sites that only have other lines or numbers, are the same. So is a function
with a new name that calls what the old one called, and is called by the same.

-gate fails if the program costs more. It compares what functions cost with all
that they call. Code may become a function of its own, be put back, move or have
another name, and calls may be exchanged for others that cost less. It is these
limits, for the metrics that both records have:

	calls/cost>1%+10          what a function's calls cost, by 1 % and 10 more; also alloc_objects
	alloc_space/cost>10%+4kB  bytes
	ops/cost>10%+1k           operations

A limit is how much a metric may grow:

	calls>1%                  all calls together, by at most 1 %
	calls@main.*>1000         the calls of all functions of package main together
	calls/function>0          the calls of each function; also /context and /line
	calls/function@main.*>1%+100
	                          each of package main, by 1 % and 100 calls

Pattern and scope may be left out. In a pattern * stands for anything. A number may
end with k, M or G, of bytes with B, kB, MB or GB, of times with ns, us, ms or s.
Several limits have commas between. What the base does not have counts as 0
there: a new function exceeds any percentage, but of a limit with the scope cost.

Two texts that 'stemma test -bench' has printed are compared by benchmark, in their
exact units. A limit names a unit: calls/op>0, or B/op@BenchmarkParse*>1%+64.

What Go does by chance is not compared, unless -chance is given: calls of the
runtime if a cache has no entry, what a sync.Pool calls, waits for locks.

Diff exits with code 3 if a limit of -gate or -fail-over is exceeded, with 1 if it
cannot compare, and with 2 if the command line is wrong. A limit that cannot be
checked, for example because a record lacks something, is an error.

A side may be pyroscope://HOST:PORT?service=NAME&from=48h&until=24h: what 'stemma
collect -to' has pushed to a Pyroscope.
`,
		Flags: func(fs *flag.FlagSet) { declareDiff(fs, new(diffFlags)) },
		Run:   runDiff,
	}
}

// diffFlags are the flags of diff, and what comes of them.
type diffFlags struct {
	Options
	by, metric                 string
	failOver, warnOver, ignore base.List
	json, markdown, annotate   bool
	store                      outside.Store
}

func declareDiff(fs *flag.FlagSet, o *diffFlags) {
	base.ChoiceVar(fs, &o.by, "by", "function",
		"compare by `SCOPE`: function, context or line, which is that of the call",
		base.Of("function", "context", "line"))
	base.ChoiceVar(fs, &o.metric, "metric", "",
		"compare only `METRIC`, as of report, or several, separated by commas; by default all that both sides have",
		report.Metrics)
	fs.Var(&o.failOver, "fail-over", "exit with code 3 if one of `LIMITS` is exceeded")
	fs.Var(&o.warnOver, "warn-over", "warn if one of `LIMITS` is exceeded")
	fs.Var(&o.ignore, "ignore", "leave out functions that match `PATTERN`; may be given several times")
	fs.IntVar(&o.Top, "top", 20, "list at most `N` rows of a metric; -1 for all")
	base.ChoiceVar(fs, &o.Format, "format", "text", "print `FORMAT`: "+strings.Join(Formats, ", "), base.Of(Formats...))
	fs.BoolVar(&o.json, "json", false, "print JSON, the same as -format=json")
	fs.BoolVar(&o.markdown, "markdown", false, "print Markdown, the same as -format=markdown")
	fs.BoolVar(&o.Gate, "gate", false,
		"exit with code 3 if a function costs more, with all that it calls: the limits to begin with, see above")
	fs.BoolVar(&o.Chance, "chance", false,
		"also compare what Go does by chance: misses of caches, pools, waits for locks")
	fs.BoolVar(&o.annotate, "annotate", false,
		"also print what exceeds a limit to standard error, as annotations of GitHub")
	fs.BoolVar(&o.Renames, "renames", true, "look for functions that have another name")
	fs.BoolVar(&o.Repeats, "repeats", false, "records with commas between are runs of the same work, not parts to add "+
		"up: find what varies in them, and do not compare that")
	fs.BoolVar(&o.Force, "force", false, "also compare what does not belong together")
	o.store.Declare(fs)
}

// checkFormat decides how to print. All errors are of usage.
func checkFormat(fs *flag.FlagSet, o *diffFlags) error {
	formatGiven := false
	fs.Visit(func(f *flag.Flag) {
		o.TopGiven = o.TopGiven || f.Name == "top"
		formatGiven = formatGiven || f.Name == "format"
	})
	if o.json && o.markdown || formatGiven && (o.json || o.markdown) {
		return base.Usagef("diff: -json, -markdown and -format exclude each other; give one of them")
	}
	switch {
	case o.json:
		o.Format = "json"
	case o.markdown:
		o.Format = "markdown"
	}
	if !slices.Contains(Formats, o.Format) {
		return base.Usagef("diff: -format: no format %q (have %s)", o.Format, strings.Join(Formats, ", "))
	}
	return nil
}

// checkDiff parses what flags contain. All errors are of usage.
func checkDiff(fs *flag.FlagSet, o *diffFlags) (err error) {
	if err := checkFormat(fs, o); err != nil {
		return err
	}
	if o.Scope, err = diff.ParseScope(o.by); err != nil {
		return base.Usagef("diff: -by: %w", err)
	}
	if o.metric != "" {
		o.Metrics = strings.Split(o.metric, ",")
	}
	for _, f := range []struct {
		name   string
		have   base.List
		limits *[]diff.Limit
	}{{"fail-over", o.failOver, &o.Hard}, {"warn-over", o.warnOver, &o.Soft}} {
		for _, text := range f.have {
			limits, err := diff.ParseLimits(text)
			if err != nil {
				return base.Usagef("diff: -%s: %w", f.name, err)
			}
			*f.limits = append(*f.limits, limits...)
		}
	}
	for _, text := range o.ignore {
		p, err := diff.NewPattern(text)
		if err != nil {
			return base.Usagef("diff: -ignore: %w", err)
		}
		o.Ignored = append(o.Ignored, p)
	}
	if o.annotate && len(o.Hard)+len(o.Soft) == 0 && !o.Gate {
		return base.Usagef("diff: -annotate does nothing without -gate, -fail-over or -warn-over")
	}
	return nil
}

// fetch returns the two sides, with those that are in a store: the new one if the base is given, or else both, and the
// base is what ran as long before.
func (o *diffFlags) fetch(e *base.Env, paths []string) ([]string, error) {
	given, err := o.store.Given("diff")
	if err != nil {
		return nil, err
	}
	if !given {
		return o.local(e, paths)
	}
	now, before := o.store.String(), "as long before"
	o.Stored = make(map[string][]string)
	switch len(paths) {
	case 0:
		o.Stored[before], o.Stored[now], err = o.store.Windows(e, "diff")
		return []string{before, now}, err
	case 1:
		if o.Stored[now], err = o.store.Paths(e, "diff", nil); err != nil {
			return nil, err
		}
		names, err := o.local(e, paths)
		return append(names, now), err
	}
	return nil, base.Usagef("diff: with -store, want at most the base (have %d records)", len(paths))
}

// local returns the sides, with what was fetched of those that are URLs.
func (o *diffFlags) local(e *base.Env, paths []string) (names []string, err error) {
	for _, path := range paths {
		if outside.IsPyroscope(path) {
			var files []string
			if files, err = outside.FromPyroscope(e, path); err != nil {
				return nil, err
			}
			if o.Stored == nil {
				o.Stored = make(map[string][]string)
			}
			if path = profile.Printable(base.WithoutCredentials(path)); len(names) > 0 && path == names[0] {
				path += " (the new one)" // as somebody else, say
			}
			o.Stored[path] = files
		}
		names = append(names, path)
	}
	return names, nil
}

func runDiff(e *base.Env, args []string) error {
	var o diffFlags
	fs := flag.NewFlagSet("diff", flag.ContinueOnError)
	declareDiff(fs, &o)
	paths, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	if paths, err = o.fetch(e, paths); err != nil {
		return err
	}
	if len(paths) != 2 {
		return base.Usagef("diff: want two records, the base and the new one (have %d)", len(paths))
	}
	if sides, ok, err := benchmarkSides(paths, o.Stored); err != nil || ok {
		if err != nil {
			return err
		}
		return runBenchmarks(e, fs, &o, sides)
	}
	base.CurrentMetrics(e.Stderr, &o.metric)
	if err := checkDiff(fs, &o); err != nil {
		return err
	}
	for _, l := range slices.Concat(o.Hard, o.Soft) {
		if l.Former != "" {
			base.Former(e.Stderr, l.Former, l.Metric)
		}
	}
	if o.Repeats && !strings.Contains(paths[0]+paths[1], ",") {
		return base.Usagef("diff: -repeats does nothing: give several runs on a side, with commas between")
	}
	work := progress.Begin(e.Stderr, "diff")
	c, err := Compare(paths, &o.Options)
	work.End()
	if err != nil {
		return err
	}
	w := bufio.NewWriter(e.Stdout)
	if err := c.Print(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if o.annotate {
		c.Annotate(e.Stderr)
	}
	return c.Verdict(e.Stderr)
}

// BaselineCommand writes what the gate compares with.
func BaselineCommand() *base.Command {
	return &base.Command{
		Name:  "baseline",
		Args:  "[-o FILE] [-contexts] [-repeats] FILE|LIVEDIR...|-store URL",
		Short: "write the counts of a record as text, for diff",
		Long: `Baseline writes a text with the exact counts of records, which are added up: a
line for each function, sorted by name. It is made to be committed, and to be the
base of 'stemma diff'. It has no lines of the source, and nothing that Go does by
chance, so that it changes only if counts do. The same command updates it. With
-contexts it has a line for each context, which 'stemma diff -gate' needs. A record
that lacks something is an error.

With -repeats the records are runs of the same work, which are not added up. Contexts
that vary in them, or in a record of run or test -stable, are listed as such, and
diff does not compare them.

A baseline holds for one Go release and one set of flags. Diff refuses it for others.
`,
		Flags: func(fs *flag.FlagSet) { new(baselineOptions).declare(fs) },
		Run:   runBaseline,
	}
}

// baselineOptions are the flags of baseline.
type baselineOptions struct {
	out               string
	contexts, repeats bool
	store             outside.Store
}

func (o *baselineOptions) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.out, "o", "", "write to `FILE`; without -o, or with -, to standard output")
	fs.BoolVar(&o.contexts, "contexts", false,
		"write a line for each context, for -gate and limits with the scopes context and cost")
	seal.DeclareRepeats(fs, &o.repeats)
	o.store.Declare(fs)
}

func runBaseline(e *base.Env, args []string) error {
	var o baselineOptions
	fs := flag.NewFlagSet("baseline", flag.ContinueOnError)
	o.declare(fs)
	paths, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	stored, err := o.store.Given("baseline")
	if err != nil {
		return err
	}
	if len(paths) == 0 && !stored {
		return base.Usagef("baseline: no record given; name a profile, or a live directory, whose counts are written%s",
			store.SuggestCounts("baseline"))
	}
	if paths, err = o.store.Paths(e, "baseline", paths); err != nil {
		return err
	}
	load := loadCounts
	if o.repeats {
		load = store.LoadRepeats
	}
	work := progress.Begin(e.Stderr, "baseline")
	rec, p, err := load(paths)
	work.End()
	if err != nil {
		return err
	}
	for _, line := range report.Warnings(p.Profile) {
		fmt.Fprintf(e.Stderr, "stemma: warning: %s\n", line)
	}
	name := profile.Printable(paths[0])
	if stored {
		name = o.store.String()
	}
	side := diff.FromProfile(name, p.Profile)
	if !o.repeats {
		side.Records = len(rec.Sources)
	}
	write := func(w io.Writer) error { return diff.WriteBaseline(w, side, o.contexts) }
	if o.out == "" || o.out == "-" {
		return write(e.Stdout)
	}
	return safefile.Write(o.out, safefile.Usual, write)
}
