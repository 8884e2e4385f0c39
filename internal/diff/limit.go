package diff

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stemma-go/stemma/internal/chance"
	"github.com/stemma-go/stemma/profile"
)

// Limits as they are written.
//
//	limits  = limit {"," limit}
//	limit   = metric ["/" scope] ["@" pattern] ">" amount
//	scope   = "function" | "context" | "line" | "cost"
//	amount  = number "%" ["+" number] | number
//
// Without a scope a limit holds for all functions together, or for all that match the
// pattern; with one, for each of them. With the scope cost it holds for what each function costs, or each
// below those that match, see Costs. A number may have a unit: k, M, G; of bytes
// B, kB, MB, GB; of times ns, us, ms, s.

// A Pattern matches names of functions: * stands for anything, ? for one character.
type Pattern struct {
	text string
	re   *regexp.Regexp
}

// NewPattern returns the pattern with that text.
func NewPattern(text string) (Pattern, error) {
	if text == "" {
		return Pattern{}, fmt.Errorf("an empty pattern; want the name of a function, in which * stands for anything")
	}
	re := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(text))
	return Pattern{text, regexp.MustCompile("^(?s:" + re + ")$")}, nil
}

// Match reports whether the whole name matches.
func (p Pattern) Match(name string) bool { return p.re.MatchString(name) }

// A Limit says by how much a metric may grow.
type Limit struct {
	Text    string // with the name that the metric has now
	Metric  string
	Former  string // name that the limit was written with, "" for the present one
	Scope   Scope
	Pattern *Pattern // nil for all functions
	Percent float64  // of what the base has
	Amount  float64  // and that much more
	Unit    string   // that Amount was given in, "" for the value's own
}

// ParseLimits parses a list of limits.
func ParseLimits(text string) ([]Limit, error) {
	var limits []Limit
	for _, part := range splitLimits(text) {
		l, err := parseLimit(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("limit %q: %w", strings.TrimSpace(part), err)
		}
		limits = append(limits, l)
	}
	return limits, nil
}

// splitLimits splits a list at its commas, but not at those in brackets: main.Map[int,string] is one name.
func splitLimits(text string) (parts []string) {
	depth, begin := 0, 0
	for i, c := range text {
		switch {
		case c == '[':
			depth++
		case c == ']':
			depth = max(0, depth-1)
		case c == '>':
			depth = 0 // of a pattern with a bracket that is not closed: no name has it, and the amount begins
		case c == ',' && depth == 0:
			parts, begin = append(parts, text[begin:i]), i+1
		}
	}
	return append(parts, text[begin:])
}

// limitForm is what messages say a limit is.
const limitForm = "want METRIC[/SCOPE][@PATTERN]>AMOUNT, such as calls>1%, calls/function@main.*>0 or " +
	"alloc_space>1%+4kB"

// metricName is what can be the name of a metric.
var metricName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

func parseLimit(text string) (Limit, error) {
	l := Limit{Text: text}
	at := strings.LastIndexByte(text, '>')
	if at < 0 {
		return l, fmt.Errorf("no >; %s", limitForm)
	}
	what, amount := text[:at], strings.TrimSpace(text[at+1:])
	what, pattern, hasPattern := strings.Cut(what, "@")
	metric, scope, hasScope := strings.Cut(strings.TrimSpace(what), "/")
	if !metricName.MatchString(metric) {
		return l, fmt.Errorf("%q is no metric; %s", metric, limitForm)
	}
	if l.Metric = profile.CurrentName(metric); l.Metric != metric {
		l.Former, l.Text = metric, l.Metric+strings.TrimPrefix(text, metric)
	}
	if hasScope {
		var err error
		if l.Scope, err = parseScope(scope, Cost); err != nil {
			return l, err
		}
	}
	if hasPattern {
		p, err := NewPattern(strings.TrimSpace(pattern))
		if err != nil {
			return l, err
		}
		l.Pattern = &p
	}
	return l, l.parseAmount(amount)
}

// parseAmount sets by how much the value may grow.
func (l *Limit) parseAmount(text string) (err error) {
	if percent, rest, ok := strings.Cut(text, "%"); ok {
		if l.Percent, _, err = number(percent, false); err != nil || rest == "" {
			return err
		}
		if text, ok = strings.CutPrefix(rest, "+"); !ok {
			return fmt.Errorf("%q behind the %%; want + and a number", rest)
		}
	}
	l.Amount, l.Unit, err = number(text, true)
	return err
}

