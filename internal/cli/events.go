package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/ids"
)

// eventsCommand shows what a program recorded with -events.
func eventsCommand() *command {
	return &command{
		name:  "events",
		args:  "[-kind K,...] [-by count|sum|max] [-histogram] [-log] [-top N] [-format F] [-json] [FILE|LIVEDIR]",
		short: "show a program's events by calling context",
		long: `Events prints the events that stemma build -events=... made the program record:
for each kind and calling context their number, the sum and the largest of their
values and, with -histogram, how the values are distributed by powers of two:

	kind    value
	alloc   bytes that were asked for
	block   time for which the goroutine waited
	go      -
	panic   -
	error   - (errors made with stemma.Errorf and stemma.WrapError)

Contexts are added up after decoding, so one that had several IDs is one line.
FILE is a sealed file or a live directory, and formats are those of stemma decode.

With -log it prints the newest events one by one, the last one last: the time
since the program began, the kind, the value (for go, the number of the goroutine)
and the context. The program must be built with -event-log, too.

With -json it prints one JSON object for each line: kind, count and stack, and
where there are values sum, max and unit (bytes or nanoseconds) and histogram, a
list of {from, to, count}; with -log time in nanoseconds, kind, value, unit and
stack.
`,
		flags: func(fs *flag.FlagSet) { new(eventsOptions).declare(fs) },
		pages: true,
		run:   runEvents,
	}
}

// eventsOptions are the flags of events. by and format hold one of the words that
// check knows; kinds are separated by commas, none stands for all.
type eventsOptions struct {
	kinds, by, format    string
	top                  int
	json, log, histogram bool
}

func (o *eventsOptions) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.kinds, "kind", "", "only events of these `KINDS`: alloc, block, go, panic, error")
	fs.StringVar(&o.by, "by", "count", "sort by `WHAT`: count, sum or max")
	fs.BoolVar(&o.histogram, "histogram", false, "show how the values are distributed")
	fs.BoolVar(&o.log, "log", false, "print the newest events one by one")
	fs.IntVar(&o.top, "top", 20, "list at most `N` contexts or events; -1 for all")
	fs.StringVar(&o.format, "format", "", "print stacks as `F`: line, short or stack (default short; line with -json)")
	fs.BoolVar(&o.json, "json", false, "print JSON, one object for each context or event")
}

// check returns an error of usage, and fills in the format.
func (o *eventsOptions) check(fs *flag.FlagSet) error {
	if o.by != "count" && o.by != "sum" && o.by != "max" {
		return usageError("events: -by=%s: no such order (have count, sum, max)", o.by)
	}
	for kind := range strings.SplitSeq(o.kinds, ",") {
		if kind != "" && !slices.Contains(ids.EventKinds, kind) {
			return usageError("events: -kind=%s: no such kind (have %s)", kind, strings.Join(ids.EventKinds[1:], ", "))
		}
	}
	if o.format == "" {
		o.format = string(formatShort)
		if o.json {
			o.format = string(formatLine)
		}
	}
	if err := stackFormat(o.format).check(); err != nil {
		return err
	}
	switch {
	case o.log:
		return onlyFlags(fs, "a log", "kind", "log", "top", "format", "json")
	case o.json:
		return onlyFlags(fs, "JSON, which has histograms by itself", "kind", "by", "top", "format", "json")
	}
	return nil
}

// wants tells whether events of a kind are to be shown.
func (o *eventsOptions) wants(kind string) bool {
	return o.kinds == "" || slices.Contains(strings.Split(o.kinds, ","), kind)
}

// stack returns the text of a context.
func (o *eventsOptions) stack(line string) string {
	if stackFormat(o.format) == formatShort {
		return shortLine(line)
	}
	return line
}

// runEvents reads at most one record: a context is one of one program. A directory
// of live directories counts as one; the processes in it are added up.
func runEvents(e *env, args []string) error {
	var o eventsOptions
	fs := flag.NewFlagSet("events", flag.ContinueOnError)
	o.declare(fs)
	paths, err := parseMixed(e, fs, args)
	if err != nil {
		return err
	}
	if err := o.check(fs); err != nil {
		return err
	}
	if len(paths) > 1 {
		return usageError("events: have %s, want one; a directory of records counts as one", plural(len(paths), "record"))
	}
	rec, err := loadContexts(paths)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(e.stdout)
	if !o.json {
		printRecords(w, "", rec.sources)
	}
	show := showCounts
	if o.log {
		show = showLog
	}
	if err := show(w, rec, &o); err != nil {
		return in(rec.sources[0].path, err)
	}
	return w.Flush()
}

// showCounts prints the events of all processes, added up.
func showCounts(w io.Writer, rec *records, o *eventsOptions) error {
	t, err := addEvents(rec, o)
	if err != nil {
		return err
	}
	for _, p := range rec.profiles {
		t.spilt += p.IDs.EventsSpilt
	}
	return t.print(w, o)
}

// How events are added up.
//
// A context has another ID after each re-encoding, so that IDs cannot be compared:
// they are decoded, and what is compared is the stack, as text. Memory is that of the
// distinct stacks, however many IDs there are.

