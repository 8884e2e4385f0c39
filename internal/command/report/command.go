package report

import (
	"bufio"
	"cmp"
	"flag"
	"regexp"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/costmodel"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// Command is the main way to look at a profile. Its JSON form is an
// interface: fields are added, but do not change their meaning.
func Command() *base.Command {
	return &base.Command{
		Name: "report",
		Args: "[-contexts | -tree | -classes | -goroutines | -requests | -func REGEXP | -by GROUPING] " +
			"[-top N] [-json] [FILE|LIVEDIR...]",
		Short: "print what a profile recorded",
		Long: `Report prints the functions with the most calls: their own, and the total with
what is called below them. Recursion counts once in a total. With -contexts it
prints the contexts with the most calls, with -tree the calling context tree, with
-func the functions that match with their callers and callees. -func together with
-contexts prints the full stacks that lead to these functions.

With -by it adds up by package, by file, by the line that makes the calls (of
samples: the line that was sampled), or by what the goroutine began with; memory
also by type. By line, the operations of a function are at the lines that call
it. Site is another word for line, and -by=context one for -contexts. Of a program
built with -labels=KEY, -by=label:KEY adds up by the values of that label of pprof.Do.

A program built with -metrics=calls,alloc has allocations: their bytes as
-metric=alloc_space, their number as -metric=alloc_objects. Contexts show them as new(TYPE). The
type is that of an element if several were allocated at once; new(bytes) is memory
without pointers or type, such as that of strings.

With -metrics=calls,inuse it has objects that are still reachable: their bytes as
-metric=inuse_space, their number as -metric=inuse_objects. With -metrics=calls,cpu it has time
on CPU: -metric=cpu lists it with the calls, and with the average time that one call
takes with all that it calls.

With -metrics=calls,wait it has waits: the time that goroutines did not run as
-metric=wait, how often as -metric=waits. Contexts show them as wait(REASON);
wait(runnable) is time without a P. -by=reason adds them up. What others
waited for a lock is -metric=delay, in the context that released the lock, and how
often is -metric=contentions.

With -goroutines it lists the goroutines that exist, or existed when the program
ended: those that began in one context together, with the stack of the go statement
through all ancestors, and what they wait for, where, and for how long, in the mean. The
program must be built with -metrics=calls,wait,existing. The metrics existing and
idle have the same for all other forms.

With -classes it counts calls from one kind of function to another: the application (the
main module and modules in folders, or what matches -app), libraries (Go's own packages
and other modules), natives, which are not instrumented (the runtime, assembly, C, what
must not split the stack), and calls from outside, which no function made.

With -requests it lists the samples that the program asked for by stemma.Sample or
stemma.SampleLabeled, the newest first; with -request=ID those with one identifier, and
their stacks.

-focus, -ignore and -hide select contexts by the names of functions, as in pprof.
-focus keeps only contexts with a function that matches. -ignore leaves such
contexts out. -hide removes such functions from contexts; their calls count at
their callers. Percentages remain shares of all calls.

A profile is a sealed file or a live directory; its program may still be running.
Several are added up. Without one, report takes the newest of *.stemma here and of the
records in $STEMMA_OUT, or in stemma.out if that is not set.

Samples are shown as time on CPU, or as what -metric names. Goroutines that wait count
for the innermost function outside of the runtime and of package sync, samples with the
reason. With -json, report prints one JSON object, in which "calls" stands for whatever is counted:

	records    [{path, state, changed}]; state is sealed, running or ended
	processes  [{args, pid, start, goVersion, engine, recursion, lost, notes}]
	totals     {calls, contexts, functions, truncated}
	selected   the same for what -focus, -ignore and -hide leave
	functions  [{name, file, line, calls, total, contexts}], most calls first; those
	           that only lead to others have a total and no calls; with
	           -func also callers and callees: [{name, file, line, via, calls}],
	           where file and line are those of the call site
	classes    with -classes: [{caller, callee, calls, contexts}]
	requests   with -requests or -request: [{id, time, goroutine, pending, stack}], oldest
	           first, and no totals and lists of functions; time is in nanoseconds since the
	           record began, and each frame of a stack has its place
	goroutines with -goroutines: [{count, stack, waits: [{reason, count, idle, stack}]}]; the
	           first stack is that of the go statement, the others end where the goroutine
	           began; idle is the sum of nanoseconds since these goroutines ran
	groups     with -by: [{name, file, line, via, calls, total, contexts}]
	contexts   with -contexts: [{calls, fingerprint, fingerprintLines, stack: [{func, file,
	           line, via, fold}]}], frames innermost first; file and line of a frame are
	           where it calls the one before it, those of the first where its function
	           begins; with -hide there are no fingerprints
	collisions [{fingerprint, functions}], if two contexts of several processes share one
	estimated  with -cost=FILE, of other code there: {machine, functions, share, leftOut}

Via is how a function was entered, if not by a plain call: inlined, go, defer,
native or fault. Where recursion was folded, fold is "folded" for a call of a
function that is on the path already. What that call calls is shown below the
frame further out, whose fold is "recursive". Lists are complete unless -top is
given. Names in brackets, such as [main] or [timer], stand for what calls a
program from outside. Truncated is the number of calls whose context had no room.

A path may be pyroscope://HOST:PORT?service=NAME&from=24h: what 'stemma collect -to'
has pushed to a Pyroscope.
`,
		Flags: func(fs *flag.FlagSet) { declareReport(fs, new(Options)) },
		Pages: true,
		Run:   runReport,
	}
}

// reportForm names the form that is asked for.
func reportForm(o *Options) string {
	switch {
	case o.Tree:
		return "report -tree"
	case o.Classes:
		return "report -classes"
	case o.Goroutines:
		return "report -goroutines"
	case o.Requests:
		return "report -requests"
	case o.Contexts:
		return "report -contexts"
	case o.Function != "":
		return "report -func"
	case o.By != "":
		return "report -by"
	}
	return "a report by function"
}

// reportFlags lists the flags that change that form.
func reportFlags(o *Options) []string {
	list := []string{"by", "sort", "func", "top", "json"}
	switch {
	case o.Tree:
		list = []string{"tree", "depth", "min"}
	case o.Classes:
		list = []string{"classes", "app", "json"}
	case o.Goroutines:
		return append([]string{"goroutines", "top", "json", "focus", "ignore", "hide"}, outside.StoreFlags...)
	case o.Requests:
		return append([]string{"requests", "request", "top", "json"}, outside.StoreFlags...)
	case o.Contexts:
		list = []string{"contexts", "func", "top", "json"}
		if o.By == byContext {
			list = append(list, "by")
		}
	case o.Function != "":
		list = []string{"func", "contexts", "top", "json"}
	}
	return append(append(list, "metric", "cost", "focus", "ignore", "hide"), outside.StoreFlags...)
}

// byContext is what -contexts is as a grouping.
const byContext = "context"

// groupings lists what -by takes.
func groupings() []string {
	return append(slices.Clone(cct.Groupings), "label:KEY", "site", byContext)
}

// declareReport declares the flags with their defaults, which it sets.
func declareReport(fs *flag.FlagSet, o *Options) {
	fs.BoolVar(&o.Contexts, "contexts", false, "list contexts, not functions")
	fs.BoolVar(&o.Tree, "tree", false, "print the calling context tree")
	fs.BoolVar(&o.Classes, "classes", false, "count calls within and between application, libraries and natives")
	fs.Func("app",
		"with -classes, functions that match `REGEXP` are the application; by default those of the main module",
		func(s string) (err error) {
			o.Application, err = regexp.Compile(s)
			return err
		})
	fs.BoolVar(&o.Goroutines, "goroutines", false, "list the goroutines that exist, by the context that started them")
	fs.BoolVar(&o.Requests, "requests", false, "list the samples that the program asked for")
	fs.Func("request", "list the samples that the program asked for under identifier `ID`, with their stacks",
		o.Request.Set)
	fs.StringVar(&o.Function, "func", "",
		"list the functions that match `REGEXP`, with callers and callees; with -contexts, the stacks that end in them")
	base.ChoiceVar(fs, &o.By, "by", "", "add up by `"+strings.Join(groupings(), "|")+"`", groupings)
	base.ChoiceVar(fs, &o.Sort, "sort", "self",
		"`self|total`: what comes first, by its own calls or with those below it", base.Of("self", "total"))
	fs.StringVar(&o.Focus, "focus", "", "only contexts with a function that matches `REGEXP`")
	fs.StringVar(&o.Ignore, "ignore", "", "no contexts with a function that matches `REGEXP`")
	fs.StringVar(&o.Hide, "hide", "",
		"leave functions that match `REGEXP` out of contexts; their calls count at their callers")
	base.ChoiceVar(fs, &o.Metric, "metric", "",
		"count `METRIC`: "+MetricsHelp()+"; by default the first of these that was recorded", Metrics)
	base.ChoiceVar(fs, &o.Cost, "cost", "",
		"with -metric=ops, the instructions that they would take on `MACHINE`: "+strings.Join(costmodel.Names(), ", "),
		costmodel.Names)
	fs.IntVar(&o.Top, "top", 20, "list at most `N` entries; -1 for all")
	fs.IntVar(&o.Depth, "depth", -1, "print at most `N` levels of the tree; -1 for all")
	fs.Float64Var(&o.Min, "min", 1, "print only subtrees with at least `PERCENT` of all calls")
	fs.BoolVar(&o.JSON, "json", false, "print JSON")
	o.Store.Declare(fs)
}

// checkReport refuses what cannot be, or would do nothing, and compiles the regular expressions.
func checkReport(fs *flag.FlagSet, o *Options) error {
	fs.Visit(func(f *flag.Flag) { o.TopGiven = o.TopGiven || f.Name == "top" })
	for _, f := range []struct {
		name, text string
		set        func(re *regexp.Regexp)
	}{
		{"func", o.Function, func(re *regexp.Regexp) { o.Matching = re }},
		{"focus", o.Focus, func(re *regexp.Regexp) { o.Selection.Focus = re }},
		{"ignore", o.Ignore, func(re *regexp.Regexp) { o.Selection.Ignore = re }},
		{"hide", o.Hide, func(re *regexp.Regexp) { o.Selection.Hide = re }},
	} {
		if f.text == "" {
			continue
		}
		re, err := regexp.Compile(f.text)
		if err != nil {
			return base.Usagef("report: -%s: %w", f.name, err)
		}
		f.set(re)
	}
	_, byLabel := cct.LabelOf(o.By)
	switch kinds := cct.Kind(o.By); {
	case o.By == "site": // what else people say
		o.By = "line"
	case o.By == byContext:
		o.Contexts = true
	case kinds != nil:
		o.Metric = cmp.Or(o.Metric, kinds[0].Name)
	}
	o.Requests = o.Requests || o.Request.Given
	other := o.Tree || o.Contexts || o.Function != "" || o.By != ""
	if o.Goroutines && o.Metric == "" {
		o.Metric = profile.Existing.Name
	}
	switch {
	case o.Goroutines && (o.Requests || o.Classes || other):
		return base.Usagef("report: -goroutines excludes -requests, -classes, -tree, -contexts, -func and -by; " +
			"give one of them")
	case o.Cost != "" && o.Metric != "" && o.Metric != profile.Ops.Name:
		return base.Usagef("report: -cost=%s: costs are those of operations; leave -metric=%s out", o.Cost, o.Metric)
	case o.Requests && (o.Classes || other):
		return base.Usagef("report: -requests excludes -classes, -tree, -contexts, -func and -by; give one of them")
	case o.Classes && other:
		return base.Usagef("report: -classes excludes -tree, -contexts, -func and -by; give one of them")
	case o.Tree && (o.JSON || o.Contexts || o.Function != ""):
		return base.Usagef("report: -tree excludes -contexts, -func and -json; give one of them")
	case o.By != "" && o.By != byContext && !byLabel && !slices.Contains(cct.Groupings, o.By):
		return base.Usagef("report: -by=%s: no such grouping (have %s)", o.By, strings.Join(groupings(), ", "))
	case !(o.Min >= 0 && o.Min <= 100): // or it is no number
		return base.Usagef("report: -min: have %g, want 0 to 100", o.Min)
	case o.Sort != "self" && o.Sort != "total":
		return base.Usagef("report: -sort=%s: no such order (have self, total)", o.Sort)
	}
	return base.OnlyFlags(fs, reportForm(o), reportFlags(o)...)
}

// Adding says that the contexts of a record are being added up.
func Adding(p *record.Record) string {
	return "adding up " + humanize.Plural(uint64(len(p.Nodes)), "context")
}

// runReport checks the flags before it reads anything: profiles can be large.
func runReport(e *base.Env, args []string) error {
	var o Options
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	declareReport(fs, &o)
	paths, err := base.Parse(fs, args)
	if err != nil {
		return err
	}
	base.CurrentMetrics(e.Stderr, &o.Metric)
	if err := checkReport(fs, &o); err != nil {
		return err
	}
	if paths, err = o.Store.Paths(e, "report", paths); err != nil {
		return err
	}
	noCounts := base.OnlyFlags(fs,
		"a record of context IDs, which has no counts of calls (see stemma decode and stemma events)",
		append([]string{"json"}, outside.StoreFlags...)...)
	rec, p, err := store.LoadCounts(paths, noCounts)
	if err != nil {
		return err
	}
	o.Sources, o.Colour = rec.Sources, base.Coloured(e.Stdout)
	defer progress.Step(Adding(p), "", nil)()
	w := bufio.NewWriter(e.Stdout)
	if err := Write(w, p, &o); err != nil {
		return err
	}
	return w.Flush()
}

// MetricsHelp lists the values that there are, for help texts.
func MetricsHelp() string { return strings.Join(Metrics(), ", ") + " or one of the program's own" }
