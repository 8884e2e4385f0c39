// Package module reads files of -module, which add metrics to programs.
//
// # The form
//
// A file has a definition on each line. What follows # or // at the beginning of a line or behind a space is a comment.
//
//	metric NAME UNIT
//	count  FUNCTION, FUNCTION...
//	add    VALUE of FUNCTION, FUNCTION...
//
// A rule, count or add, belongs to the metric above it.
package module

import (
	"encoding/base64"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// A Module is what such a file has. The zero value is none.
type Module struct {
	Path    string // as it was typed
	Metrics []Metric
	Rules   []Rule
}

// A Metric is one that is recorded.
type Metric struct{ Name, Unit string }

// A Rule adds to a metric whenever functions are called.
type Rule struct {
	Line    int    // of the file
	Metric  int    // index in Metrics
	Kind    string // of package layout
	Which   string // the index or the name of an argument or a result; "-" for calls
	Pattern string // of functions, see [layout.MatchFunc]
}

// maxSize is how large a file may be: the compiler gets it in a variable of the environment.
const maxSize = 32 << 10

// maxEncoded is how long its word may be: Linux gives an argument, or a variable with its value, 128 KiB, and this is a
// part of -toolexec.
const maxEncoded = 96 << 10

// Parse reads a file.
func Parse(name string, text []byte) (*Module, error) {
	if len(text) > maxSize {
		return nil, fmt.Errorf("%s: %d bytes; a file of definitions has at most %d", name, len(text), maxSize)
	}
	if strings.ContainsRune(string(text), 0) {
		return nil, fmt.Errorf("%s: not a text; want definitions, as metric NAME UNIT", name)
	}
	m := &Module{Path: name}
	line := 0
	for s := range strings.Lines(string(text)) {
		line++
		if err := m.parseLine(line, strings.TrimSpace(withoutComment(s))); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
	}
	for i, metric := range m.Metrics {
		if !m.hasRule(i) {
			return nil, fmt.Errorf("%s: nothing adds to metric %s; write count FUNCTION or add VALUE of FUNCTION "+
				"below it", name, metric.Name)
		}
	}
	if len(m.Metrics) == 0 {
		return nil, fmt.Errorf("%s: no metric; begin with metric NAME UNIT", name)
	}
	if n := len(m.Encode()); n > maxEncoded {
		return nil, fmt.Errorf("%s: the rules have %d bytes together, and the compiler can be told %d; name several "+
			"functions by one pattern, as (*os.File).*", name, n, maxEncoded)
	}
	return m, nil
}

// withoutComment returns a line up to its comment.
func withoutComment(s string) string {
	for i := range s {
		if i > 0 && s[i-1] != ' ' && s[i-1] != '\t' {
			continue
		}
		if s[i] == '#' || strings.HasPrefix(s[i:], "//") {
			return s[:i]
		}
	}
	return s
}

func (m *Module) hasRule(metric int) bool {
	for _, r := range m.Rules {
		if r.Metric == metric {
			return true
		}
	}
	return false
}

// parseLine reads a definition.
func (m *Module) parseLine(line int, s string) error {
	word, rest := s, ""
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		word, rest = s[:i], strings.TrimSpace(s[i:])
	}
	switch word {
	case "":
		return nil
	case "metric":
		return m.parseMetric(strings.Fields(rest))
	case "count":
		return m.parseRules(line, layout.ModuleCount, "-", rest)
	case "add":
		value, functions, ok := cutOf(rest)
		if !ok {
			return fmt.Errorf("add %s: no function; write add VALUE of FUNCTION, as add result 0 of (*os.File).Write",
				rest)
		}
		kind, which, err := parseValue(value)
		if err != nil {
			return err
		}
		return m.parseRules(line, kind, which, functions)
	}
	return fmt.Errorf("%s: no such definition (have metric, count, add)", word)
}

// parseMetric reads what follows the word metric.
func (m *Module) parseMetric(words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("metric %s: want its name and its unit, as metric sent bytes", strings.Join(words, " "))
	}
	const form = "up to 64 letters, digits and underscores, and begins with a letter"
	for i, what := range []string{"name", "unit"} {
		if !layout.IsMetricWord(words[i]) {
			return fmt.Errorf("metric %s: %q is no %s; a %s has %s", words[0], words[i], what, what, form)
		}
	}
	if layout.IsReservedMetric(words[0]) {
		return fmt.Errorf("metric %s: stemma has this name itself; choose another one", words[0])
	}
	for _, other := range m.Metrics {
		if other.Name == words[0] {
			return fmt.Errorf("metric %s is there twice; all that adds to it goes below one of them", other.Name)
		}
	}
	if len(m.Metrics) == layout.MaxMetrics {
		return fmt.Errorf("metric %s: one too many; a program may have %d", words[0], layout.MaxMetrics)
	}
	m.Metrics = append(m.Metrics, Metric{words[0], words[1]})
	return nil
}

// cutOf cuts at the first word of.
func cutOf(s string) (before, after string, ok bool) {
	fields := strings.Fields(s)
	for i, f := range fields {
		if f == "of" {
			return strings.Join(fields[:i], " "), strings.Join(fields[i+1:], " "), true
		}
	}
	return s, "", false
}

