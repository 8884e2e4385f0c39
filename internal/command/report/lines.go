package report

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// Describe returns one line about a process.
// Of the program only the base name is shown; arguments are cut at 60 characters.
func Describe(proc profile.Process) string {
	args := slices.Clone(proc.Args)
	if len(args) > 0 {
		args[0] = filepath.Base(args[0])
	}
	parts := []string{humanize.Shorten(strings.Join(args, " "), 60), pid(proc), proc.GoVersion}
	if !proc.Start.IsZero() {
		parts = append(parts, proc.Start.Format("2006-01-02 15:04:05 UTC"))
	}
	if proc.Full {
		parts = append(parts, "full recursion")
	}
	if s := proc.Segment; s != nil {
		parts = append(parts, segmentText(s))
	}
	return profile.Printable(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · "))
}

// pid names a process by its number; "" if it stands for several.
func pid(proc profile.Process) string {
	if proc.PID == 0 {
		return ""
	}
	return fmt.Sprint("pid ", proc.PID)
}

// segmentText says which part of a run was read.
func segmentText(s *profile.Segment) string {
	const layout = "2006-01-02 15:04:05"
	began, ended := s.Began.Format(layout), s.Ended.Format(layout)
	switch {
	case s.Number == 0 && s.Dropped > 0:
		return fmt.Sprintf("all of %s, %s dropped", humanize.Plural(s.Closed, "segment"), humanize.Commas(s.Dropped))
	case s.Number == 0:
		return "all of " + humanize.Plural(s.Closed, "segment")
	case s.Ended.IsZero() && s.Closed == 0:
		return "no segment has ended, from " + began
	case s.Ended.IsZero():
		return fmt.Sprintf("what came after segment %d, from %s", s.Closed, began)
	}
	return fmt.Sprintf("segment %d, %s to %s", s.Number, began, ended)
}

// ProcessLines returns a line for each process, of many only for some, and one if the counts are not their sum.
func ProcessLines(p *profile.Profile) []string {
	var lines []string
	for i, proc := range p.Processes {
		if i == store.MaxListed && len(p.Processes) > store.MaxListed+1 {
			lines = append(lines, "and "+humanize.Plural(len(p.Processes)-i, "more process", "more processes"))
			break
		}
		lines = append(lines, Describe(proc))
	}
	for _, c := range p.Columns {
		if of, ok := c.Varies(); ok {
			return append(lines, profile.Printable(fmt.Sprintf("runs of the same work: counts are those of the "+
				"first run, not a sum; by how much %s vary is in -metric=%s", of, c.Name)))
		}
	}
	return lines
}

// SummaryLine returns the totals of a tree in one line.
func SummaryLine(tree *cct.Tree, t cct.Totals) string {
	s := humanize.Plural(t.Calls, "call")
	switch {
	case tree.Type.Name == profile.Calls.Name:
	case tree.Type.Counts():
		s = humanize.Commas(t.Calls) + " " + tree.Type.Name
	case tree.Type.Unit == profile.AllocSpace.Unit:
		if s = humanize.Plural(t.Calls, "byte"); tree.Type.Name != tree.Type.Unit {
			s += " of " + tree.Type.Name
		}
	default:
		s = humanize.Amount(tree.Type, t.Calls) + " of " + tree.Type.Name
	}
	s += " · " + humanize.Plural(t.Contexts, "context") + " · " + humanize.Plural(t.Functions, "function")
	if t.Truncated > 0 {
		s += " · " + humanize.Plural(t.Truncated, "call") + " truncated"
	}
	return s
}

// lossTexts say what each kind of loss means for the numbers of a report: of one,
// and of several. Each follows a number. A kind without a text, of a later version, is
// shown by its name.
var lossTexts = map[string][2]string{
	profile.LossNodes: {"time a new context had no room; its calls are counted by function, under [overflow]",
		"times a new context had no room; their calls are counted by function, under [overflow]"},
	profile.LossFuncs: {"function could not be described; what it recorded is missing",
		"functions could not be described; what they recorded is missing"},
	profile.LossPages: {"page could not be written to the disk; its counts are missing",
		"pages could not be written to the disk; their counts are missing"},
	profile.LossShards: {"P had no counters of its own; its counts may be too low",
		"Ps had no counters of their own; their counts may be too low"},
	profile.LossTables: {"time a target of a call site had no room in its table; its calls are in several contexts",
		"times a target of a call site had no room in its table; its calls are in several contexts"},
	profile.LossEdges: {"recursive call had no room for a context of its own; it counts in the function's first one",
		"recursive calls had no room for contexts of their own; they count in the function's first one"},
	profile.LossChecks: {"check was not written, because the file was full",
		"checks were not written, because the file was full"},
	profile.LossDeep: {"check was left out, because the stack was deep",
		"checks were left out, because the stack was deep"},
	profile.LossFaults: {"fault at an address that is not nil was a panic; inlined calls behind it may be counted",
		"faults at addresses that are not nil were panics; inlined calls behind them may be counted"},
	profile.LossLabels: {"label was set with a value that is shown as …, because its key had too many",
		"labels were set with a value that is shown as …, because their key had too many"},
	profile.LossMetrics: {"metric is missing: a program has at most 64",
		"metrics are missing: a program has at most 64"},
	profile.LossNegative: {"time a negative number was not added to a metric: a metric only grows",
		"times a negative number was not added to a metric: a metric only grows"},
	profile.LossWaits: {"goroutine's last wait and run are missing: it changed what it did when the program ended",
		"goroutines' last waits and runs are missing: they changed what they did when the program ended"},
	profile.LossPaths: {"time a context below a lost page was entered; there recursion may be in full, or missing",
		"times a context below a lost page was entered; there recursion may be in full, or missing"},
	profile.LossIncomplete: {"context was just being created and is not included",
		"contexts were just being created and are not included"},
	profile.LossUnreadable: {"context could not be read, because a page that describes it was lost; there may be more",
		"contexts could not be read, because pages that describe them were lost; there may be more"},
	profile.LossSampleNodes: {"sample had no room in the tree; its time is under [overflow]",
		"samples had no room in the tree; their time is under [overflow]"},
	profile.LossPlaces: {"address could not be described; it is shown as a number",
		"addresses could not be described; they are shown as numbers"},
	profile.LossTruncated: {"sample could not be walked to its outermost frame; it is under [truncated]",
		"samples could not be walked to their outermost frame; they are under [truncated]"},
	profile.LossTraces: {"sample was lost, because memory for its trace, or a place or timer for its thread, ran out",
		"samples were lost, because memory for their traces, or a place or timer for a thread, ran out"},
	profile.LossMismatches: {"incremental trace differed from a full walk: this is an error in stemma; " +
		"please report it",
		"incremental traces differed from a full walk: this is an error in stemma; please report it"},
	profile.LossRequests: {
		"sample that the program asked for is not there: it has given way to a newer one, or had no room",
		"samples that the program asked for are not there: they have given way to newer ones, or had no room"},
	profile.LossUnread: {"byte of the tree could not be read; the contexts in it are missing",
		"bytes of the tree could not be read; the contexts in them are missing"},
}

// misplaced is what is said of cct.Misplaced.
var misplaced = [2]string{
	"call hangs below a function that did not make it: assembly called back into Go several times; its count is right",
	"calls hang below functions that did not make them: assembly called back into Go several times; " +
		"their counts are right",
}

// Warnings returns what is missing from p, or not where it belongs, a line for each kind.
// Losses are added up over all processes; notes name theirs. Nothing missing gives
// no lines.
func Warnings(p *profile.Profile) []string {
	var lines []string
	without := make(map[uint64][]string) // the metrics that so many processes lack
	for _, l := range p.Lost() {
		if metric, ok := l.Without(); ok {
			without[l.Count] = append(without[l.Count], profile.Printable(metric))
			continue
		}
		text, ok := lossTexts[l.Kind]
		if !ok {
			text = [2]string{"loss of kind " + l.Kind, "losses of kind " + l.Kind}
		}
		line := humanize.Plural(l.Count, text[0], text[1])
		if l.Kind == profile.LossNodes {
			line += overflowed(p)
		}
		lines = append(lines, profile.Printable(line))
	}
	for _, n := range slices.Sorted(maps.Keys(without)) {
		lines = append(lines, humanize.Plural(n, "record has", "records have")+" no "+
			strings.Join(without[n], ", ")+", so that sums of that are too low")
	}
	if n := cct.Misplaced(p); n > 0 {
		lines = append(lines, humanize.Plural(n, misplaced[0], misplaced[1]))
	}
	for _, proc := range p.Processes {
		for _, n := range proc.Notes {
			if of := pid(proc); of != "" {
				n = of + ": " + n
			}
			lines = append(lines, profile.Printable(n))
		}
	}
	return lines
}

// overflowed says how much of p is counted by function only, and what to do about it.
func overflowed(p *profile.Profile) string {
	share := ""
	if lost, all := cct.Overflowed(p); all > 0 {
		share = fmt.Sprintf(": %.2f%% of all calls", 100*float64(lost)/float64(all))
	}
	return share + "; build with a larger -nodes=N if the disk has room"
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

// mark returns a note about how a function was entered, unless by a plain call, and of what was folded there.
func mark(v cct.Via, folds ...cct.Fold) (note string) {
	if v != cct.ViaCall {
		note = " (" + v.String() + ")"
	}
	for _, f := range folds {
		if f != 0 {
			note += " (" + f.String() + ")"
		}
	}
	return note
}
