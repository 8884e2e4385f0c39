package cli

import (
	"bufio"
	"flag"
	"fmt"
	"slices"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/exit"
	"github.com/stemma-go/stemma/internal/process"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/report"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/internal/store"
	"github.com/stemma-go/stemma/internal/words"
	"github.com/stemma-go/stemma/profile"
)

// similarityCommand compares trees with each other, as the papers on sampling do.
func similarityCommand() *command {
	return &command{
		name:  "similarity",
		args:  "[-metric METRIC] [-by site|line|function] [-t THRESHOLD] FILE|LIVEDIR...",
		short: "compare calling context trees",
		long: `Similarity prints the degree of overlap and the hot-edge coverage of calling
context trees: of each profile with the average of all, and, if there are
only a few, of each with each other.

The profiles may be of different builds. Two contexts are the same if they have
the same functions, called from the same call sites. Call sites, and closures,
are matched by their order in the function, as diff matches lines: a new comment
makes no difference, and a new call counts as one call more. With -by line, calls
must be at the same lines of the same files. This is more precise for samples, if
all runs are of one build. With -by function, only the functions count.

Given one profile of a program built with ` + engine.Giving(engine.Counts|engine.Samples) + `, similarity compares
the sampled calls with the exact counts. It leaves out inlined calls and calls of
functions that are not instrumented, because the accumulator does not see them.
Build with -recursion=full for that: samples keep every level of recursion.

The degree of overlap is the weight that two trees have in common, from 0 to
100 %. The hot-edge coverage is the share of the contexts that are hot in both
among those that are hot in either; a context is hot if
it has at least THRESHOLD times the weight of the hottest.
`,
		flags: func(fs *flag.FlagSet) { new(similarityOptions).declare(fs) },
		pages: true,
		run:   runSimilarity,
	}
}

// similarityOptions are the flags of similarity.
type similarityOptions struct {
	metric    string
	by        string
	threshold float64
}

func (o *similarityOptions) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.metric, "metric", "",
		"compare `METRIC`: "+metrics()+"; by default the first of these that was recorded")
	fs.StringVar(&o.by, "by", "",
		"call sites are the same by their `ORDER` in the function (site, the default), by file and line (line), or "+
			"do not count (function)")
	fs.Float64Var(&o.threshold, "t", 0.1,
		"a context is hot if it has at least `THRESHOLD` times the weight of the hottest")
}

// maxPairs is up to how many profiles all pairs are compared.
const maxPairs = 6

func runSimilarity(e *process.Env, args []string) error {
	var o similarityOptions
	fs := flag.NewFlagSet("similarity", flag.ContinueOnError)
	o.declare(fs)
	paths, err := parseMixed(e, fs, args)
	if err != nil {
		return err
	}
	if err := o.check(paths); err != nil {
		return err
	}
	w := bufio.NewWriter(e.Stdout)
	s := &similar{w, &o}
	if len(paths) == 1 {
		err = s.one(paths[0])
	} else {
		err = s.several(paths)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

// check refuses what cannot be compared, or would not be.
func (o *similarityOptions) check(paths []string) error {
	switch {
	case len(paths) == 0:
		return exit.Usagef("similarity: no profile given; name two or more, or one of a program built with %s",
			engine.Giving(engine.Counts|engine.Samples))
	case !slices.Contains([]string{"", "site", "line", "function"}, o.by):
		return exit.Usagef("similarity: -by: no way %q (have site, line, function)", o.by)
	case len(paths) == 1 && (o.by != "" || o.metric != ""):
		return exit.Usagef("similarity: -by and -metric are for two or more profiles; one profile has its samples " +
			"compared with its calls")
	}
	return nil
}

// A similar prints comparisons.
type similar struct {
	w *bufio.Writer
	o *similarityOptions
}

// load reads a profile, and prints what it is.
func (s *similar) load(path string) (*record.Record, error) {
	r, err := store.Load([]string{path})
	if err != nil {
		return nil, err
	}
	store.PrintSources(s.w, "", r.Sources)
	return r.Merged()
}

// line prints how similar two trees are.
func (s *similar) line(a, b similarity.Weights, what string) {
	fmt.Fprintf(s.w, "%9.2f%% %9.2f%%  %s\n", 100*similarity.Overlap(a, b),
		100*similarity.HotEdgeCoverage(a, b, s.o.threshold), what)
}

func (s *similar) head() { fmt.Fprintf(s.w, "%10s %10s\n", "overlap", "hot edges") }

// one compares the samples of a profile with its exact counts.
func (s *similar) one(path string) error {
	p, err := s.load(path)
	if err != nil {
		return err
	}
	if !p.Sampled() || !p.Has(profile.Calls) {
		return exit.Usagef("similarity: %s does not have both calls and samples of calls; name two or more profiles, "+
			"or one of a program built with %s", path, engine.Giving(engine.Counts|engine.Samples))
	}
	samples, err := cct.Of(p.Profile, profile.Samples.Name)
	if err != nil {
		return err
	}
	exact, approximate := similarity.Entries(cct.New(p.Profile)), similarity.Entries(samples)
	fmt.Fprintf(s.w, "exact: %s, %s; approximate: %s, %s\n", words.Plural(len(exact), "context"),
		words.Plural(uint64(exact.Total()), "call"),
		words.Plural(len(approximate), "context"), words.Plural(uint64(approximate.Total()), "sample"))
	s.head()
	s.line(exact, approximate, report.Describe(p.Processes[0]))
	return nil
}

// several compares profiles with their average and with each other.
func (s *similar) several(paths []string) error {
	trees, err := s.trees(paths)
	if err != nil {
		return err
	}
	s.head()
	average := similarity.Average(trees...)
	for i, t := range trees {
		s.line(t, average, paths[i]+" with the average")
	}
	for i := 0; i < len(trees) && len(trees) <= maxPairs; i++ {
		for k := i + 1; k < len(trees); k++ {
			s.line(trees[i], trees[k], paths[i]+" with "+paths[k])
		}
	}
	return nil
}

// trees returns the edges of profiles in the metric that was asked for.
func (s *similar) trees(paths []string) ([]similarity.Weights, error) {
	var trees []similarity.Tree
	for _, path := range paths {
		p, err := s.load(path)
		if err != nil {
			return nil, err
		}
		if p.IDs != nil {
			return nil, fmt.Errorf("similarity: %s: a record of context IDs has no counts to compare; see stemma "+
				"decode and stemma events", path)
		}
		t, err := cct.Of(p.Profile, s.o.metric)
		if err != nil {
			return nil, exit.Usagef("similarity: %s: %w%s", path, err,
				words.DidYouMean("", s.o.metric, report.Metrics()))
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
	level := similarity.ByLine
	switch s.o.by {
	case "", "site":
		return similarity.Align(trees...), nil
	case "function":
		level = similarity.ByFunction
	}
	var list []similarity.Weights
	for _, t := range trees {
		list = append(list, similarity.Of(t.Tree, level))
	}
	return list, nil
}