// An eventSum is the sum of the events of one kind in one context.
type eventSum struct {
	Kind      string        `json:"kind"`
	Count     uint64        `json:"count"`
	Sum       uint64        `json:"sum,omitempty"`
	Max       uint64        `json:"max,omitempty"`
	Unit      string        `json:"unit,omitempty"`
	Histogram []eventBucket `json:"histogram,omitempty"`
	Stack     string        `json:"stack"`

	bits [65]uint64 // events by the number of bits of their values
}

// An eventBucket is how many values lie between two, both included.
type eventBucket struct {
	From  uint64 `json:"from"`
	To    uint64 `json:"to"`
	Count uint64 `json:"count"`
}

// add adds events to the sum.
func (s *eventSum) add(e *ids.EventCount) {
	s.Count += e.Count
	s.Sum += e.Sum
	s.Max = max(s.Max, e.Max)
	s.bits[e.Bits] += e.Count
}

// buckets returns the distribution of the values, those that there are.
func (s *eventSum) buckets() (list []eventBucket) {
	if s.Unit == "" {
		return nil
	}
	for bits, n := range s.bits {
		if n > 0 {
			to := ^uint64(0) >> (64 - bits)
			list = append(list, eventBucket{to - to>>1, to, n})
		}
	}
	return list
}

// An eventTable adds up events. Its size is that of the distinct contexts.
type eventTable struct {
	sums    []*eventSum
	byStack map[[2]string]*eventSum // by kind and stack
	total   map[string]*eventSum    // by kind
	unknown uint64                  // contexts that cannot be decoded
	spilt   uint64                  // events without context, as there was no room
	why     error

	decoders map[uint64]*decode.Decoder // by run
}

func newEventTable(rec *records) *eventTable {
	t := &eventTable{byStack: make(map[[2]string]*eventSum), total: make(map[string]*eventSum), decoders: make(map[uint64]*decode.Decoder)}
	for _, p := range rec.profiles {
		t.decoders[p.IDs.Run] = decode.New(p)
	}
	return t
}

