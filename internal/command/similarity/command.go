package similarity

import (
	"bufio"
	"flag"
	"slices"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/engine"
)

// Command compares trees with each other, as the papers on sampling do.
func Command() *base.Command {
	return &base.Command{
		Name:  "similarity",
		Args:  "[-metric METRIC] [-by site|line|function] [-t THRESHOLD] FILE|LIVEDIR...",
		Short: "compare calling context trees",
		Long: `Similarity prints the degree of overlap and the hot-edge coverage of calling
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

The degree of overlap is the weight that two trees have in common, from 0 to
100 %. The hot-edge coverage is the share of the contexts that are hot in both
among those that are hot in either. A context is hot if it has at least THRESHOLD
times the weight of the hottest.
`,
		Flags: func(fs *flag.FlagSet) { new(similarityOptions).declare(fs) },
		Pages: true,
		Run:   runSimilarity,
	}
}

// similarityOptions are the flags of similarity.
type similarityOptions struct{ Options }

func (o *similarityOptions) declare(fs *flag.FlagSet) {
	base.ChoiceVar(fs, &o.Metric, "metric", "",
		"compare `METRIC`: "+report.MetricsHelp()+"; by default the first of these that was recorded", report.Metrics)
	fs.StringVar(&o.By, "by", "",
		"call sites are the same by their `ORDER` in the function (site, the default), by file and line (line), or "+
			"do not count (function)")
	fs.Float64Var(&o.Threshold, "t", 0.1,
		"a context is hot if it has at least `THRESHOLD` times the weight of the hottest")
}

func runSimilarity(e *base.Env, args []string) error {
	var o similarityOptions
	fs := flag.NewFlagSet("similarity", flag.ContinueOnError)
	o.declare(fs)
	paths, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	base.CurrentMetrics(e.Stderr, &o.Metric)
	if err := o.check(paths); err != nil {
		return err
	}
	if paths, err = outside.Local(e, paths); err != nil {
		return err
	}
	w := bufio.NewWriter(e.Stdout)
	if err := Write(w, paths, &o.Options); err != nil {
		return err
	}
	return w.Flush()
}

// check refuses what cannot be compared, or would not be.
func (o *similarityOptions) check(paths []string) error {
	switch {
	case len(paths) == 0:
		return base.Usagef("similarity: no profile given; name two or more, or one of a program built with %s",
			engine.Giving(engine.Counts|engine.Samples))
	case !slices.Contains([]string{"", "site", "line", "function"}, o.By):
		return base.Usagef("similarity: -by: no way %q (have site, line, function)", o.By)
	case len(paths) == 1 && (o.By != "" || o.Metric != ""):
		return base.Usagef("similarity: -by and -metric are for two or more profiles; one profile has its samples " +
			"compared with its calls")
	}
	return nil
}
