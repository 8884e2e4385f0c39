package cli

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/profile"
)

// diffCommand compares two records, and is the gate of a CI job.
func diffCommand() *command {
	return &command{
		name:  "diff",
		args:  "[-by SCOPE] [-fail-over LIMITS] [-warn-over LIMITS] [-ignore PATTERN] BASE NEW",
		short: "compare two records, and fail if values grew",
		long: `Diff prints what has changed from BASE to NEW, for each value that both have. Each
of the two is a sealed file, a live directory, a directory of these, several of
them with commas between, which are added up, or a text of 'stemma baseline'.

The records may be of different builds. Functions that have moved, and functions
and call sites that only have other lines or numbers, are the same. So is a function
with a new name that calls what the old one called, and is called by the same.

A limit says by how much a value may grow:

	calls>1%                  all calls together, by at most 1 %
	calls@main.*>1000         the calls of all functions of package main together
	calls/function>0          the calls of each function; also /context and /line
	calls/function@main.*>1%+100
	                          each of package main, by 1 % and 100 calls

Pattern and scope may be left out. In a pattern * stands for anything. A number may
end with k, M or G, of bytes with B, kB, MB or GB, of times with ns, us, ms or s.
Several limits have commas between. What the base does not have counts as 0
there: a new function exceeds any percentage.

Diff exits with code 3 if a limit of -fail-over is exceeded, with 1 if it cannot
compare, and with 2 if it was called in a wrong way. A limit that cannot be
checked is an error.
`,
		flags: func(fs *flag.FlagSet) { new(diffOptions).declare(fs) },
		run:   runDiff,
	}
}

// diffOptions are the flags of diff.
type diffOptions struct {
	by, metric, format         string
	failOver, warnOver, ignore listFlag
	json, markdown, annotate   bool
	renames, force             bool
	top                        int
	scope                      diff.Scope
	hard, soft                 []diff.Limit
	ignored                    []diff.Pattern
	metrics                    []string
	topGiven, formatGiven      bool
}

// A listFlag is a flag that may be given several times.
type listFlag []string

func (l *listFlag) String() string     { return strings.Join(*l, ",") }
func (l *listFlag) Set(s string) error { *l = append(*l, s); return nil }

func (o *diffOptions) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.by, "by", "function", "compare by `SCOPE`: function, context or line, which is that of the call")
	fs.StringVar(&o.metric, "metric", "", "compare only `METRIC`, or several with commas between; by default all that both sides have")
	fs.Var(&o.failOver, "fail-over", "exit with code 3 if one of `LIMITS` is exceeded")
	fs.Var(&o.warnOver, "warn-over", "warn if one of `LIMITS` is exceeded")
	fs.Var(&o.ignore, "ignore", "leave out functions that match `PATTERN`; may be given several times")
	fs.IntVar(&o.top, "top", 20, "list at most `N` rows of a value; -1 for all")
	fs.StringVar(&o.format, "format", "text", "print `FORMAT`: "+strings.Join(diffFormats, ", "))
	fs.BoolVar(&o.json, "json", false, "print JSON, the same as -format=json")
	fs.BoolVar(&o.markdown, "markdown", false, "print Markdown, the same as -format=markdown")
	fs.BoolVar(&o.annotate, "annotate", false, "also print what exceeds a limit to standard error, as annotations of GitHub")
	fs.BoolVar(&o.renames, "renames", true, "look for functions that have another name")
	fs.BoolVar(&o.force, "force", false, "compare what does not belong together, too")
}

var diffFormats = []string{"text", "json", "markdown", "benchmark"}

// check parses what flags contain. All errors are of usage.
func (o *diffOptions) check(fs *flag.FlagSet) (err error) {
	fs.Visit(func(f *flag.Flag) {
		o.topGiven = o.topGiven || f.Name == "top"
		o.formatGiven = o.formatGiven || f.Name == "format"
	})
	if o.json && o.markdown || o.formatGiven && (o.json || o.markdown) {
		return usageError("diff: -json, -markdown and -format exclude each other; give one of them")
	}
	switch {
	case o.json:
		o.format = "json"
	case o.markdown:
		o.format = "markdown"
	}
	if !slices.Contains(diffFormats, o.format) {
		return usageError("diff: -format: no format %q (have %s)", o.format, strings.Join(diffFormats, ", "))
	}
	if o.scope, err = diff.ParseScope(o.by); err != nil {
		return usageError("diff: -by: %w", err)
	}
	if o.metric != "" {
		o.metrics = strings.Split(o.metric, ",")
	}
	for _, f := range []struct {
		name   string
		have   listFlag
		limits *[]diff.Limit
	}{{"fail-over", o.failOver, &o.hard}, {"warn-over", o.warnOver, &o.soft}} {
		for _, text := range f.have {
			limits, err := diff.ParseLimits(text)
			if err != nil {
				return usageError("diff: -%s: %w", f.name, err)
			}
			*f.limits = append(*f.limits, limits...)
		}
	}
	for _, text := range o.ignore {
		p, err := diff.NewPattern(text)
		if err != nil {
			return usageError("diff: -ignore: %w", err)
		}
		o.ignored = append(o.ignored, p)
	}
	if o.annotate && len(o.hard)+len(o.soft) == 0 {
		return usageError("diff: -annotate does nothing without -fail-over or -warn-over")
	}
	return nil
}

