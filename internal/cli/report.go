package cli

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/profile"
)

// reportCommand is the main way to look at a profile. Its JSON form is an
// interface: fields are added, but do not change their meaning.
func reportCommand() *command {
	return &command{
		name:  "report",
		args:  "[-contexts | -tree | -func REGEXP | -by GROUPING] [-top N] [-json] [FILE|LIVEDIR...]",
		short: "print what a profile recorded",
		long: `Report prints the functions with the most calls: their own, and the total with
what is called below them. Recursion counts once in a total. With -contexts it
prints the contexts with the most calls, with -tree the calling context tree, with
-func the functions that match with their callers and callees. -func together with
-contexts prints the full stacks that lead to these functions.

With -by it adds up by package, by file, by the line that makes the calls (of
samples: the line that was sampled), or by what the goroutine began with.

-focus, -ignore and -hide select contexts as those of pprof do, by the names of
functions: only contexts with a function that matches, no contexts with one,
contexts without such functions, whose calls then count at their callers.
Percentages remain shares of all calls.

A profile is a sealed file or a live directory; its program may still be running.
Several are added up. Without one, report takes the newest
*.stemma or stemma.out/* in the working directory.

Samples are shown as time on CPU, or as what -metric names. With -json, report
prints one JSON object, in which "calls" stands for whatever is counted:

	records    [{path, state, changed}]; state is sealed, running or ended
	processes  [{args, pid, start, goVersion, engine, recursion, lost, notes}]
	totals     {calls, contexts, functions, truncated}
	selected   the same for what -focus, -ignore and -hide leave
	functions  [{name, file, line, calls, total, contexts}], most calls first; with
	           -func also callers and callees: [{name, file, line, via, calls}],
	           where file and line tell the call site
	groups     with -by: [{name, file, line, via, calls, total, contexts}]
	contexts   with -contexts: [{calls, stack: [{func, file, line, via}]}], frames
	           innermost first; file and line of a frame tell where it calls the
	           one before it, those of the first where its function begins

Via tells how a function was entered, if not by a plain call: inlined, go,
defer, native or fault. Lists are complete unless -top is given. Names in
brackets, such as [main] or [timer], stand for what calls a program from
outside. Truncated is the number of calls whose context had no room.
`,
		flags: func(fs *flag.FlagSet) { new(reportOptions).declare(fs) },
		pages: true,
		run:   runReport,
	}
}

// Columns of the text forms.
//
// Calls are invocations, exact but for what the warnings say. A percentage is a
// share of all calls in the profile, whatever was selected: of the function or context by
// itself, or, behind or under "total", with all that is below it. A context counts as one
// however often it was entered. Numbers are aligned for the eye; programs take -json.

// reportOptions are the flags of report. top and json apply to all forms but
// the tree; depth and min to the tree alone.
// topGiven tells a -top of 20 from the default, which does not apply to JSON.
type reportOptions struct {
	contexts, tree, json bool
	function, metric     string
	by, sort             string
	top, depth           int
	min                  float64
	topGiven, colour     bool
	sources              []source

	focus, ignore, hide string
	re                  *regexp.Regexp // function, nil if it is not given
	selection           cct.Selection
}

// form names the form that is asked for, and useful lists the flags that change it.
func (o *reportOptions) form() string {
	switch {
	case o.tree:
		return "report -tree"
	case o.contexts:
		return "report -contexts"
	case o.function != "":
		return "report -func"
	case o.by != "":
		return "report -by"
	}
	return "a report by function"
}

func (o *reportOptions) useful() []string {
	list := []string{"by", "sort", "func", "top", "json"}
	switch {
	case o.tree:
		list = []string{"tree", "depth", "min"}
	case o.contexts:
		list = []string{"contexts", "func", "top", "json"}
	case o.function != "":
		list = []string{"func", "contexts", "top", "json"}
	}
	return append(list, "metric", "focus", "ignore", "hide")
}