// values matches what can be added.
var values = regexp.MustCompile(`^(len ?\( ?)?(arg|result) ?(\w+)( ?\))?$`)

// parseValue reads what a rule adds.
func parseValue(s string) (kind, which string, err error) {
	v := values.FindStringSubmatch(s)
	if v == nil || (v[1] == "") != (v[4] == "") || !strings.Contains(s, v[2]+" ") {
		return "", "", fmt.Errorf("add %s: no such value (have arg N, result N, len(arg N), len(result N); N is an "+
			"index from 0 on, or a name)", s)
	}
	kind = v[2]
	if v[1] != "" {
		kind = "len-" + kind
	}
	return kind, v[3], nil
}

// parseRules reads the functions of a rule.
func (m *Module) parseRules(line int, kind, which, functions string) error {
	if len(m.Metrics) == 0 {
		return fmt.Errorf("no metric to add to; write metric NAME UNIT above")
	}
	if functions == "" {
		return fmt.Errorf("no function; write its name as go doc does, as (*os.File).Write")
	}
	functions = strings.ReplaceAll(functions, "[...]", "") // as stack traces have all instances of a function
	if i := strings.IndexAny(functions, "[]"); i >= 0 {
		return fmt.Errorf("%s: a rule is of all instances of a generic function; write [...] for the arguments of "+
			"types, or nothing", functions)
	}
	for f := range strings.SplitSeq(functions, ",") {
		pattern, err := parseFunction(strings.TrimSpace(f))
		if err != nil {
			return err
		}
		m.Rules = append(m.Rules, Rule{line, len(m.Metrics) - 1, kind, which, pattern})
	}
	return nil
}

// before matches a method as package go/types writes it, with its receiver before the rest: (*path.T).F, (path.T).F.
// functions matches what a function is called: path.F, path.T.F or path.(*T).F.
var (
	before    = regexp.MustCompile(`^\((\*?)([^()]+)\.([^().]+)\)\.([^().]+)$`)
	functions = regexp.MustCompile(`^[^()\s"'` + "`" + `]+\.(\(\*[\p{L}\d_*]+\)\.)?[\p{L}\d_*]+$`)
)

// parseFunction returns the pattern of a function, as package layout has it.
func parseFunction(s string) (string, error) {
	if s == "" {
		return "", fmt.Errorf("no function between two commas")
	}
	f := strings.ReplaceAll(s, "%2e", ".") // as stack traces have paths
	if v := before.FindStringSubmatch(f); v != nil {
		f = v[2] + "." + v[3] + "." + v[4]
		if v[1] != "" {
			f = v[2] + ".(*" + v[3] + ")." + v[4]
		}
	}
	if !functions.MatchString(f) {
		return "", fmt.Errorf("%s: not a function; write it as go doc or a stack trace does, with its package: "+
			"net/http.Get, (*os.File).Write or os.(*File).Write", s)
	}
	if isRuntime(f) {
		return "", fmt.Errorf("%s: a function of the runtime, which is not instrumented; count what calls it", s)
	}
	return f, nil
}

// isRuntime reports whether a pattern is of functions of the runtime. There are more natives; the build knows them.
func isRuntime(pattern string) bool {
	for _, pkg := range []string{"runtime.", "runtime/internal/", "internal/runtime/", "internal/abi.", "unsafe."} {
		if strings.HasPrefix(pattern, pkg) {
			return true
		}
	}
	return false
}

// Encode returns what the compiler is told, "" of no module. What differs in comments alone is the same.
func (m *Module) Encode() string {
	if len(m.Rules) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(path.Base(strings.ReplaceAll(m.Path, "\n", " ")))
	for _, r := range m.Rules {
		fmt.Fprintf(&b, "\n%d %d %s %s %s", r.Line, r.Metric, r.Kind, r.Which, r.Pattern)
	}
	return base64.RawURLEncoding.EncodeToString([]byte(b.String()))
}

// Told returns what the runtime is told: the metrics, in order.
func (m *Module) Told() string {
	var list []string
	for _, metric := range m.Metrics {
		list = append(list, metric.Name+":"+metric.Unit)
	}
	return strings.Join(list, "+")
}

// IsExact reports whether the rule is of one function.
func (r *Rule) IsExact() bool { return !strings.Contains(strings.ReplaceAll(r.Pattern, "(*", ""), "*") }

// MayMatch reports whether the rule can be of functions of a package.
func (r *Rule) MayMatch(pkg string) bool {
	literal := r.Pattern
	if i := strings.IndexByte(strings.ReplaceAll(literal, "(*", "(("), '*'); i >= 0 {
		literal = literal[:i]
	}
	return strings.HasPrefix(literal, pkg+".") || literal != r.Pattern && strings.HasPrefix(pkg+".", literal)
}

// Text returns the rule as one may write it.
func (r *Rule) Text() string {
	value := r.Kind + " " + r.Which
	switch r.Kind {
	case layout.ModuleCount:
		return "count " + r.Pattern
	case layout.ModuleLenArg, layout.ModuleLenResult:
		value = "len(" + strings.TrimPrefix(r.Kind, "len-") + " " + r.Which + ")"
	}
	return "add " + value + " of " + r.Pattern
}
