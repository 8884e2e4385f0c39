package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/fingerprint"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// JSONForms are the values that -json prints, by the names of their schemas in docs/reference/schemas.
var JSONForms = map[string]any{"report": jsonReport{}, "report-ids": jsonEngine{}, "report-requests": jsonRequestList{}}

// JsonStack returns the frames of a context.
func JsonStack(stack []cct.Frame) []JsonFrame {
	var list []JsonFrame
	for _, f := range stack {
		list = append(list, JsonFrame{f.Func, f.File, f.Line, viaName(f.Via), f.Fold.String()})
	}
	return list
}

// The JSON form of a report; the help text of report describes it.
// Files have their full paths here, and numbers no commas. Fields that are left out
// are empty, 0, or a plain call; times are in RFC 3339.
type (
	jsonReport struct {
		Records   []JsonRecord   `json:"records"`
		Processes []jsonProcess  `json:"processes"`
		Metric    string         `json:"metric,omitempty"`
		Totals    jsonTotals     `json:"totals"`
		Selected  *jsonTotals    `json:"selected,omitempty"`
		Classes   []jsonClass    `json:"classes,omitempty"`
		Groups    []jsonGroup    `json:"groups,omitempty"`
		Functions []jsonFunction `json:"functions"`

		Goroutines []jsonCreation  `json:"goroutines,omitempty"`
		Collisions []jsonCollision `json:"collisions,omitempty"`
		Estimated  *jsonEstimated  `json:"estimated,omitempty"`

		Contexts []jsonContext `json:"contexts,omitempty"` // with -contexts; they are written behind the rest, one by one
	}
	jsonEstimated struct {
		Machine   string  `json:"machine"`
		Functions int     `json:"functions"`
		Share     float64 `json:"share"`
		LeftOut   bool    `json:"leftOut,omitempty"`
	}
	jsonCollision struct {
		Fingerprint fingerprint.Value `json:"fingerprint"`
		Functions   [2]string         `json:"functions"`
	}
	// jsonEngine is the report of an engine with context IDs. Times are in
	// nanoseconds.
	jsonEngine struct {
		Records   []JsonRecord  `json:"records"`
		Processes []jsonProcess `json:"processes"`
		Engine    ids.Stats     `json:"engine"`
	}
	JsonRecord struct {
		Path    string    `json:"path"`
		State   string    `json:"state"` // sealed, running, or ended
		Changed time.Time `json:"changed"`
	}
	jsonProcess struct {
		Args      []string          `json:"args"`
		PID       int               `json:"pid"`
		Start     time.Time         `json:"start,omitzero"`
		GoVersion string            `json:"goVersion"`
		Engine    string            `json:"engine"`
		Recursion string            `json:"recursion"`
		Lost      map[string]uint64 `json:"lost"`
		Notes     []string          `json:"notes"`
		Sampling  *jsonSampling     `json:"sampling,omitempty"`
		Segment   *jsonSegment      `json:"segment,omitempty"`
	}
	// jsonSegment is which part of a run was read; Number is 0 if that is all.
	jsonSegment struct {
		Number  uint64    `json:"number"`
		Ended   uint64    `json:"segmentsEnded"`
		Dropped uint64    `json:"dropped"`
		Failed  uint64    `json:"failed"`
		From    time.Time `json:"from"`
		To      time.Time `json:"to,omitzero"`
	}
	// jsonSampling is how a process was sampled. The interval is in nanoseconds; of the
	// counters those that end in CPU are as well.
	jsonSampling struct {
		Sampler  string            `json:"sampler"`
		Walk     string            `json:"walk"`
		SampleAt string            `json:"sampleAt"`
		Interval int64             `json:"interval"`
		Counters map[string]uint64 `json:"counters"`
	}
	jsonTotals struct {
		Calls     uint64 `json:"calls"` // or what metric says, as calls everywhere in a report
		Contexts  uint64 `json:"contexts"`
		Functions uint64 `json:"functions"`
		Truncated uint64 `json:"truncated"` // those of calls whose context had no room in the program's memory
	}
	jsonClass struct {
		Caller   string `json:"caller"`
		Callee   string `json:"callee"`
		Calls    uint64 `json:"calls"`
		Contexts uint64 `json:"contexts"`
	}
	jsonFunction struct {
		Name     string          `json:"name"`
		File     string          `json:"file,omitempty"`
		Line     int             `json:"line,omitempty"`
		Calls    uint64          `json:"calls"` // of the function itself
		Total    uint64          `json:"total"` // with all that it calls
		Contexts uint64          `json:"contexts"`
		Callers  []jsonNeighbour `json:"callers,omitempty"`
		Callees  []jsonNeighbour `json:"callees,omitempty"`
	}
	jsonGroup struct {
		Name     string `json:"name,omitempty"`
		File     string `json:"file,omitempty"`
		Line     int    `json:"line,omitempty"`
		Via      string `json:"via,omitempty"`
		Calls    uint64 `json:"calls"`
		Total    uint64 `json:"total"`
		Contexts uint64 `json:"contexts"`
	}
	jsonNeighbour struct {
		Name  string `json:"name"`
		File  string `json:"file,omitempty"`
		Line  int    `json:"line,omitempty"`
		Via   string `json:"via,omitempty"`
		Calls uint64 `json:"calls"`
	}
	jsonContext struct {
		Calls            uint64            `json:"calls"`
		Fingerprint      fingerprint.Value `json:"fingerprint,omitzero"` // not with -hide
		FingerprintLines fingerprint.Value `json:"fingerprintLines,omitzero"`
		Stack            []JsonFrame       `json:"stack"`
	}
	JsonFrame struct {
		Func string `json:"func"`
		File string `json:"file,omitempty"` // where it calls the next one; of the innermost, where it begins
		Line int    `json:"line,omitempty"`
		Via  string `json:"via,omitempty"`  // how it was entered, unless it is a plain call: inlined, go, defer, native, fault
		Fold string `json:"fold,omitempty"` // what recursion was folded here
	}
)