// declare declares the flags with their defaults, which it sets.
func (o *reportOptions) declare(fs *flag.FlagSet) {
	fs.BoolVar(&o.contexts, "contexts", false, "list contexts, not functions")
	fs.BoolVar(&o.tree, "tree", false, "print the calling context tree")
	fs.StringVar(&o.function, "func", "", "list the functions that match `REGEXP`, with callers and callees; with -contexts, the stacks that end in them")
	fs.StringVar(&o.by, "by", "", "add up by `"+strings.Join(cct.Groupings, "|")+"`")
	fs.StringVar(&o.sort, "sort", "self", "`self|total`: what comes first, by its own calls or with those below it")
	fs.StringVar(&o.focus, "focus", "", "only contexts with a function that matches `REGEXP`")
	fs.StringVar(&o.ignore, "ignore", "", "no contexts with a function that matches `REGEXP`")
	fs.StringVar(&o.hide, "hide", "", "leave functions that match `REGEXP` out of contexts; their calls count at their callers")
	fs.StringVar(&o.metric, "metric", "", "count `METRIC`: "+metrics()+"; by default the first of these that was recorded")
	fs.IntVar(&o.top, "top", 20, "list at most `N` entries; -1 for all")
	fs.IntVar(&o.depth, "depth", -1, "print at most `N` levels of the tree; -1 for all")
	fs.Float64Var(&o.min, "min", 1, "print only subtrees with at least `PERCENT` of all calls")
	fs.BoolVar(&o.json, "json", false, "print JSON")
}

// check refuses what cannot be, or would do nothing, and compiles the regular expressions.
func (o *reportOptions) check(fs *flag.FlagSet) error {
	fs.Visit(func(f *flag.Flag) { o.topGiven = o.topGiven || f.Name == "top" })
	for _, f := range []struct {
		name, text string
		re         **regexp.Regexp
	}{{"func", o.function, &o.re}, {"focus", o.focus, &o.selection.Focus}, {"ignore", o.ignore, &o.selection.Ignore}, {"hide", o.hide, &o.selection.Hide}} {
		if f.text == "" {
			continue
		}
		var err error
		if *f.re, err = regexp.Compile(f.text); err != nil {
			return usageError("report: -%s: %w", f.name, err)
		}
	}
	switch {
	case o.tree && (o.json || o.contexts || o.function != ""):
		return usageError("report: -tree excludes -contexts, -func and -json; give one of them")
	case o.by != "" && !slices.Contains(cct.Groupings, o.by):
		return usageError("report: -by=%s: no such grouping (have %s)", o.by, strings.Join(cct.Groupings, ", "))
	case o.sort != "self" && o.sort != "total":
		return usageError("report: -sort=%s: no such order (have self, total)", o.sort)
	}
	return onlyFlags(fs, o.form(), o.useful()...)
}

// runReport checks the flags before it reads anything: profiles can be large.
func runReport(e *env, args []string) error {
	var o reportOptions
	fs := flag.NewFlagSet("report", flag.ContinueOnError)
	o.declare(fs)
	paths, err := parseMixed(e, fs, args)
	if err != nil {
		return err
	}
	if err := o.check(fs); err != nil {
		return err
	}
	rec, err := loadRecords(paths)
	if err != nil {
		return err
	}
	p, err := rec.merged()
	if err != nil {
		return err
	}
	o.sources, o.colour = rec.sources, coloured(e.stdout)
	if p.IDs != nil {
		if err := onlyFlags(fs, "a record of context IDs, which has no counts of calls (see stemma decode and stemma events)", "json"); err != nil {
			return err
		}
	}
	w := bufio.NewWriter(e.stdout)
	if err := report(w, p, &o); err != nil {
		return err
	}
	return w.Flush()
}

// report prints p in the form that the options ask for.
// An error comes from w, or from encoding JSON.
func report(w io.Writer, p *record.Record, o *reportOptions) error {
	if o.json {
		return reportJSON(w, p, o)
	}
	printRecords(w, "", o.sources)
	if p.IDs != nil {
		reportContexts(w, p)
		return nil
	}
	r, err := newReporter(w, p, o)
	if err != nil {
		return err
	}
	r.header(p.Profile)
	switch {
	case o.contexts:
		r.contexts()
	case o.tree:
		r.tree()
	case o.function != "":
		r.matches()
	default:
		return r.groups()
	}
	return nil
}

// newReporter expands and selects what the options ask for.
func newReporter(w io.Writer, p *record.Record, o *reportOptions) (*reporter, error) {
	expand := cct.Of
	if o.by == "line" {
		expand = cct.OfLines
	}
	all, err := expand(p.Profile, o.metric)
	if err != nil {
		return nil, usageError("report: %w%s", err, didYouMean("", o.metric, metricNames()))
	}
	return &reporter{w: w, t: all.Select(o.selection), o: o, totals: all.Totals()}, nil
}

// A reporter prints one tree as text.
// Write errors are left to the buffered writer that w is: it keeps the first one
// and returns it from Flush. t is what was selected; totals are those of the whole tree,
// for percentages.
type reporter struct {
	w      io.Writer
	t      *cct.Tree
	o      *reportOptions
	totals cct.Totals
}

