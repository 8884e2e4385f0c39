package suite

import (
	"fmt"
	"slices"
	"strings"
)

// Report is all results, sorted by what they mean.
type Report struct {
	results []*Result
}

// NewReport returns the report of results.
func NewReport(results []*Result) *Report { return &Report{results} }

// OK reports whether no test has failed that should pass.
func (r *Report) OK() bool {
	return !slices.ContainsFunc(r.results, func(x *Result) bool { return len(x.unknown) > 0 })
}

// Outcome returns a few words on x.
func (x *Result) Outcome() string {
	switch {
	case x.notRun:
		return "listed, not run"
	case len(x.unknown) > 0:
		return "FAIL " + strings.Join(x.unknown, " ")
	case len(x.plain) > 0:
		return "also fails in plain Go: " + strings.Join(x.plain, " ")
	case len(x.listed) > 0:
		return "passes but for exceptions: " + strings.Join(x.listed, " ")
	}
	return "passes"
}

// count returns how many results have an outcome that begins so.
func (r *Report) count(prefix string) int {
	n := 0
	for _, x := range r.results {
		if strings.HasPrefix(x.Outcome(), prefix) {
			n++
		}
	}
	return n
}

// Failures returns what should not have failed, with the end of its output.
func (r *Report) Failures() string {
	var b strings.Builder
	for _, x := range r.results {
		for _, name := range x.unknown {
			fmt.Fprintf(&b, "\nFAIL %s\n%s\n", x.name(name), lastLines(x.output[name], 25))
		}
	}
	return b.String()
}

// Summary returns in a line how many tests passed, and how many did not, by the reason.
func (r *Report) Summary() string {
	var passed, failed, listed, plain, flaky int
	for _, x := range r.results {
		passed += x.passed
		failed += len(x.unknown)
		listed += len(x.listed)
		plain += len(x.plain)
		flaky += len(x.flaky)
		if x.notRun {
			listed++
		}
	}
	s := fmt.Sprintf("%d passed, %d failed", passed, failed)
	for _, c := range []struct {
		n    int
		what string
	}{{listed, "listed"}, {plain, "also failed in plain Go"}, {flaky, "failed once"}} {
		if c.n > 0 {
			s += fmt.Sprintf(", %d %s", c.n, c.what)
		}
	}
	return s
}

// Text returns the report: the failures that should not be first.
func (r *Report) Text(known Exceptions) string {
	var b strings.Builder
	b.WriteString(r.Failures())
	fmt.Fprintf(&b, "\n%d packages with tests\n", len(r.results))
	fmt.Fprintf(&b, "%6d pass all their tests when instrumented\n", r.count("passes")-r.count("passes but"))
	fmt.Fprintf(&b, "%6d pass but for listed exceptions\n", r.count("passes but"))
	fmt.Fprintf(&b, "%6d are listed as a whole and were not run\n", r.count("listed"))
	fmt.Fprintf(&b, "%6d have a test that also fails in plain Go\n", r.count("also fails in plain"))
	fmt.Fprintf(&b, "%6d fail\n", r.count("FAIL"))
	r.list(&b, "exceptions", func(x *Result) []string { return x.exceptions(known) })
	r.list(&b, "also fail in plain Go", func(x *Result) []string { return x.names(x.plain) })
	r.list(&b, "failed once, passed when run again", func(x *Result) []string { return x.names(x.flaky) })
	r.list(&b, "listed, but passed", func(x *Result) []string { return x.names(x.stale) })
	r.list(&b, "failed", func(x *Result) []string { return x.names(x.unknown) })
	return b.String()
}

func (r *Report) list(b *strings.Builder, title string, of func(*Result) []string) {
	var all []string
	for _, x := range r.results {
		all = append(all, of(x)...)
	}
	if len(all) > 0 {
		fmt.Fprintf(b, "\n%s:\n\t%s\n", title, strings.Join(all, "\n\t"))
	}
}

// exceptions returns the listed failures of x with their reasons.
func (x *Result) exceptions(known Exceptions) []string {
	if x.notRun {
		return []string{x.pkg + ": " + known[x.pkg]}
	}
	var all []string
	for _, test := range x.listed {
		reason := known[x.name(test)]
		if reason == "" {
			reason = known[x.pkg]
		}
		all = append(all, x.name(test)+": "+reason)
	}
	return all
}

// name returns the name of a test as exceptions.txt spells it.
func (x *Result) name(test string) string {
	if test == "" {
		return x.pkg
	}
	return x.pkg + "." + test
}

func (x *Result) names(tests []string) []string {
	all := make([]string, len(tests))
	for i, test := range tests {
		all[i] = x.name(test)
	}
	return all
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return "\t" + strings.Join(lines[max(0, len(lines)-n):], "\n\t")
}