func runDiff(e *env, args []string) error {
	var o diffOptions
	fs := flag.NewFlagSet("diff", flag.ContinueOnError)
	o.declare(fs)
	paths, err := parseMixed(e, fs, args)
	if err != nil {
		return err
	}
	if len(paths) != 2 {
		return usageError("diff: want two records, the base and the new one (have %d)", len(paths))
	}
	if err := o.check(fs); err != nil {
		return err
	}
	c := &compared{o: &o}
	if err := c.load(paths); err != nil {
		return err
	}
	if err := c.compare(); err != nil {
		return err
	}
	w := bufio.NewWriter(e.stdout)
	if err := c.print(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if o.annotate {
		c.annotate(e.stderr)
	}
	return c.verdict(e.stderr)
}

// A compared is two records, what they differ in, and how limits were kept.
type compared struct {
	o       *diffOptions
	sides   [2]*diff.Side
	sources [2][]source
	notes   []string // what is missing in the records
	d       *diff.Diff
	results []diff.Result
}

// load reads both sides.
func (c *compared) load(paths []string) error {
	for i, path := range paths {
		side, r, err := loadSide(path)
		if err != nil {
			return err
		}
		c.sides[i] = side
		if r == nil {
			c.sources[i] = []source{sourceOf(path)}
			continue
		}
		c.sources[i] = r.sources
		for _, p := range r.profiles {
			for _, line := range warnings(p.Profile) {
				c.notes = append(c.notes, side.Name+": "+line)
			}
		}
	}
	if a, b := len(c.sources[0]), len(c.sources[1]); a != b {
		c.notes = append(c.notes, fmt.Sprintf("%s on one side and %s on the other: sums are compared, not averages", plural(a, "record"), plural(b, "record")))
	}
	return nil
}

// loadSide reads a baseline, or the sum of records. Of a baseline there are no records.
func loadSide(path string) (*diff.Side, *records, error) {
	name := profile.Printable(path)
	if base, err := readBaseline(path); base != nil || err != nil {
		return base, nil, err
	}
	paths := []string{path}
	if _, err := os.Stat(path); err != nil && strings.Contains(path, ",") {
		paths = strings.Split(path, ",")
	}
	r, err := loadRecords(paths)
	if err != nil {
		return nil, nil, err
	}
	p, err := r.merged()
	if err != nil {
		return nil, nil, in(name, err)
	}
	if p.IDs != nil {
		return nil, nil, fmt.Errorf("%s: a record of context IDs has no counts to compare; see stemma decode and stemma events", name)
	}
	return diff.FromProfile(name, p.Profile), r, nil
}

// readBaseline returns the baseline at path, nil if there is none, but maybe something else.
func readBaseline(path string) (*diff.Side, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil //nolint:nilerr // whoever reads it as a record says so
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head) // fails for directories, which are no baselines
	if !diff.IsBaseline(head[:n]) {
		return nil, nil
	}
	s, err := diff.ReadBaseline(io.MultiReader(bytes.NewReader(head[:n]), f), profile.Printable(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", profile.Printable(path), err)
	}
	return s, nil
}

// compare compares the sides and checks the limits.
func (c *compared) compare() (err error) {
	o := c.o
	c.d, err = diff.Compare(c.sides[0], c.sides[1], diff.Options{Ignore: o.ignored, Renames: o.renames, Force: o.force})
	if err != nil {
		return err
	}
	c.notes = append(c.notes, c.d.Notes...)
	if err := c.d.Knows(o.scope); err != nil {
		return err
	}
	for _, g := range []struct {
		limits []diff.Limit
		soft   bool
	}{{o.hard, false}, {o.soft, true}} {
		r, err := c.d.Check(g.limits, g.soft)
		if err != nil {
			return err
		}
		c.results = append(c.results, r...)
	}
	if o.metrics == nil {
		return nil
	}
	var values []diff.Value
	for _, name := range o.metrics {
		v, err := c.d.Value(name)
		if err != nil {
			return fmt.Errorf("-metric: %w", err)
		}
		values = append(values, v)
	}
	c.d.Values = values
	return nil
}

// verdict says which limits were exceeded; of hard ones it returns the error of a regression.
func (c *compared) verdict(stderr io.Writer) error {
	var over []string
	for _, r := range c.results {
		switch {
		case len(r.Over) == 0:
		case r.Soft:
			fmt.Fprintf(stderr, "stemma: warning: %s\n", c.exceeded(r, r.Over[0]))
		default:
			over = append(over, c.exceeded(r, r.Over[0]))
		}
	}
	if over == nil {
		return nil
	}
	return &exitError{exitRegression, errors.New("diff: " + strings.Join(over, "; "))}
}

// exceeded says by what row a limit was exceeded, and how many more there are if it is the first.
func (c *compared) exceeded(r diff.Result, row int) string {
	x := c.d.Over(r, row)
	text := fmt.Sprintf("%s of %s: %s → %s (%s), limit %s", r.Value, rowName(x), amountOf(r.Of, x.Base), amountOf(r.Of, x.New), growth(x.Base, x.New), r.Text)
	if more := len(r.Over) - 1; more > 0 && row == r.Over[0] {
		text += fmt.Sprintf(", and %s more", plural(more, r.Scope.String()))
	}
	return text
}

// rowName returns the name of a row in one line that is not too long.
func rowName(r diff.Row) string {
	if r.Stack != nil {
		return contextLine(r.Stack)
	}
	return r.Name
}

// growth returns the difference of two values as a percentage.
func growth(base, new uint64) string {
	switch {
	case base == new:
		return "no change"
	case base == 0:
		return "new"
	}
	percent := 100 * (float64(new) - float64(base)) / float64(base)
	text := fmt.Sprintf("%+.2f%%", percent)
	if text == "+0.00%" || text == "-0.00%" {
		return text[:1] + "<0.01%"
	}
	return text
}

// signed returns a difference with its sign.
func signed(v diff.Value, base, new uint64) string {
	if new < base {
		return "-" + amountOf(v, base-new)
	}
	return "+" + amountOf(v, new-base)
}

// amountOf returns a value for people to read, in its unit.
func amountOf(v diff.Value, n uint64) string {
	switch v.Unit {
	case "nanoseconds":
		return fmt.Sprintf("%.3f ms", float64(n)/1e6)
	case "bytes":
		return commas(n) + " B"
	}
	return commas(n)
}

// inWorkspace returns a file relative to the working directory, with slashes; ok is false if it lies
// outside, where no annotation can point.
func inWorkspace(file string) (rel string, ok bool) {
	wd, err := os.Getwd()
	if err != nil || !filepath.IsAbs(file) {
		return "", false
	}
	rel, err = filepath.Rel(wd, file)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// baselineCommand writes what the gate compares with.
func baselineCommand() *command {
	return &command{
		name:  "baseline",
		args:  "[-o FILE] [-contexts] FILE|LIVEDIR...",
		short: "write the counts of a record as text, for diff",
		long: `Baseline writes a text with the exact counts of records, which are added up: a
line for each function, sorted by name. It is made to be committed, and to be the
base of 'stemma diff'. It has no lines of the source, so that it changes only if
counts do. The same command updates it.

A baseline holds for one Go release and one set of flags. Diff refuses it for others.
`,
		flags: func(fs *flag.FlagSet) { baselineFlags(fs) },
		run:   runBaseline,
	}
}

func baselineFlags(fs *flag.FlagSet) (out *string, contexts *bool) {
	return fs.String("o", "", "write to `FILE`, not to standard output"),
		fs.Bool("contexts", false, "write a line for each context, for limits with the scope context")
}

func runBaseline(e *env, args []string) error {
	fs := flag.NewFlagSet("baseline", flag.ContinueOnError)
	out, contexts := baselineFlags(fs)
	paths, err := parseMixed(e, fs, args)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return usageError("baseline: no record given")
	}
	r, err := loadRecords(paths)
	if err != nil {
		return err
	}
	p, err := r.merged()
	if err != nil {
		return err
	}
	for _, line := range warnings(p.Profile) {
		fmt.Fprintf(e.stderr, "stemma: warning: %s\n", line)
	}
	side := diff.FromProfile(profile.Printable(paths[0]), p.Profile)
	write := func(w io.Writer) error { return diff.WriteBaseline(w, side, *contexts) }
	if *out == "" {
		return write(e.stdout)
	}
	return writeFile(*out, write)
}
