// Package diff prints the difference of two records, reports whether limits were kept, and writes
// baselines.
package diff

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// Options say what is compared, and how it is printed. A -top that is not given does not
// apply to JSON.
type Options struct {
	Format         string
	Scope          diff.Scope
	Metrics        []string
	Hard, Soft     []diff.Limit
	Ignored        []diff.Pattern
	Renames, Force bool
	Chance         bool                // what Go does by chance is compared as well
	Gate           bool                // the limits of diff.Gate hold as well
	Repeats        bool                // of records with commas between, each is a run of the same work
	Stored         map[string][]string // the files of a side that is in a store, by its name
	Top            int
	TopGiven       bool
}

var Formats = []string{"text", "json", "markdown", "benchmark"}

// A Result is two records, what they differ in, and how limits were kept.
type Result struct {
	o       *Options
	sides   [2]*diff.Side
	sources [2][]store.Source
	notes   []string // what is missing in the records
	d       *diff.Diff
	results []diff.Result
}

// Compare reads the base and the new record, compares them, and checks the limits.
func Compare(paths []string, o *Options) (*Result, error) {
	c := &Result{o: o}
	if err := c.load(paths); err != nil {
		return nil, err
	}
	return c, c.compare()
}

// load reads both sides.
func (c *Result) load(paths []string) error {
	for i, path := range paths {
		side, r, err := c.o.side(path)
		if err != nil {
			return err
		}
		c.sides[i] = side
		if r == nil {
			from := store.SourceOf(path)
			from.Baseline = true
			c.sources[i] = []store.Source{from}
			continue
		}
		c.sources[i], side.Records = r.Sources, len(r.Sources)
		for _, p := range r.Profiles {
			for _, line := range report.Warnings(p.Profile) {
				c.notes = append(c.notes, side.Name+": "+line)
			}
		}
	}
	if a, b := c.sides[0].Records, c.sides[1].Records; a != b && !c.o.Repeats {
		c.notes = append(c.notes,
			fmt.Sprintf("%s on one side and %s on the other: sums are compared, not averages",
				humanize.Plural(a, "record"), humanize.Plural(b, "record")))
	}
	return nil
}

// side reads a side.
func (o *Options) side(name string) (*diff.Side, *store.Records, error) {
	files := o.Stored[name]
	if files == nil {
		return loadSide(name, o.Repeats)
	}
	r, p, err := loadCounts(files)
	if err != nil {
		return nil, nil, store.In(name, err)
	}
	return diff.FromProfile(name, p.Profile), r, nil
}

// errNoCounts is the error of a side that has nothing to compare.
var errNoCounts = errors.New("a record of context IDs has no counts to compare; see stemma decode and stemma events")

// loadCounts reads records, and of those without counts no more than their beginning.
func loadCounts(paths []string) (*store.Records, *record.Record, error) {
	return store.LoadCounts(paths, errNoCounts)
}

// LoadSide reads a baseline, or the sum of records. Of a baseline there are no records.
func LoadSide(path string) (*diff.Side, *store.Records, error) { return loadSide(path, false) }

// loadSide is LoadSide, but for several records that are runs of the same work.
func loadSide(path string, repeats bool) (*diff.Side, *store.Records, error) {
	name := profile.Printable(path)
	if base, err := readBaseline(path); base != nil || err != nil {
		return base, nil, err
	}
	paths := []string{path}
	if _, err := os.Stat(path); err != nil && strings.Contains(path, ",") {
		paths = strings.Split(path, ",")
	}
	load := loadCounts
	if repeats && len(paths) > 1 {
		load = store.LoadRepeats
	}
	r, p, err := load(paths)
	if err != nil && r != nil {
		return nil, nil, store.In(name, err)
	}
	if err != nil {
		return nil, nil, err
	}
	return diff.FromProfile(name, p.Profile), r, nil
}

// readBaseline returns the baseline at path, nil if there is none, but maybe something else.
func readBaseline(path string) (*diff.Side, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil //nolint:nilerr // whoever reads it as a record reports it
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head) // fails for directories, which are no baselines
	if !store.IsBaseline(head[:n]) {
		return nil, nil
	}
	s, err := diff.ReadBaseline(io.MultiReader(bytes.NewReader(head[:n]), f), profile.Printable(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", profile.Printable(path), err)
	}
	return s, nil
}

// compare compares the sides and checks the limits.
func (c *Result) compare() (err error) {
	o := c.o
	c.d, err = diff.Compare(c.sides[0], c.sides[1],
		diff.Options{Ignore: o.Ignored, Renames: o.Renames, Chance: o.Chance, Force: o.Force})
	if err != nil {
		return err
	}
	c.notes = append(c.notes, c.d.Notes...)
	if err := c.d.Knows(o.Scope); err != nil {
		return err
	}
	hard := o.Hard
	if o.Gate {
		limits := c.d.Gate()
		if len(limits) == 0 {
			return fmt.Errorf("-gate: %s and %s have neither calls nor operations in common; record both with "+
				engine.Giving(engine.Counts), c.sides[0].Name, c.sides[1].Name)
		}
		hard = append(limits, hard...)
	}
	for _, g := range []struct {
		limits []diff.Limit
		soft   bool
	}{{hard, false}, {o.Soft, true}} {
		r, err := c.d.Check(g.limits, g.soft)
		if err != nil {
			return err
		}
		c.results = append(c.results, r...)
	}
	if o.Metrics == nil {
		return nil
	}
	var values []diff.Value
	for _, name := range o.Metrics {
		v, err := c.d.Value(name)
		if err != nil {
			return fmt.Errorf("-metric: %w", err)
		}
		values = append(values, v)
	}
	c.d.Values = values
	return nil
}

// Verdict says which limits were exceeded; of hard ones it returns the error of a regression.
func (c *Result) Verdict(stderr io.Writer) error {
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
	return &base.Error{Code: base.ExitRegression, Err: errors.New("diff: " + strings.Join(over, "; "))}
}

// exceeded says by what row a limit was exceeded, and how many more there are if it is the first.
func (c *Result) exceeded(r diff.Result, row int) string {
	x := c.d.Over(r, row)
	text := fmt.Sprintf("%s of %s: %s → %s (%s), limit %s", r.Metric, rowName(x), amountOf(r.Of, x.Base),
		amountOf(r.Of, x.New), growth(x.Base, x.New), r.Text)
	if more := len(r.Over) - 1; more > 0 && row == r.Over[0] {
		text += fmt.Sprintf(", and %s more", humanize.Plural(more, rowOf(r.Scope)))
	}
	return text
}