// units are what a number may have behind it, for a metric's unit or, if that is "", for all.
var units = []struct {
	name, unit string
	factor     float64
}{
	{"kB", "bytes", 1e3}, {"MB", "bytes", 1e6}, {"GB", "bytes", 1e9}, {"B", "bytes", 1},
	{"ns", "nanoseconds", 1}, {"us", "nanoseconds", 1e3}, {"µs", "nanoseconds", 1e3}, {"ms", "nanoseconds", 1e6},
	{"s", "nanoseconds", 1e9},
	{"k", "", 1e3}, {"M", "", 1e6}, {"G", "", 1e9},
}

// number parses a number, which may have a unit behind it.
func number(text string, withUnit bool) (n float64, unit string, err error) {
	digits, factor := strings.TrimSpace(text), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(digits, u.name); ok && withUnit {
			digits, factor, unit = rest, u.factor, u.unit
			break
		}
	}
	n, err = strconv.ParseFloat(digits, 64)
	if err != nil || strings.ContainsAny(digits, "xXpP_+") || math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		return 0, "", fmt.Errorf("%q is no amount; want a number that is not negative, such as 0, 1.5%%, "+
			"1%%+1000 or 4kB", text)
	}
	return n * factor, unit, nil
}

// allows reports whether a value may grow from base to new.
func (l *Limit) allows(base, new uint64) bool {
	return new <= base || float64(new-base) <= l.Percent/100*float64(base)+l.Amount
}

// A Result is how a limit was kept.
type Result struct {
	Limit
	Soft      bool
	Of        Value
	Base, New uint64 // of all rows that the limit is about
	Over      []int  // rows that have grown too much, the largest growth first; of Total, one
	costs     []cost // of Cost, what the numbers in Over mean
}

// Gate returns limits that find what a change makes more expensive, and let a program be rewritten: for each metric
// that both sides have and that does not depend on time. They are those that docs recommend.
func (d *Diff) Gate() []Limit {
	var list []Limit
	for _, text := range []string{"calls/cost>1%+10", "alloc_objects/cost>1%+10", "alloc_space/cost>10%+4kB",
		"ops/cost>10%+1k"} {
		limits, err := ParseLimits(text)
		if err != nil {
			panic(err) // they are constants
		}
		if _, err := d.Value(limits[0].Metric); err == nil {
			list = append(list, limits...)
		}
	}
	return list
}

// Check holds the difference against limits. An error says that one cannot be checked: a
// limit that guards nothing would keep silent for ever.
func (d *Diff) Check(limits []Limit, soft bool) ([]Result, error) {
	var results []Result
	for _, l := range limits {
		r, err := d.check(l)
		if err != nil {
			return nil, fmt.Errorf("limit %q: %w", l.Text, err)
		}
		r.Soft = soft
		results = append(results, r)
	}
	return results, nil
}

func (d *Diff) check(l Limit) (Result, error) {
	of, err := d.Value(l.Metric)
	if err != nil {
		return Result{}, err
	}
	r := Result{Limit: l, Of: of}
	if d.apart != nil && (of.PerCounter || of.Weighted) {
		return r, d.apart
	}
	for _, side := range d.Sides {
		if err := side.complete(of.Metric); err != nil {
			return r, err
		}
	}
	if l.Unit != "" && l.Unit != r.Of.Unit {
		return r, fmt.Errorf("%s has the unit %s, and the limit is in %s", l.Metric, r.Of.Unit, l.Unit)
	}
	if err := d.Knows(l.Scope); err != nil {
		return r, err
	}
	scope := l.Scope
	if scope == Total || scope == Cost {
		scope = Function
	}
	rows := d.matching(r.Of, scope, l.Pattern)
	if l.Pattern != nil && len(rows) == 0 {
		if why := chance.Why(l.Pattern.text); why != "" {
			return r, fmt.Errorf("%s is what Go does by chance (%s), and not compared; use -chance",
				l.Pattern.text, why)
		}
		return r, fmt.Errorf("no function with %s matches %s in either record; a limit that guards nothing "+
			"is a mistake", l.Metric, l.Pattern.text)
	}
	if l.Scope == Cost {
		return r, r.checkCost(rows)
	}
	values := r.Of.group.table(scope).values[r.Of.index]
	for _, i := range rows {
		r.Base, r.New = r.Base+values[0][i], r.New+values[1][i]
		if l.Scope != Total && !l.allows(values[0][i], values[1][i]) {
			r.Over = append(r.Over, i)
		}
	}
	if l.Scope == Total && !l.allows(r.Base, r.New) {
		r.Over = []int{0}
	}
	if l.Scope != Total {
		d.order(r.Over, r.Of, l.Scope)
	}
	return r, nil
}

