// Package report prints one profile: by function, by context, as a tree, as JSON, and as the summary of run. It has
// stemma info as well, which prints where a profile comes from and what it has.
package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// Columns of the text forms.
//
// Calls are invocations, exact but for what the warnings say. A percentage is a
// share of all calls in the profile, whatever was selected: of the function or context
// alone, or, behind or under "total", with all that is below it. A context counts as one
// however often it was entered. Numbers are aligned for the eye; programs take -json.

// Options are the flags of report. top and json apply to all forms but
// the tree; depth and min to the tree alone.
// topGiven tells a -top of 20 from the default, which does not apply to JSON.
type Options struct {
	Contexts, Tree, JSON bool
	Classes, Goroutines  bool
	Requests             bool
	Request              RequestID
	Application          *regexp.Regexp // functions of the application, for Classes; nil for the main module
	Function, Metric     string
	Cost                 string // a table of package costmodel, or a file of costs: instructions of another machine
	costs                costs  // what that is
	By, Sort             string
	Top, Depth           int
	Min                  float64
	TopGiven, Colour     bool
	Sources              []store.Source
	Store                outside.Store

	Focus, Ignore, Hide string
	Matching            *regexp.Regexp // function, nil if it is not given
	Selection           cct.Selection
}

// Write prints p in the form that the options ask for.
// An error comes from w, or from encoding JSON.
func Write(w io.Writer, p *record.Record, o *Options) error {
	if o.JSON {
		return reportJSON(w, p, o)
	}
	store.PrintSources(w, "", o.Sources)
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
	case o.Contexts:
		r.contexts()
	case o.Tree:
		r.tree()
	case o.Classes:
		return r.classes()
	case o.Goroutines:
		return r.goroutines(p.Profile)
	case o.Requests:
		return r.requests(p.Profile)
	case o.Function != "":
		r.matches()
	default:
		return r.groups(p.Profile)
	}
	return nil
}

// newReporter expands and selects what the options ask for.
func newReporter(w io.Writer, p *record.Record, o *Options) (*reporter, error) {
	all, err := expand(p.Profile, o)
	if err != nil {
		return nil, err
	}
	if of := cct.Kind(o.By); of != nil && (!all.HasTypes() || !slices.Contains(of, all.Type)) {
		var names []string
		for _, t := range of {
			names = append(names, "-metric="+t.Name)
		}
		return nil, base.Usagef("report: -by=%s: %s has no %[1]ss; those are in %[3]s", o.By, all.Type.Name,
			strings.Join(names, ", "))
	}
	if key, ok := cct.LabelOf(o.By); ok && !all.HasLabel(key) {
		have := "it has none"
		if keys := all.Labels(); keys != nil {
			have = "it has " + strings.Join(keys, ", ")
		}
		return nil, base.Usagef("report: -by=%s: the record has no label %s (%s); build with -labels=%[2]s", o.By, key,
			have)
	}
	return &reporter{w: w, t: all.Select(o.Selection), o: o, totals: all.Totals(),
		collisions: collisionsOf(p.Profile, all), idle: neverDue(p.Profile)}, nil
}

// expand returns the tree of the value that the options ask for.
func expand(p *profile.Profile, o *Options) (*cct.Tree, error) {
	if o.Cost != "" {
		return expandCosts(p, o)
	}
	of := cct.Of
	if o.By == "line" {
		of = cct.OfLines
	}
	if o.Goroutines && !p.Has(profile.Existing) {
		return nil, base.Usagef("report: -goroutines: the record does not say which goroutines exist; build with %s",
			engine.MetricFor(profile.Existing.Name).Flag())
	}
	t, err := of(p, o.Metric)
	if err != nil {
		return nil, base.Usagef("report: %w%s", err, humanize.DidYouMean("", o.Metric, Metrics()))
	}
	return t, nil
}

// A reporter prints one tree as text.
// Write errors are left to the buffered writer that w is: it keeps the first one
// and returns it from Flush. t is what was selected; totals are those of the whole tree,
// for percentages.
type reporter struct {
	w      io.Writer
	t      *cct.Tree
	o      *Options
	totals cct.Totals

	collisions []jsonCollision // in a sum of processes
	idle       bool            // see neverDue
}

// printf drops the error: see reporter.
func (r *reporter) printf(format string, args ...any) { fmt.Fprintf(r.w, format, args...) }

// header prints what every report begins with: where the profile comes from,
// its totals, and a warning for each kind of loss. No number goes out without
// what is missing from it.
func (r *reporter) header(p *profile.Profile) {
	for _, line := range ProcessLines(p) {
		r.printf("%s\n", line)
	}
	for _, line := range SamplingLines(p) {
		r.printf("%s\n", line)
	}
	if !r.t.Type.Sampled {
		r.printf("%s\n", SummaryLine(r.t, r.totals))
	}
	if s := r.o.Selection; !s.All() {
		selected := r.t.Totals()
		like := ""
		if s.Focus != nil && selected.Contexts == 0 {
			like = humanize.LikeFunction(r.o.Focus, r.functions())
		}
		r.printf("selected: %s%s\n", SummaryLine(r.t, selected), like)
	}
	for _, line := range append(Warnings(p), collided(r.collisions), r.o.costs.warning()) {
		if line != "" {
			r.printf("%s\n", r.paint(yellow, "warning: "+line))
		}
	}
	r.printf("\n")
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
	if r.o.Top >= 0 && n > r.o.Top {
		return r.o.Top
	}
	return n
}