// addEvents adds up the events of all processes.
func addEvents(rec *records, o *eventsOptions) (*eventTable, error) {
	t := newEventTable(rec)
	for _, p := range rec.profiles {
		err := p.IDs.EventCounts(func(e *ids.EventCount) error {
			kind, unit := ids.EventKind(e.Kind), ids.EventUnit(e.Kind)
			if !o.wants(kind) {
				return nil
			}
			t.sum(kind, unit, t.stack(e.ID, o)).add(e)
			if t.total[kind] == nil {
				t.total[kind] = &eventSum{Kind: kind, Unit: unit}
			}
			t.total[kind].add(e)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// sum returns the sum for a kind and a stack.
func (t *eventTable) sum(kind, unit, stack string) *eventSum {
	key := [2]string{kind, stack}
	s := t.byStack[key]
	if s == nil {
		s = &eventSum{Kind: kind, Unit: unit, Stack: stack}
		t.byStack[key] = s
		t.sums = append(t.sums, s)
	}
	return s
}

// stack returns the context of an ID as text, whole. One that cannot be decoded has a name
// of its own: the events of a kind must add up to their total.
func (t *eventTable) stack(id ctxid.ID, o *eventsOptions) string {
	if id == (ctxid.ID{}) {
		return "[no context]"
	}
	stack, err := t.decoders[id.Run].Decode(id)
	if err != nil {
		if t.unknown++; t.why == nil {
			t.why = fmt.Errorf("%s: %w", ctxid.Append(nil, id.Hi, id.Lo, id.Run), err)
		}
		return "[unknown]"
	}
	format := formatLine
	if stackFormat(o.format) == formatStack {
		format = formatStack
	}
	return string(format.append(nil, stack.Trim(), ""))
}

// print prints the sums, the largest first. The order does not depend on that of a
// map: equal sums are in the order of their kinds and stacks.
func (t *eventTable) print(w io.Writer, o *eventsOptions) error {
	by := map[string]func(*eventSum) uint64{
		"count": func(s *eventSum) uint64 { return s.Count },
		"sum":   func(s *eventSum) uint64 { return s.Sum },
		"max":   func(s *eventSum) uint64 { return s.Max },
	}[o.by]
	slices.SortFunc(t.sums, func(a, b *eventSum) int {
		return cmp.Or(cmp.Compare(by(b), by(a)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Stack, b.Stack))
	})
	list := t.sums
	if o.top >= 0 && len(list) > o.top {
		list = list[:o.top]
	}
	if o.json {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for _, s := range list {
			s.Histogram, s.Stack = s.buckets(), o.stack(s.Stack)
			if err := enc.Encode(s); err != nil {
				return err
			}
		}
		return nil
	}
	t.printTotals(w)
	fmt.Fprintf(w, "\n%12s %18s %14s  %-6s %s\n", "count", "sum", "max", "kind", "context")
	for _, s := range list {
		text := strings.ReplaceAll(strings.TrimSuffix(o.stack(s.Stack), "\n"), "\n", "\n"+strings.Repeat(" ", 55))
		fmt.Fprintf(w, "%12s %18s %14s  %-6s %s\n", commas(s.Count), valueText(s.Sum, s.Unit), valueText(s.Max, s.Unit), s.Kind, text)
		for _, b := range s.buckets() {
			if o.histogram {
				fmt.Fprintf(w, "%12s %18s   from %s to %s\n", commas(b.Count), "", valueText(b.From, s.Unit), valueText(b.To, s.Unit))
			}
		}
	}
	if rest := len(t.sums) - len(list); rest > 0 {
		fmt.Fprintf(w, "%45s  and %s more; -top=-1 lists all\n", "", commas(uint64(rest)))
	}
	return nil
}

// printTotals prints the sum of each kind, and what is missing from the contexts.
func (t *eventTable) printTotals(w io.Writer) {
	for _, kind := range slices.Sorted(maps.Keys(t.total)) {
		s := t.total[kind]
		fmt.Fprintf(w, "%s: %s", kind, plural(s.Count, "event"))
		if s.Unit != "" {
			fmt.Fprintf(w, ", %s in all, %s at most", valueText(s.Sum, s.Unit), valueText(s.Max, s.Unit))
		}
		fmt.Fprintln(w)
	}
	if t.spilt > 0 {
		fmt.Fprintf(w, "warning: %s without a context, under [no context]: there was no room for more contexts; set STEMMA_EVENTS_SIZE to more bytes for each P (default 67108864)\n", plural(t.spilt, "event is", "events are"))
	}
	if t.why != nil {
		fmt.Fprintf(w, "warning: %s cannot be decoded; the first: %v\n", plural(t.unknown, "context"), t.why)
	}
}

// valueText returns a value with its unit, in at most five digits if it is a time.
func valueText(v uint64, unit string) string {
	switch unit {
	case "":
		return "-"
	case "bytes":
		return commas(v) + " B"
	}
	d := time.Duration(min(v, 1<<63-1))
	for step := time.Duration(1); ; step *= 10 {
		if d/step < 100_000 {
			return d.Round(step).String()
		}
	}
}

// A loggedEvent is an event of a log as JSON has it.
type loggedEvent struct {
	Time  int64  `json:"time"`
	Kind  string `json:"kind"`
	Value uint64 `json:"value,omitempty"`
	Unit  string `json:"unit,omitempty"`
	Stack string `json:"stack"`
}

// showLog prints the newest events, in the order of time.
func showLog(w io.Writer, rec *records, o *eventsOptions) error {
	var newest []ids.Event
	overwritten, logs := uint64(0), false
	for _, p := range rec.profiles {
		logs = logs || p.IDs.HasEventLog()
		overwritten += p.IDs.EventsOverwritten
		err := p.IDs.EventLog(func(e *ids.Event) error {
			if o.wants(ids.EventKind(e.Kind)) {
				newest = append(newest, *e)
			}
			if o.top >= 0 && len(newest) > 2*o.top+1024 {
				newest = newestEvents(newest, o.top)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if !logs {
		return fmt.Errorf("no log of events: build the program with -event-log beside -events")
	}
	if o.top < 0 {
		o.top = len(newest)
	}
	if overwritten > 0 && !o.json {
		fmt.Fprintf(w, "%s not in the log any more; STEMMA_EVENTS_SIZE is the bytes of each P's log (default 67108864)\n", plural(overwritten, "older event is", "older events are"))
	}
	t := newEventTable(rec)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range newestEvents(newest, o.top) {
		kind, unit, stack := ids.EventKind(e.Kind), ids.EventUnit(e.Kind), o.stack(t.stack(e.ID, o))
		if o.json {
			if err := enc.Encode(loggedEvent{int64(e.Time), kind, e.Value, unit, stack}); err != nil {
				return err
			}
			continue
		}
		value := valueText(e.Value, unit)
		if unit == "" && e.Value > 0 {
			value = fmt.Sprint(e.Value)
		}
		fmt.Fprintf(w, "%16v %-6s %14s  %s\n", e.Time, kind, value, strings.ReplaceAll(strings.TrimSuffix(stack, "\n"), "\n", "\n"+strings.Repeat(" ", 40)))
	}
	return nil
}

// newestEvents returns the newest n events, in the order of time.
func newestEvents(list []ids.Event, n int) []ids.Event {
	slices.SortStableFunc(list, func(a, b ids.Event) int { return cmp.Compare(a.Time, b.Time) })
	return list[max(0, len(list)-n):]
}

// shortLine leaves out the outer frames of a long line but for the root. Sums are
// made by whole stacks, so that two of them may look the same.
func shortLine(line string) string {
	const arrow = " ←"
	at := 0
	for range shortFrames {
		i := strings.Index(line[at:], arrow)
		if i < 0 {
			return line
		}
		at += i + len(arrow)
	}
	at -= len(arrow)
	root := strings.LastIndex(line, arrow)
	if left := strings.Count(line[at:root], arrow); left > 1 {
		return line[:at] + fmt.Sprintf(" ← %d more", left) + line[root:]
	}
	return line
}