// reportJSON writes the contexts one by one: there may be millions.
// The head is encoded in one piece and its last brace held back, so that the
// result is one object anyway. Lists are complete unless -top was given.
func reportJSON(w io.Writer, p *record.Record, o *Options) error {
	if p.IDs != nil {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "\t")
		return enc.Encode(jsonEngine{JsonRecords(o.Sources), jsonProcesses(p.Profile), p.IDs.Stats})
	}
	if o.Requests {
		return jsonRequests(w, p.Profile, o)
	}
	if !o.TopGiven {
		o.Top = -1
	}
	r, err := newReporter(w, p, o)
	if err != nil {
		return err
	}
	groups, err := r.jsonGroups()
	if err != nil {
		return err
	}
	classes, err := r.jsonClasses()
	if err != nil {
		return err
	}
	goroutines, err := r.jsonGoroutines(p.Profile)
	if err != nil {
		return err
	}
	head := jsonReport{JsonRecords(o.Sources), jsonProcesses(p.Profile), metricOf(r.t), jsonTotals(r.totals),
		r.jsonSelected(), classes, groups, r.jsonFunctions(), goroutines, r.collisions, o.costs.json(), nil}
	b, err := json.MarshalIndent(head, "", "\t")
	if err != nil {
		return err
	}
	if o.Contexts {
		b = b[:len(b)-len("\n}")]
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	if o.Contexts {
		return r.jsonContexts()
	}
	_, err = fmt.Fprintln(w)
	return err
}

// metricOf returns the name of what is counted; it is left out for calls.
func metricOf(t *cct.Tree) string {
	if t.Type.Name == profile.Calls.Name {
		return ""
	}
	return t.Type.Name
}

