package diff

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
)

// rowName returns the name of a row in one line that is not too long.
func rowName(r diff.Row) string {
	if r.Stack != nil {
		return report.ContextLine(r.Stack)
	}
	return r.Name
}

// growth returns the difference of two values as a percentage.
func growth(base, new uint64) string {
	switch {
	case base == new:
		return "no change"
	case base == 0:
		return "new"
	}
	percent := 100 * (float64(new) - float64(base)) / float64(base)
	text := fmt.Sprintf("%+.2f%%", percent)
	if text == "+0.00%" || text == "-0.00%" {
		return text[:1] + "<0.01%"
	}
	return text
}

// signed returns a difference with its sign.
func signed(v diff.Value, base, new uint64) string {
	if new < base {
		return "-" + amountOf(v, base-new)
	}
	return "+" + amountOf(v, new-base)
}

// amountOf returns a value for people to read, in its unit.
func amountOf(v diff.Value, n uint64) string {
	switch v.Unit {
	case "nanoseconds":
		return fmt.Sprintf("%.3f ms", float64(n)/1e6)
	case "bytes":
		return humanize.Commas(n) + " B"
	}
	return humanize.Commas(n)
}

// inWorkspace returns a file relative to the working directory, with slashes; ok is false if it lies
// outside, where no annotation can point.
func inWorkspace(file string) (rel string, ok bool) {
	wd, err := os.Getwd()
	if err != nil || !filepath.IsAbs(file) {
		return "", false
	}
	rel, err = filepath.Rel(wd, file)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// Print prints the difference in the format that was asked for.
func (c *Result) Print(w io.Writer) error {
	switch c.o.Format {
	case "json":
		return c.writeJSON(w)
	case "markdown":
		c.markdown(w)
	case "benchmark":
		c.benchmark(w)
	default:
		c.text(w)
	}
	return nil
}

// rows returns the rows of v to show, and how many more there are.
func (c *Result) rows(v diff.Value) (rows []diff.Row, more int) {
	changed, _ := c.d.Changed(v, c.o.Scope)
	top := len(changed)
	if c.o.Top >= 0 && (c.o.Format != "json" || c.o.TopGiven) {
		top = min(top, c.o.Top)
	}
	for _, i := range changed[:top] {
		rows = append(rows, c.d.Row(v, c.o.Scope, i))
	}
	return rows, len(changed) - top
}

// text prints for people.
func (c *Result) text(w io.Writer) {
	store.PrintSources(w, "base ", c.sources[0])
	store.PrintSources(w, "new  ", c.sources[1])
	for _, n := range c.notes {
		fmt.Fprintf(w, "note: %s\n", n)
	}
	for _, line := range c.matched() {
		fmt.Fprintln(w, line)
	}
	for _, v := range c.d.Values {
		rows, more := c.rows(v)
		fmt.Fprintf(w, "\n%s: %s → %s (%s)", v.Name, amountOf(v, v.Base), amountOf(v, v.New), growth(v.Base, v.New))
		if len(rows)+more == 0 {
			fmt.Fprintf(w, ", the same in each %s\n", c.o.Scope)
			c.chance(w, v)
			c.varying(w, v)
			continue
		}
		fmt.Fprintf(w, ", %s %s\n\n%15s %15s %15s %10s  %s\n", humanize.Plural(len(rows)+more, c.o.Scope.String()),
			humanize.Noun(len(rows)+more, "differs", "differ"), "base", "new", "difference", "%", c.o.Scope)
		for _, r := range rows {
			fmt.Fprintf(w, "%15s %15s %15s %10s  %s\n", amountOf(v, r.Base), amountOf(v, r.New),
				signed(v, r.Base, r.New), growth(r.Base, r.New), c.title(r))
		}
		if more > 0 {
			fmt.Fprintf(w, "%15s and %s more; -top=-1 lists all\n", "", humanize.Plural(more, c.o.Scope.String()))
		}
		c.chance(w, v)
		c.varying(w, v)
	}
	if len(c.results) > 0 {
		fmt.Fprintln(w)
	}
	for _, r := range c.results {
		fmt.Fprintf(w, "limit %-24s %s\n", r.Text, c.kept(r))
	}
}

// chance says how much is not compared because Go does it by chance. A baseline has none of it.
func (c *Result) chance(w io.Writer, v diff.Value) {
	switch {
	case c.sides[0].Baseline || c.sides[1].Baseline:
	case v.Chance[0] != v.Chance[1]:
		fmt.Fprintf(w, "\n%s by chance, not compared: %s of base, %s of new; -chance compares them\n", v.Name,
			amountOf(v, v.Chance[0]), amountOf(v, v.Chance[1]))
	case v.Chance[0] > 0:
		fmt.Fprintf(w, "\n%s by chance, not compared: %s on both sides; -chance compares them\n", v.Name,
			amountOf(v, v.Chance[0]))
	}
}

// varying prints what is not compared because it varies.
func (c *Result) varying(w io.Writer, v diff.Value) {
	list := c.d.VaryingContexts(v)
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n\n%15s  context\n", c.varyingLine(v, len(list)), "varies by")
	for i, x := range list {
		if c.o.Top >= 0 && i == c.o.Top {
			fmt.Fprintf(w, "%15s and %s more; -top=-1 lists all\n", "", humanize.Plural(len(list)-i, "context"))
			break
		}
		by := amountOf(v, x.By)
		if x.By == 0 {
			by = "-"
		}
		fmt.Fprintf(w, "%15s  %s\n", by, report.ContextLine(x.Stack))
	}
}

// varyingLine says how much is not compared because it varies in n contexts.
func (c *Result) varyingLine(v diff.Value, n int) string {
	return fmt.Sprintf("%s in %s that %s from run to run, with what is called there, not compared: "+
		"%s of base, %s of new", v.Name,
		humanize.Plural(n, "context"), humanize.Noun(n, "varies", "vary"), amountOf(v, v.Varying[0]),
		amountOf(v, v.Varying[1]))
}

// kept says how a limit was kept, in short.
func (c *Result) kept(r diff.Result) string {
	switch {
	case len(r.Over) == 0:
		return fmt.Sprintf("kept: %s → %s (%s)", amountOf(r.Of, r.Base), amountOf(r.Of, r.New), growth(r.Base, r.New))
	case r.Scope == diff.Total:
		return fmt.Sprintf("exceeded: %s → %s (%s)", amountOf(r.Of, r.Base), amountOf(r.Of, r.New),
			growth(r.Base, r.New))
	}
	return "exceeded by " + humanize.Plural(len(r.Over), rowOf(r.Scope))
}

// rowOf says what exceeds a limit of a scope.
func rowOf(s diff.Scope) string {
	if s == diff.Cost {
		return diff.Function.String()
	}
	return s.String()
}

// title returns the name of a row with what else has changed about it.
func (c *Result) title(r diff.Row) string {
	name := rowName(r)
	if c.o.Scope == diff.Line && r.Line > 0 {
		name += fmt.Sprintf(" %s:%d", shortFile(r.File), r.Line)
	}
	switch {
	case r.Change() == "added" || r.Change() == "removed":
		return name + " (" + r.Change() + ")"
	case c.o.Scope == diff.Context && r.Was != "":
		return name + " (a function has another name)"
	}
	if h := howLine(r); h != "" && r.How != "lines" {
		return name + " (" + h + ")"
	}
	return name
}

// shortFile returns the last part of a file's name.
func shortFile(file string) string { return file[strings.LastIndexAny(file, `/\`)+1:] }

// howLine says where a row was in the base, if it was elsewhere.
func howLine(r diff.Row) string {
	switch {
	case r.How == "lines":
		return fmt.Sprintf("line %d, was %d", r.Line, r.WasLine)
	case r.Was != "":
		return r.How + ", was " + r.Was
	case r.How != "":
		return fmt.Sprintf("%s, was in %s", r.How, shortFile(r.WasFile))
	}
	return ""
}

// matched returns lines about functions that are the same in spite of other names or places.
func (c *Result) matched() []string {
	counts := make(map[string]int)
	var lines []string
	for _, r := range c.d.Matched() {
		counts[r.How]++
		if r.How == "renamed" || r.How == "moved" {
			if len(lines) < store.MaxListed {
				lines = append(lines, fmt.Sprintf("%s: %s", r.Name, howLine(r)))
			}
		}
	}
	if more := counts["renamed"] + counts["moved"] - len(lines); more > 0 {
		lines = append(lines,
			fmt.Sprintf("and %s more with another name or in another file; -json lists all",
				humanize.Plural(more, "function")))
	}
	if n := counts["renumbered"]; n > 0 {
		lines = append(lines, humanize.Plural(n, "closure")+" with another number only")
	}
	if n := counts["lines"]; n > 0 {
		lines = append(lines, humanize.Plural(n, "function")+" on other lines only")
	}
	return lines
}

// cell makes text fit for a cell of a table, in which it is code.
func cell(text string) string {
	return "`` " + strings.NewReplacer("|", "\\|", "`", "'", "\n", " ").Replace(text) + " ``"
}

// markdown prints a summary for a pull request.
func (c *Result) markdown(w io.Writer) {
	verdict := "no limits were given"
	switch {
	case diff.Exceeded(c.results):
		verdict = "❌ a limit is exceeded"
	case slices.ContainsFunc(c.results, func(r diff.Result) bool { return len(r.Over) > 0 }):
		verdict = "⚠️ a limit that warns is exceeded"
	case len(c.results) > 0:
		verdict = "✅ all limits are kept"
	}
	fmt.Fprintf(w, "### stemma diff: %s\n\n%s → %s\n\n", verdict, cell(c.sides[0].Name), cell(c.sides[1].Name))
	if len(c.results) > 0 {
		fmt.Fprint(w, "| limit | |\n| --- | --- |\n")
		for _, r := range c.results {
			fmt.Fprintf(w, "| %s | %s |\n", cell(r.Text), c.kept(r))
		}
		fmt.Fprintln(w)
	}
	for _, v := range c.d.Values {
		c.markdownValue(w, v)
	}
	for _, line := range append(c.notes, c.matched()...) {
		fmt.Fprintf(w, "- %s\n", cell(line))
	}
}

// markdownValue prints the table of a value.
func (c *Result) markdownValue(w io.Writer, v diff.Value) {
	rows, more := c.rows(v)
	fmt.Fprintf(w, "**%s**: %s → %s (%s)\n\n", v.Name, amountOf(v, v.Base), amountOf(v, v.New), growth(v.Base, v.New))
	if list := c.d.VaryingContexts(v); len(list) > 0 {
		fmt.Fprintf(w, "%s\n\n", c.varyingLine(v, len(list)))
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "| base | new | | %% | %s |\n| ---: | ---: | ---: | ---: | --- |\n", c.o.Scope)
	for _, r := range rows {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s |\n", amountOf(v, r.Base), amountOf(v, r.New),
			signed(v, r.Base, r.New), growth(r.Base, r.New), cell(c.title(r)))
	}
	if more > 0 {
		fmt.Fprintf(w, "\nand %s more\n", humanize.Plural(more, c.o.Scope.String()))
	}
	fmt.Fprintln(w)
}

// Units of the Go benchmark format, by those of values.
var benchmarkUnits = map[string]string{"nanoseconds": "-ns", "bytes": "-B"}

// benchmark prints both sides in the format of Go benchmarks, told apart by the key "side".
// Unit lines tell that exact values need no statistics (golang.org/issue/43744).
func (c *Result) benchmark(w io.Writer) {
	unit := func(v diff.Value) string { return v.Name + benchmarkUnits[v.Unit] } // as of a benchmark's result
	for _, v := range c.d.Values {
		assume := "assume=exact"
		if v.Sampled {
			assume = "assume=nothing"
		}
		fmt.Fprintf(w, "Unit %s better=lower %s\n", unit(v), assume)
	}
	for side, name := range []string{"base", "new"} {
		fmt.Fprintf(w, "\nside: %s\n\nBenchmarkTotal 1", name)
		for _, v := range c.d.Values {
			fmt.Fprintf(w, " %d %s", [2]uint64{v.Base, v.New}[side], unit(v))
		}
		fmt.Fprintln(w)
		for _, v := range c.d.Values {
			for _, r := range c.d.All(v, c.o.Scope) {
				if n, there := r.Base, r.InBase; side == 0 && there {
					fmt.Fprintf(w, "%s 1 %d %s\n", benchmarkName(c.o.Scope, r), n, unit(v))
				} else if side == 1 && r.InNew {
					fmt.Fprintf(w, "%s 1 %d %s\n", benchmarkName(c.o.Scope, r), r.New, unit(v))
				}
			}
		}
	}
}

// benchmarkName returns the name of a row as that of a benchmark, which has no spaces.
func benchmarkName(s diff.Scope, r diff.Row) string {
	name := strings.NewReplacer(" ← ", "←", " → ", "→").Replace(r.Name)
	return "Benchmark" + strings.ToUpper(s.String()[:1]) + s.String()[1:] + "/" +
		strings.Join(strings.Fields(name), "_")
}

// Annotate prints what exceeds limits as commands of GitHub's workflows, at the call that
// has grown most. They go to standard error, which the runner reads as well: standard
// output may be a file.
func (c *Result) Annotate(w io.Writer) {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	for _, r := range c.results {
		kind := "error"
		if r.Soft {
			kind = "warning"
		}
		over := r.Over
		if c.o.Top >= 0 {
			over = over[:min(len(over), c.o.Top)]
		}
		for _, i := range over {
			where := ""
			if file, line, ok := c.whereGrown(r, i); ok {
				where = fmt.Sprintf("file=%s,line=%d,", property.Replace(file), line)
			}
			fmt.Fprintf(w, "::%s %stitle=stemma diff::%s\n", kind, where, data.Replace(c.exceeded(r, i)))
		}
	}
}

// whereGrown returns the line to annotate for a row that exceeds a limit: that of the nearest call in the working
// directory that leads to most of the growth, or where the function begins.
func (c *Result) whereGrown(r diff.Result, i int) (rel string, line int, ok bool) {
	in := func(file string) bool {
		_, ok := inWorkspace(file)
		return ok
	}
	file, line, ok := c.d.Where(r, i, in)
	if ok {
		rel, ok = inWorkspace(file)
	}
	return rel, line, ok
}