// more prints how many of n entries -top has left out.
func (r *reporter) more(n int, one string, many ...string) {
	if rest := n - r.cut(n); rest > 0 {
		r.printf("%15s and %s more %s; -top=-1 lists all\n", "", humanize.Commas(uint64(rest)),
			humanize.Noun(rest, one, many...))
	}
}

// grouped returns the groups that are asked for, in their order.
func (r *reporter) grouped() ([]cct.Group, error) {
	list, err := r.t.By(cmp.Or(r.o.By, "function"))
	if r.o.Sort == "total" {
		slices.SortStableFunc(list, func(a, b cct.Group) int { return cmp.Compare(b.Total, a.Total) })
	}
	return list, err
}

// groups prints the functions, or what -by names, with the most calls: those of their own,
// and with what they call.
func (r *reporter) groups(p *profile.Profile) error {
	list, err := r.grouped()
	if err != nil {
		return err
	}
	if r.t.Type == profile.ContextCPU && p.Has(profile.Calls) {
		return r.perCall(p, list)
	}
	what := cmp.Or(r.o.By, "function")
	head := what
	if t := r.t.Type; what == "line" && (t.PerCounter || t.Weighted || r.o.Cost != "") {
		head = "line of the call" // a function is counted where it is called, and not where it does what is counted
	}
	r.groupHead(head)
	if len(list) == 0 {
		r.empty()
	}
	for _, g := range list[:r.cut(len(list))] {
		r.groupLine(g)
	}
	rest := list[r.cut(len(list)):]
	if len(rest) == 0 {
		return nil
	}
	own := len(slices.DeleteFunc(slices.Clone(rest), func(g cct.Group) bool { return g.Self == 0 }))
	var parts []string
	if own > 0 {
		parts = append(parts, humanize.Commas(uint64(own))+" more "+humanize.Noun(own, what))
	}
	if leading := len(rest) - own; leading > 0 { // the totals of the header are without them
		parts = append(parts, fmt.Sprintf("%s that only %s to others", humanize.Plural(leading, what),
			humanize.Noun(leading, "leads", "lead")))
	}
	r.printf("%15s and %s; -top=-1 lists all\n", "", strings.Join(parts, ", and "))
	return nil
}

// groupHead prints the heads of the columns of groupLine.
func (r *reporter) groupHead(what string) {
	r.head("%15s %7s %15s %7s %9s  %s", r.t.Type.Name, "%", "total", "%", "contexts", what)
}

// groupLine prints what one group sums up.
func (r *reporter) groupLine(g cct.Group) {
	r.printf("%15s %s %15s %s %9s  %s\n", r.amount(g.Self), r.percent(g.Self), r.amount(g.Total), r.percent(g.Total),
		humanize.Commas(g.Contexts), r.groupName(g))
}

// groupName returns what a group stands for. Where functions are listed, their lines would be noise.
func (r *reporter) groupName(g cct.Group) string {
	switch {
	case g.Name == "":
		return g.File
	case r.o == nil || r.o.By == "" || r.o.By == "function":
		if g.Why != "" {
			return g.Name + " (" + g.Why + ")"
		}
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
		r.printf("%15s %s  %s%s\n", r.amount(calls), r.percent(calls), stack[0].Func,
			mark(stack[0].Via, stack[0].Fold))
		for _, f := range stack[1:] {
			r.printf("%15s %7s    %s%s%s\n", "", "", f.Func, position(f.File, f.Line), mark(f.Via, f.Fold))
		}
	}
	r.more(len(hot), "context")
	switch {
	case len(hot) == 0 && r.o.Matching != nil:
		r.noMatch()
	case len(hot) == 0:
		r.empty()
	}
}

// hottest returns the contexts with the most calls; with -func, those of functions that match.
func (r *reporter) hottest() []uint32 {
	hot := r.t.Hottest(-1)
	if r.o.Matching == nil {
		return hot
	}
	matching := make([]bool, len(r.t.Funcs))
	for i, f := range r.t.Funcs {
		matching[i] = r.o.Matching.MatchString(f.Name)
	}
	return slices.DeleteFunc(hot, func(n uint32) bool { return !matching[r.t.Nodes[n].Func] })
}

// noMatch says that -func matches nothing.
func (r *reporter) noMatch() {
	which := "that was called"
	if name := r.t.Type.Name; name != "calls" {
		which = "with " + name + ", of its own or below it," // whether it was called is another metric
	}
	r.printf("no function %s matches %s%s\n", which, r.o.Matching,
		humanize.LikeFunction(r.o.Function, r.functions()))
}

// empty says why a table has no rows.
func (r *reporter) empty() {
	if !r.o.Selection.All() {
		r.printf("no context is left by -focus, -ignore and -hide\n")
		return
	}
	if of, ok := r.t.Type.Varies(); ok {
		r.printf("the runs do not differ in %s\n", of)
		return
	}
	why := ""
	if r.t.Type.Sampled && r.idle {
		why = ": sampling was not started (-start=off), or the program ended before the first sample was due"
	}
	r.printf("the record has no %s%s\n", r.t.Type.Name, why)
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