// jsonContexts writes the last field of the report and closes it.
// Each context is one line, for tools that read lines.
func (r *reporter) jsonContexts() error {
	r.printf(",\n\t\"contexts\": [")
	hot := r.hottest()
	var prints *cct.Fingerprints
	if r.o.Selection.Hide == nil {
		prints = r.t.Fingerprints()
	}
	for i, n := range hot[:r.cut(len(hot))] {
		c := jsonContext{Calls: r.t.Nodes[n].Count}
		if prints != nil {
			sum := prints.Of(n)
			c.Fingerprint, c.FingerprintLines = sum.Functions, sum.Lines
		}
		for _, f := range r.t.Stack(n) {
			c.Stack = append(c.Stack, JsonFrame{f.Func, f.File, f.Line, viaName(f.Via), f.Fold.String()})
		}
		b, err := json.Marshal(c)
		if err != nil {
			return err
		}
		sep := ","
		if i == 0 {
			sep = ""
		}
		if _, err := fmt.Fprintf(r.w, "%s\n\t\t%s", sep, b); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(r.w, "\n\t]\n}\n")
	return err
}

// JsonRecords returns what was read.
func JsonRecords(sources []store.Source) []JsonRecord {
	list := []JsonRecord{}
	for _, s := range sources {
		state := "ended"
		switch {
		case s.Sealed:
			state = "sealed"
		case s.Running:
			state = "running"
		}
		list = append(list, JsonRecord{s.Path, state, s.Changed.UTC()})
	}
	return list
}

// jsonSamplingOf returns how a process was sampled, nil if it was not.
func jsonSamplingOf(s *profile.Sampling) *jsonSampling {
	if s == nil {
		return nil
	}
	j := &jsonSampling{s.Sampler, s.Walk, s.At, s.Interval.Nanoseconds(), map[string]uint64{}}
	for _, st := range s.Stats {
		j.Counters[st.Kind] = st.Count
	}
	return j
}

// jsonProcesses returns the processes; lists and maps are never null.
// Losses of one kind are one number in a process already.
func jsonProcesses(p *profile.Profile) []jsonProcess {
	list := []jsonProcess{}
	for _, proc := range p.Processes {
		j := jsonProcess{printable(proc.Args), proc.PID, proc.Start, profile.Printable(proc.GoVersion),
			profile.Printable(proc.Engine),
			"folded", map[string]uint64{}, printable(proc.Notes), jsonSamplingOf(proc.Sampling), nil}
		if proc.Full {
			j.Recursion = "full"
		}
		if s := proc.Segment; s != nil {
			j.Segment = &jsonSegment{s.Number, s.Closed, s.Dropped, s.Failed, s.Began, s.Ended}
		}
		for _, l := range proc.Losses {
			j.Lost[profile.Printable(l.Kind)] = l.Count
		}
		list = append(list, j)
	}
	return list
}

// printable returns a list of profile.Printable, which is not nil.
func printable(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = profile.Printable(s)
	}
	return out
}

// jsonSelected returns the totals of what was selected, nil if that is all.
func (r *reporter) jsonSelected() *jsonTotals {
	if r.o.Selection.All() {
		return nil
	}
	t := jsonTotals(r.t.Totals())
	return &t
}

// jsonClasses returns what -classes asks for, nil without it.
func (r *reporter) jsonClasses() ([]jsonClass, error) {
	if !r.o.Classes {
		return nil, nil
	}
	list, err := r.classList()
	var classes []jsonClass
	for _, c := range list {
		classes = append(classes, jsonClass(c))
	}
	return classes, err
}

// jsonGroups returns what -by asks for, nil without it.
func (r *reporter) jsonGroups() ([]jsonGroup, error) {
	if r.o.By == "" {
		return nil, nil
	}
	list, err := r.grouped()
	if err != nil {
		return nil, err
	}
	var groups []jsonGroup
	for _, g := range list[:r.cut(len(list))] {
		groups = append(groups, jsonGroup{g.Name, g.File, g.Line, viaName(g.Via), g.Self, g.Total, g.Contexts})
	}
	return groups, nil
}

// jsonFunctions returns all functions, or with -func the matching ones with
// their callers and callees.
func (r *reporter) jsonFunctions() []jsonFunction {
	list := []jsonFunction{}
	if r.o.Function == "" {
		stats := r.t.ByFunction()
		if r.o.Sort == "total" {
			slices.SortStableFunc(stats,
				func(a, b cct.FuncStat) int { return cmp.Compare(b.Total, a.Total) })
		}
		for _, s := range stats[:r.cut(len(stats))] {
			list = append(list, r.jsonFunction(s))
		}
		return list
	}
	matches := r.t.Match(r.o.Matching)
	for _, m := range matches[:r.cut(len(matches))] {
		f := r.jsonFunction(m.FuncStat)
		f.Callers, f.Callees = r.jsonNeighbours(m.Callers), r.jsonNeighbours(m.Callees)
		list = append(list, f)
	}
	return list
}

// jsonFunction describes a function, without callers and callees.
func (r *reporter) jsonFunction(s cct.FuncStat) jsonFunction {
	f := r.t.Funcs[s.Func]
	return jsonFunction{Name: f.Name, File: f.File, Line: f.Line, Calls: s.Calls, Total: s.Total,
		Contexts: s.Contexts}
}

// jsonNeighbours returns callers or callees by the place of the call. All of them: -top is for
// functions and contexts.
func (r *reporter) jsonNeighbours(list []cct.Neighbour) []jsonNeighbour {
	var out []jsonNeighbour
	for _, n := range list {
		s := n.Site
		out = append(out, jsonNeighbour{r.t.Funcs[n.Func].Name, s.File, s.Line, viaName(s.Via), n.Calls})
	}
	return out
}

// viaName returns "" for a plain call, which JSON leaves out.
func viaName(v cct.Via) string {
	if v == cct.ViaCall {
		return ""
	}
	return v.String()
}
