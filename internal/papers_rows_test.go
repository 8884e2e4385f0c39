package internal_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// An entry of bench/PAPERS.md stands in a table with these columns. Its state is compared with what stands behind it:
//
//   - What is implemented names what shows it: a test, a command, or a place in bench/RESULTS.md.
//   - What is replaced says "Why:", what is there in part or missing says "Missing:", and nothing else does.
//   - An entry about a table or a figure of measurements links to what RESULTS has beside that table.
//   - What is measured by neither a test nor RESULTS is not implemented.
//   - Numbers of the paper in an entry stand in what RESULTS has there as well, beside those of here.
const (
	stateImplemented = "implemented"
	stateReplaced    = "replaced"
	statePartly      = "partly"
	stateMissing     = "missing"
	stateNone        = "n/a"

	why     = "Why: "
	missing = "Missing: "
)

var states = []string{stateImplemented, stateReplaced, statePartly, stateMissing, stateNone}

// A paperRow is such an entry.
type paperRow struct{ section, paper, state, here, shown string }

func (r paperRow) String() string { return r.section + ", " + r.paper }

// A beside is what RESULTS has beside some tables or figures of a paper.
type beside struct {
	heading, text string
	measured      bool // there are figures of here
}

// measurements are the tables and figures with measurements, by paper. Other figures of the papers draw an algorithm.
var measurements = map[string][]string{
	"CCCP":           {"table 1", "table 2", "table 3", "table 4", "table 5", "table 6"},
	"DACCE and PCCE": {"table 1", "figure 8", "figure 9", "figure 10"},
	"Lucce":          {"table 1", "figure 5"},
	"ICPE'15":        {"figure 9", "figure 10", "figure 11", "figure 12", "figure 13"},
	"ACCT":           {"figure 1", "figure 2", "figure 3", "figure 4", "figure 5", "figure 6"},
}

var (
	besideLink  = regexp.MustCompile(`\]\(RESULTS\.md#([^)]*)\)`)
	tablesOf    = regexp.MustCompile(`\b(table|figure)s? (\d+)(?:(?:,| and| to) (\d+))?(?: and (\d+))?`)
	paperNumber = regexp.MustCompile(`\d[\d.,]*(?: %| times| to \d[\d.,]*(?: times| %)?)`)
	// shows matches a command, a test or a script.
	shows = regexp.MustCompile("`(?:go run \\./[a-z]+|[a-z0-9/]*\\.(?:Test|Fuzz)[A-Za-z0-9]+|" +
		"[a-z]+/[a-z_]+(?:\\.txtar)?)")
)

// TestPaperStates compares the states of entries with what they link to, and writes the list of what is missing.
func TestPaperStates(t *testing.T) {
	docs := documents(t)
	text := docs["bench/PAPERS.md"]
	rows, places := paperRows(text), besides(docs["bench/RESULTS.md"])
	if len(rows) < 140 || len(places) < 15 {
		t.Fatalf("%d entries and %d places beside tables of papers, want at least 140 and 15", len(rows), len(places))
	}
	for _, r := range rows {
		for _, problem := range r.problems(places) {
			t.Errorf("%s: %s", r, problem)
		}
	}
	for paper, list := range measurements {
		for _, m := range list {
			if !slices.ContainsFunc(rows, func(r paperRow) bool {
				return r.section == paper && slices.Contains(namesOf(r.paper), m)
			}) {
				t.Errorf("%s, %s: no entry", paper, m)
			}
		}
	}
	checkMissing(t, text, missingList(rows))
}

// paperRows returns the entries of a page.
func paperRows(text string) (rows []paperRow) {
	section, in := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		cells := strings.Split(line, "|")
		switch {
		case strings.HasPrefix(line, "## "):
			section, in = line[len("## "):], false
		case !strings.HasPrefix(line, "|"):
			in = false
		case strings.HasPrefix(line, "| paper | state |"):
			in = true
		case in && !strings.HasPrefix(line, "| ---"):
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			cells = append(cells, "", "", "", "")
			rows = append(rows, paperRow{section, cells[1], cells[2], cells[3], cells[4]})
		}
	}
	return rows
}

// besides returns the places of RESULTS that stand beside tables of papers, by their anchors, and reports those that
// do not say what was found there, here, and why that differs.
func besides(text string) map[string]beside {
	places := make(map[string]beside)
	_, text, _ = strings.Cut(text, "\n## Beside the papers\n")
	for part := range strings.SplitSeq(text, "\n### ") {
		heading, body, _ := strings.Cut(part, "\n")
		body, _, _ = strings.Cut(body, "\n## ")
		slug := strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
		_, here, _ := strings.Cut(body, "\n- **Here:** ")
		here, _, _ = strings.Cut(here, "\n- **")
		places[slug] = beside{heading, body, here != "" && !strings.HasPrefix(here, "Not measured")}
	}
	return places
}

