package top

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/terminal"
)

// Command shows what a running program does.
func Command() *base.Command {
	return &base.Command{
		Name:  "top",
		Args:  "[-contexts] [-sort ORDER] [-once] [PID|LIVEDIR]",
		Short: "watch what a running program calls",
		Long: `Top shows on a terminal how often each function of a running program was called in the
last second, and how often in all; with -contexts, each calling context. It reads the
live directory of the program, and does not touch the program. A program is named by its
process ID, wherever it records, or by its live directory; without either top takes the
program that began last in $STEMMA_OUT, or in stemma.out if that is not set. Of any other
directory it takes the program that began last of those that record there.

For samples it shows the time on CPU, as a share of a second. A record of context IDs
has no counts of calls. For such a record top shows events, if the program was built
with -events, and with -metric=encoding the work of the encoder.

Keys: f functions, c contexts, s sort, / search, p pause, v next metric, ? all keys, q
quit. The full name of the row that is chosen, by the arrow keys, is below the rows; left
and right scroll all names.
With -once it prints one page, of what happens in one interval.

A program with many contexts that still meets new ones is read less often, so that top
takes a twentieth of a core at most.
`,
		Flags: func(fs *flag.FlagSet) { new(topOptions).declare(fs) },
		Run:   runTop,
	}
}

type topOptions struct {
	Options
	once     bool
	interval time.Duration
	metric   string
}

func (o *topOptions) declare(fs *flag.FlagSet) {
	fs.BoolVar(&o.Contexts, "contexts", false, "list contexts, not functions")
	base.ChoiceVar(fs, &o.Sort, "sort", "rate", "sort by `ORDER`: "+strings.Join(Orders, ", "), base.Of(Orders...))
	fs.StringVar(&o.Search, "search", "", "only functions with `TEXT` in their name")
	fs.BoolVar(&o.once, "once", false, "print one page")
	fs.IntVar(&o.Rows, "top", 20, "with -once, list at most `N` rows")
	fs.DurationVar(&o.interval, "interval", time.Second, "read every `DURATION`")
	base.ChoiceVar(fs, &o.metric, "metric", "", "show `METRIC`, as report does, also one of the program's own",
		report.Metrics)
}

func runTop(e *base.Env, args []string) error {
	var o topOptions
	fs := flag.NewFlagSet("top", flag.ContinueOnError)
	o.declare(fs)
	paths, err := base.Parse(fs, args)
	metrics := append(report.Metrics(), EncodedMetrics()...)
	if !slices.Contains(metrics, o.metric) { // alloc is also a kind of events
		base.CurrentMetrics(e.Stderr, &o.metric)
	}
	switch {
	case err != nil:
		return err
	case len(paths) > 1:
		return base.Usagef("top: have %s, want one program", humanize.Plural(len(paths), "argument"))
	case !slices.Contains(Orders, o.Sort):
		return base.Usagef("top: -sort=%s: no such order (have %s)", o.Sort, strings.Join(Orders, ", "))
	case o.interval <= 0 || o.Rows < 1:
		return base.Usagef("top: -interval and -top must be more than 0")
	}
	dir, err := Find(strings.Join(paths, ""))
	if err != nil {
		return err
	}
	r := NewReader(dir, o.metric)
	if o.metric != "" && !slices.Contains(metrics, o.metric) && !r.has(o.metric) { // the program may have it itself
		return base.Usagef("top: no metric %q%s", o.metric, humanize.DidYouMean("", o.metric, metrics))
	}
	if o.once {
		return Once(e.Stdout, r, o.interval, o.Options)
	}
	if f, ok := e.Stdout.(*os.File); !ok || !terminal.Is(f) {
		return base.Usagef("top: standard output is no terminal; print a page with -once")
	}
	const once = "print one with -once"
	if terminal.IsDumb() || os.Getenv("TERM") == "" {
		return base.Usagef("top: TERM=%s: this terminal cannot show a page that changes; %s", os.Getenv("TERM"), once)
	}
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("top: %w; %s", err, once)
	}
	s, err := OpenTerminal(f)
	if err != nil {
		return fmt.Errorf("top: %w; %s", err, once)
	}
	defer s.Close()
	return Show(s, r, o.interval, o.Options)
}