// printf drops the error, see reporter.
func (r *reporter) printf(format string, args ...any) { fmt.Fprintf(r.w, format, args...) }

// header prints what every report begins with: where the profile comes from,
// its totals, and a warning for each kind of loss. No number goes out without
// what is missing from it.
func (r *reporter) header(p *profile.Profile) {
	for _, proc := range p.Processes {
		r.printf("%s\n", describe(proc))
	}
	for _, line := range samplingLines(p) {
		r.printf("%s\n", line)
	}
	if !r.t.Type.Sampled {
		r.printf("%s\n", summaryLine(r.t, r.totals))
	}
	if s := r.o.selection; !s.All() {
		selected := r.t.Totals()
		like := ""
		if s.Focus != nil && selected.Contexts == 0 {
			like = likeFunctions(r.o.focus, r.functions())
		}
		r.printf("selected: %s%s\n", summaryLine(r.t, selected), like)
	}
	for _, line := range warnings(p) {
		r.printf("%s\n", r.paint(yellow, "warning: "+line))
	}
	r.printf("\n")
}

// describe returns one line about a process.
// Of the program only the base name is shown; arguments are cut at 60 characters.
func describe(proc profile.Process) string {
	args := slices.Clone(proc.Args)
	if len(args) > 0 {
		args[0] = filepath.Base(args[0])
	}
	parts := []string{shorten(strings.Join(args, " "), 60), fmt.Sprint("pid ", proc.PID), proc.GoVersion}
	if !proc.Start.IsZero() {
		parts = append(parts, proc.Start.Format("2006-01-02 15:04:05 UTC"))
	}
	if proc.Full {
		parts = append(parts, "full recursion")
	}
	return profile.Printable(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · "))
}

// shorten cuts s to n characters, the last of which tells that it was cut.
// A character is a rune: it never cuts one in two.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// summaryLine returns the totals of a tree in one line.
func summaryLine(tree *cct.Tree, t cct.Totals) string {
	s := plural(t.Calls, "call")
	if tree.Type.Name != profile.Calls.Name {
		s = amount(tree.Type, t.Calls) + " of " + tree.Type.Name
	}
	s += " · " + plural(t.Contexts, "context") + " · " + plural(t.Functions, "function")
	if t.Truncated > 0 {
		s += " · " + plural(t.Truncated, "call") + " truncated"
	}
	return s
}

// lossTexts say what each kind of loss means for the numbers of a report: of one,
// and of several. Each follows a number. A kind without a text, of a later version, is
// shown by its name.
var lossTexts = map[string][2]string{
	profile.LossNodes: {"time a context had no room in the node budget; its calls are counted under [overflow]",
		"times a context had no room in the node budget; their calls are counted under [overflow]"},
	profile.LossFuncs:  {"function could not be described; what it recorded is missing", "functions could not be described; what they recorded is missing"},
	profile.LossPages:  {"page could not be written to the disk; its counts are missing", "pages could not be written to the disk; their counts are missing"},
	profile.LossShards: {"P had no counters of its own; its counts may be too low", "Ps had no counters of their own; their counts may be too low"},
	profile.LossTables: {"time a call site had more targets than its table can hold", "times a call site had more targets than its table can hold"},
	profile.LossChecks: {"check was not written, because the file was full", "checks were not written, because the file was full"},
	profile.LossDeep:   {"check was left out, because the stack was deep", "checks were left out, because the stack was deep"},
	profile.LossPaths: {"time a context below a lost page was entered; there recursion may be in full, or missing",
		"times a context below a lost page was entered; there recursion may be in full, or missing"},
	profile.LossIncomplete: {"context was just being created and is not included", "contexts were just being created and are not included"},
	profile.LossUnreadable: {"context could not be read, because a page that describes it was lost; there may be more",
		"contexts could not be read, because pages that describe them were lost; there may be more"},
	profile.LossSampleNodes: {"sample had no room in the tree; its time is under [overflow]", "samples had no room in the tree; their time is under [overflow]"},
	profile.LossPlaces:      {"address could not be described; it is shown as a number", "addresses could not be described; they are shown as numbers"},
	profile.LossTruncated: {"sample could not be walked to its outermost frame; it is under [truncated]",
		"samples could not be walked to their outermost frame; they are under [truncated]"},
	profile.LossTraces:  {"sample was lost, because memory for its trace ran out", "samples were lost, because memory for their traces ran out"},
	profile.LossPending: {"sample is missing its outer frames; it is under [pending]", "samples are missing their outer frames; they are under [pending]"},
	profile.LossMismatches: {"incremental trace differed from a full walk: this is an error in stemma; please report it",
		"incremental traces differed from a full walk: this is an error in stemma; please report it"},
	profile.LossUnread: {"byte of the tree could not be read; the contexts in it are missing", "bytes of the tree could not be read; the contexts in them are missing"},
}

// warnings tells what is missing from p, a line for each kind.
// Losses are added up over all processes; notes name theirs. Nothing missing gives
// no lines.
func warnings(p *profile.Profile) []string {
	var lines []string
	for _, l := range p.Lost() {
		text, ok := lossTexts[l.Kind]
		if !ok {
			text = [2]string{"loss of kind " + l.Kind, "losses of kind " + l.Kind}
		}
		lines = append(lines, profile.Printable(plural(l.Count, text[0], text[1])))
	}
	for _, proc := range p.Processes {
		for _, n := range proc.Notes {
			lines = append(lines, profile.Printable(fmt.Sprintf("pid %d: %s", proc.PID, n)))
		}
	}
	return lines
}

// percent returns the share of calls in all calls, 7 characters wide.
// With no calls at all there is no share, and it returns a dash.
func (r *reporter) percent(calls uint64) string {
	if r.totals.Calls == 0 {
		return "      -"
	}
	return fmt.Sprintf("%6.2f%%", 100*float64(calls)/float64(r.totals.Calls))
}

// cut returns how many of n entries are to be listed.
// A negative -top stands for all.
func (r *reporter) cut(n int) int {
	if r.o.top >= 0 && n > r.o.top {
		return r.o.top
	}
	return n
}

// more tells how many of n entries -top has left out.
func (r *reporter) more(n int, one string, many ...string) {
	if rest := n - r.cut(n); rest > 0 {
		r.printf("%15s and %s more %s; -top=-1 lists all\n", "", commas(uint64(rest)), noun(rest, one, many...))
	}
}

// grouped returns the groups that are asked for, in their order.
func (r *reporter) grouped() ([]cct.Group, error) {
	list, err := r.t.By(cmp.Or(r.o.by, "function"))
	if r.o.sort == "total" {
		slices.SortStableFunc(list, func(a, b cct.Group) int { return cmp.Compare(b.Total, a.Total) })
	} else {
		list = slices.DeleteFunc(list, func(g cct.Group) bool { return g.Self == 0 })
	}
	return list, err
}

// groups prints the functions, or what -by names, with the most calls: those of their own,
// and with what they call.
func (r *reporter) groups() error {
	list, err := r.grouped()
	if err != nil {
		return err
	}
	what := cmp.Or(r.o.by, "function")
	r.groupHead(what)
	for _, g := range list[:r.cut(len(list))] {
		r.groupLine(g)
	}
	r.more(len(list), what)
	return nil
}

// groupHead prints the heads of the columns of groupLine.
func (r *reporter) groupHead(what string) {
	r.head("%15s %7s %15s %7s %9s  %s", r.t.Type.Name, "%", "total", "%", "contexts", what)
}

// groupLine prints what one group sums up.
func (r *reporter) groupLine(g cct.Group) {
	r.printf("%15s %s %15s %s %9s  %s\n", r.amount(g.Self), r.percent(g.Self), r.amount(g.Total), r.percent(g.Total), commas(g.Contexts), r.groupName(g))
}

// groupName returns what a group stands for. Where functions are listed, their lines would be noise.
func (r *reporter) groupName(g cct.Group) string {
	switch {
	case g.Name == "":
		return g.File
	case r.o == nil || r.o.by == "" || r.o.by == "function":
		return g.Name
	}
	return g.Name + position(g.File, g.Line) + mark(g.Via)
}

// contexts prints the contexts with the most calls as stacks, innermost first.
// Percentages are of all calls. Truncated calls are in no context, and so the sum
// may be less than 100.
func (r *reporter) contexts() {
	r.head("%15s %7s  %s", r.t.Type.Name, "%", "context")
	hot := r.hottest()
	for _, n := range hot[:r.cut(len(hot))] {
		calls := r.t.Nodes[n].Count
		stack := r.t.Stack(n)
		r.printf("%15s %s  %s%s\n", r.amount(calls), r.percent(calls), stack[0].Func, mark(stack[0].Via))
		for _, f := range stack[1:] {
			r.printf("%15s %7s    %s%s%s\n", "", "", f.Func, position(f.File, f.Line), mark(f.Via))
		}
	}
	r.more(len(hot), "context")
	if len(hot) == 0 && r.o.re != nil {
		r.noMatch()
	}
}

// hottest returns the contexts with the most calls; with -func, those of functions that match.
func (r *reporter) hottest() []uint32 {
	hot := r.t.Hottest(-1)
	if r.o.re == nil {
		return hot
	}
	matching := make([]bool, len(r.t.Funcs))
	for i, f := range r.t.Funcs {
		matching[i] = r.o.re.MatchString(f.Name)
	}
	return slices.DeleteFunc(hot, func(n uint32) bool { return !matching[r.t.Nodes[n].Func] })
}

// noMatch says that -func matches nothing.
func (r *reporter) noMatch() {
	r.printf("no function that was called matches %s%s\n", r.o.re, likeFunctions(r.o.function, r.functions()))
}

// functions returns the names of all functions of the tree.
func (r *reporter) functions() (names []string) {
	for _, f := range r.t.Funcs {
		if !f.Pseudo {
			names = append(names, f.Name)
		}
	}
	return names
}

// position returns " file:line", or "" if the place is not known.
// Only the base name of the file is shown: the function tells the package.
func position(file string, line int) string {
	switch {
	case file == "":
		return ""
	case line == 0:
		return " " + filepath.Base(file)
	}
	return fmt.Sprintf(" %s:%d", filepath.Base(file), line)
}

// mark returns a note about how a function was entered, unless by a plain call.
func mark(v cct.Via) string {
	if v == cct.ViaCall {
		return ""
	}
	return " (" + v.String() + ")"
}

// tree prints the subtrees with the most calls, those with more calls first.
// The walk has a stack of its own, since contexts can be as deep as the program
// was, with a million frames in full recursion. The child with the most calls is
// pushed last, to come first. Percentages are of the calls in the whole subtree.
func (r *reporter) tree() {
	sum, kids := r.t.Inclusive(), r.t.Children()
	least := r.o.min / 100 * float64(r.totals.Calls)
	r.head("%15s %7s  %s", r.t.Type.Name, "total%", "context")
	type entry struct {
		node  uint32
		depth int
	}
	stack := []entry{{0, -1}}
	for len(stack) > 0 {
		e := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if e.depth >= 0 {
			r.treeLine(e.node, e.depth, sum[e.node])
		}
		if r.o.depth >= 0 && e.depth+1 >= r.o.depth {
			continue
		}
		list := slices.Clone(kids.Of(e.node))
		slices.SortStableFunc(list, func(a, b uint32) int { return cmp.Compare(sum[a], sum[b]) })
		for _, k := range list {
			if sum[k] > 0 && float64(sum[k]) >= least {
				stack = append(stack, entry{k, e.depth + 1})
			}
		}
	}
	if r.o.min > 0 {
		r.printf("%15s subtrees with less than %g%% of %s are left out; -min=0 prints all\n", "", r.o.min, r.t.Type.About)
	}
}

// treeLine prints one node: its own calls, and the share of its subtree.
func (r *reporter) treeLine(n uint32, depth int, below uint64) {
	node := r.t.Nodes[n]
	s := r.t.Sites[node.Site]
	at := ""
	if s.File != "" {
		at = "  at" + position(s.File, s.Line)
	}
	r.printf("%15s %s  %s%s%s%s\n", r.amount(node.Count), r.percent(below), strings.Repeat("  ", depth), r.t.Funcs[node.Func].Name, at, mark(s.Via))
}

// matches prints each matching function between its callers and callees.
// -top applies to the functions, and again to the callers and callees of each.
func (r *reporter) matches() {
	list := r.t.Match(r.o.re)
	for _, m := range list[:r.cut(len(list))] {
		r.neighbours("called from", m.Callers)
		r.head("%15s %s  %s  (%s)", r.amount(m.Calls), r.percent(m.Calls), r.t.Funcs[m.Func].Name, plural(m.Contexts, "context"))
		r.neighbours("calls", m.Callees)
		r.printf("\n")
	}
	r.more(len(list), "function")
	if len(list) == 0 {
		r.noMatch()
	}
}

// neighbours prints callers or callees, one line for each place of a call.
func (r *reporter) neighbours(what string, list []cct.Neighbour) {
	for _, n := range list[:r.cut(len(list))] {
		s := n.Site
		r.printf("%15s %7s    %-11s %s%s%s\n", r.amount(n.Calls), "", what, r.t.Funcs[n.Func].Name, position(s.File, s.Line), mark(s.Via))
	}
	r.more(len(list), "entry", "entries")
}
