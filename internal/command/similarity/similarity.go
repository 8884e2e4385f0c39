// Package similarity prints how similar the calling context trees of profiles are.
package similarity

import (
	"errors"
	"fmt"
	"io"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/profile"
)

// Options say how trees are compared.
type Options struct {
	Metric    string  // name of a value; "" for the first that was recorded
	By        string  // when call sites are the same: site (or ""), line or function
	Threshold float64 // a context is hot if it has as much of the weight of the hottest
}

// maxPairs is up to how many profiles all pairs are compared.
const maxPairs = 6

// Write compares the profiles with those paths with their average and with each other, or, if there is only one, its
// samples with its counts.
func Write(w io.Writer, paths []string, o *Options) error {
	s := &comparison{w, o}
	if len(paths) == 1 {
		return s.one(paths[0])
	}
	return s.several(paths)
}

// A comparison prints how similar trees are.
type comparison struct {
	w io.Writer
	o *Options
}

var errNoCounts = errors.New("a record of context IDs has no counts to compare; see stemma decode and stemma events")

// load reads a profile, and prints what it is.
func (s *comparison) load(path string) (*record.Record, error) {
	r, p, err := store.LoadCounts([]string{path}, errNoCounts)
	if errors.Is(err, errNoCounts) {
		return nil, fmt.Errorf("similarity: %s: %w", path, err)
	}
	if r != nil {
		store.PrintSources(s.w, "", r.Sources)
	}
	return p, err
}

// line prints how similar two trees are.
func line[W similarity.Weighted[W]](s *comparison, a, b W, what string) {
	fmt.Fprintf(s.w, "%9.2f%% %9.2f%%  %s\n", 100*similarity.Overlap(a, b),
		100*similarity.HotEdgeCoverage(a, b, s.o.Threshold), what)
}

func (s *comparison) head() { fmt.Fprintf(s.w, "%10s %10s\n", "overlap", "hot edges") }

// one compares the samples of a profile with its exact counts.
func (s *comparison) one(path string) error {
	p, err := s.load(path)
	if err != nil {
		return err
	}
	if !p.Sampled() || !p.Has(profile.Calls) {
		return base.Usagef("similarity: %s does not have both calls and samples of calls; name two or more profiles, "+
			"or one of a program built with %s", path, engine.Giving(engine.Counts|engine.Samples))
	}
	samples, err := cct.Of(p.Profile, profile.Samples.Name)
	if err != nil {
		return err
	}
	exact, approximate := similarity.Pair(cct.New(p.Profile), samples)
	fmt.Fprintf(s.w, "exact: %s, %s; approximate: %s, %s\n", humanize.Plural(len(exact), "context"),
		humanize.Plural(uint64(exact.Total()), "call"),
		humanize.Plural(len(approximate), "context"), humanize.Plural(uint64(approximate.Total()), "sample"))
	s.head()
	line(s, exact, approximate, report.Describe(p.Processes[0]))
	return nil
}

// several compares profiles with their average and with each other.
func (s *comparison) several(paths []string) error {
	trees, err := s.trees(paths)
	if err != nil {
		return err
	}
	s.head()
	average := similarity.AverageEdges(trees...)
	for i, t := range trees {
		line(s, t, average, paths[i]+" with the average")
	}
	for i := 0; i < len(trees) && len(trees) <= maxPairs; i++ {
		for k := i + 1; k < len(trees); k++ {
			line(s, trees[i], trees[k], paths[i]+" with "+paths[k])
		}
	}
	return nil
}

// trees returns the edges of profiles in the metric that was asked for.
func (s *comparison) trees(paths []string) ([]similarity.Edges, error) {
	var trees []similarity.Tree
	for _, path := range paths {
		p, err := s.load(path)
		if err != nil {
			return nil, err
		}
		t, err := cct.Of(p.Profile, s.o.Metric)
		if err != nil {
			return nil, base.Usagef("similarity: %s: %w%s", path, err,
				humanize.DidYouMean("", s.o.Metric, report.Metrics()))
		}
		if t.Totals().Calls == 0 {
			return nil, fmt.Errorf("similarity: %s: %s is nothing to compare; want a profile with calls or samples",
				path, report.SummaryLine(t, t.Totals()))
		}
		tree := similarity.Tree{Tree: t}
		if !t.Type.Sampled { // exact counts, with a record of every function
			tree.Calls = cct.Calls(p.Profile)
		}
		trees = append(trees, tree)
	}
	switch s.o.By {
	case "function":
		return similarity.AlignByText(similarity.ByFunction, trees...), nil
	case "line":
		return similarity.AlignByText(similarity.ByLine, trees...), nil
	}
	return similarity.Align(trees...), nil
}