// checkCost holds what functions cost against the limit; if it has a pattern, below these functions.
func (r *Result) checkCost(rows []int) error {
	g := r.Of.group
	var roots []bool
	if r.Pattern != nil {
		roots = make([]bool, g.numRows())
		for _, i := range rows {
			roots[i] = true
		}
	}
	c := g.newCosts(r.Of, roots)
	c.walk()
	r.costs = c.over(&r.Limit)
	for i := range r.costs {
		r.Over = append(r.Over, i)
	}
	r.Base, r.New = c.steps[0].all[0], c.steps[0].all[1]
	return nil
}

// Knows returns an error if one side does not know what a scope is about.
func (d *Diff) Knows(s Scope) error {
	for _, side := range d.Sides {
		switch {
		case s == Line && side.Baseline:
			return fmt.Errorf("%s is a baseline, which has no lines; compare two records, or by function", side.Name)
		case (s == Context || s == Cost) && !side.Contexts:
			return fmt.Errorf("%s is a baseline without contexts; make it with 'stemma baseline -contexts', or "+
				"compare by function", side.Name)
		}
	}
	return nil
}

// missing returns the error for a metric that not both sides have.
func (d *Diff) missing(value string) error {
	var lacks []string
	for _, s := range d.Sides {
		if !slices.Contains(strings.Split(s.has(), ", "), value) {
			lacks = append(lacks, fmt.Sprintf("%s has no %s, but %s", s.Name, value, s.has()))
		}
	}
	if lacks == nil {
		return fmt.Errorf("%s has another unit in %s than in %s", value, d.Sides[0].Name, d.Sides[1].Name)
	}
	return fmt.Errorf("%s; record it on both sides, or leave the limit out", strings.Join(lacks, "; "))
}

// matching returns the rows with a value whose function matches p: of a context the innermost
// one, of a call the callee. Of one that has another name now, either name will do.
func (d *Diff) matching(v Value, s Scope, p *Pattern) []int {
	g, t := v.group, v.group.table(s)
	values := t.values[v.index]
	var matches [2][]bool
	for side, tree := range g.trees {
		for _, f := range tree.Funcs {
			matches[side] = append(matches[side], p == nil || p.Match(f.Name))
		}
	}
	var rows []int
	for i := range values[0] {
		if values[0][i] == 0 && values[1][i] == 0 {
			continue
		}
		for side, tree := range g.trees {
			if n := t.at[side][i]; n != 0 && matches[side][tree.Nodes[n].Func] {
				rows = append(rows, i)
				break
			}
		}
	}
	return rows
}

// Exceeded reports whether a hard limit was not kept.
func Exceeded(results []Result) bool {
	return slices.ContainsFunc(results, func(r Result) bool { return !r.Soft && len(r.Over) > 0 })
}

// Over describes a row of r.Over.
func (d *Diff) Over(r Result, i int) Row {
	switch r.Scope {
	case Total:
		name := "all functions"
		if r.Pattern != nil {
			name = r.Pattern.text
		}
		return Row{Name: name, InBase: true, InNew: true, Base: r.Base, New: r.New}
	case Cost:
		return d.costRow(r, r.costs[i])
	}
	return d.Row(r.Of, r.Scope, i)
}

// costRow describes the calls of a function that cost more.
func (d *Diff) costRow(r Result, x cost) Row {
	g := r.Of.group
	names := func(row uint32) string {
		for side := 1; side >= 0; side-- {
			for i, other := range g.match.Functions(side) {
				if other == row {
					return g.name(g.trees[side].Funcs[i].Name)
				}
			}
		}
		return ""
	}
	row := Row{Name: names(x.caller), InBase: true, InNew: true, Base: x.base, New: x.new}
	switch {
	case x.callee == goRow:
		row.Name += " → go"
	case x.callee != x.caller:
		row.Name += " → " + names(x.callee)
	}
	if site := g.trees[1].Sites[g.trees[1].Nodes[x.node].Site]; x.node != 0 {
		row.File, row.Line = site.File, site.Line
	}
	return row
}

// Where returns the place to look at for a row of r.Over, in a file for which in is true.
func (d *Diff) Where(r Result, i int, in func(file string) bool) (file string, line int, ok bool) {
	switch r.Scope {
	case Cost:
		g := r.Of.group
		return g.placeAbove(g.trees[1], r.costs[i].node, in)
	case Total:
		if i, ok = d.Largest(r); !ok {
			return "", 0, false
		}
		r.Scope = Function
	}
	if file, line, ok = d.Place(r.Of, r.Scope, i, in); ok {
		return file, line, true
	}
	row := d.Row(r.Of, r.Scope, i)
	return row.File, row.Line, row.Line > 0 && in(row.File)
}