// TestBeside looks for places beside tables of papers that do not say what was found there and here, and why the two
// differ.
func TestBeside(t *testing.T) {
	for slug, b := range besides(documents(t)["bench/RESULTS.md"]) {
		for _, part := range []string{"**Paper:** ", "**Here:** ", "**Difference:** "} {
			if slug != "" && strings.Count(b.text, "\n- "+part) != 1 {
				t.Errorf("RESULTS, %q: want one line that begins with %s", b.heading, part)
			}
		}
		if b.measured && !regexp.MustCompile(`\d`).MatchString(b.text[strings.Index(b.text, "**Here:**"):]) {
			t.Errorf("RESULTS, %q: measured, and no figure", b.heading)
		}
	}
}

// problems returns what is wrong with an entry.
func (r paperRow) problems(places map[string]beside) (list []string) {
	problem := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if !slices.Contains(states, r.state) {
		problem("want a state of %q", states)
	}
	if has := strings.Contains(r.here, why); has != (r.state == stateReplaced) {
		problem("state %s; %q is in the text: %v", r.state, why, has)
	}
	if has := strings.Contains(r.here, missing); has != (r.state == statePartly || r.state == stateMissing) {
		problem("state %s; %q is in the text: %v", r.state, missing, has)
	}
	if r.here == "" && r.shown == "" {
		problem("nothing is said about it")
	}
	linked, all := r.links(places)
	done := r.state == stateImplemented || r.state == stateReplaced
	shown := shows.MatchString(r.shown) || besideLink.MatchString(r.here+r.shown)
	if r.state == stateImplemented && !shown {
		problem("state %s; want a test, a command or a place in RESULTS that shows it", r.state)
	}
	if done && !shown && (namedExp.MatchString(r.shown) || namedTable.MatchString(r.shown)) {
		problem("state %s; it names a table of the benchmark; want a place in RESULTS with its figures", r.state)
	}
	for _, b := range linked {
		if done && !b.measured {
			problem("state %s; RESULTS, %q: not measured", r.state, b.heading)
		}
		if r.state == stateMissing && b.measured {
			problem("state %s; RESULTS, %q has figures", r.state, b.heading)
		}
	}
	for _, m := range namesOf(r.paper) {
		if slices.Contains(measurements[r.section], m) && !slices.ContainsFunc(linked, func(b beside) bool {
			return slices.Contains(namesOf(b.heading), m)
		}) {
			problem("want a link to what RESULTS has beside %s", m)
		}
	}
	for _, n := range paperNumber.FindAllString(tablesOf.ReplaceAllString(r.paper, ""), -1) {
		if r.state != stateNone && !strings.Contains(all, n) {
			problem("the paper's %s is not where it links to in RESULTS", n)
		}
	}
	return list
}

// links returns the places beside tables of the papers that an entry links to, and their texts.
func (r paperRow) links(places map[string]beside) (linked []beside, all string) {
	for _, m := range besideLink.FindAllStringSubmatch(r.here+r.shown, -1) {
		if b, ok := places[m[1]]; ok {
			linked = append(linked, b)
			all += b.text
		}
	}
	return linked, all
}

// namesOf returns the tables and figures that a text names: of "tables 3 and 4", table 3 and table 4.
func namesOf(text string) (names []string) {
	for _, m := range tablesOf.FindAllStringSubmatch(text, -1) {
		var first, last int
		fmt.Sscan(m[2], &first)
		last = first
		if m[3] != "" {
			fmt.Sscan(m[3], &last)
		}
		for i := first; i <= last; i++ {
			names = append(names, fmt.Sprintf("%s %d", m[1], i))
		}
		if m[4] != "" {
			names = append(names, m[1]+" "+m[4])
		}
	}
	return names
}

const (
	missingBegin = "<!-- This list is written by: go test ./internal -run TestPaperStates -update -->\n"
	missingEnd   = "<!-- End of the list. -->\n"
)

// missingList returns the list of what is missing.
func missingList(rows []paperRow) string {
	var list strings.Builder
	for _, r := range rows {
		if _, what, ok := strings.Cut(r.here, missing); ok {
			where, _, _ := strings.Cut(r.paper, ":")
			fmt.Fprintf(&list, "- %s, %s: %s\n", strings.TrimSuffix(r.section, " and PCCE"), where, what)
		}
	}
	return list.String()
}

// checkMissing compares the page's list of what is missing with that of its entries.
func checkMissing(t *testing.T, text, want string) {
	t.Helper()
	before, rest, ok := strings.Cut(text, missingBegin)
	have, after, ended := strings.Cut(rest, missingEnd)
	switch {
	case !ok || !ended:
		t.Error("PAPERS.md has no place for the list of what is missing")
	case *update:
		text = before + missingBegin + want + missingEnd + after
		if err := os.WriteFile("../bench/PAPERS.md", []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	case have != want:
		t.Error("PAPERS.md: what is missing by its list is not what is missing by its entries; " +
			"run go test ./internal -run TestPaperStates -update")
	}
}
