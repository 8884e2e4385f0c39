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

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/profile"
)

// eventsCommand adds up what a program recorded with -events.
func eventsCommand() *command {
	return &command{
		name:  "events",
		args:  "[-kind K,...] [-by count|value] [-top N] [-format F] [-json] [FILE|LIVEDIR]",
		short: "add up a program's events by calling context",
		long: `Events prints how often, and with what sum of values, the program did what
stemma build -events=... lets it record, for each kind and calling context:

	kind    value
	alloc   bytes allocated
	block   time for which the goroutine waited, in nanoseconds
	go      number of goroutines started
	panic   -
	error   errors made with stemma.Errorf and stemma.WrapError

IDs are decoded first, so that contexts that had other IDs before a re-encoding
are one. FILE is a sealed file or a live directory as for stemma decode; formats
are those of decode, too. With -json it prints one JSON object for each line.
`,
		flags: func(fs *flag.FlagSet) { new(eventsOptions).declare(fs) },
		run:   runEvents,
	}
}

// eventsOptions are the flags of events. by and format hold one of the words that
// check knows; kinds are separated by commas, none stands for all.
type eventsOptions struct {
	kinds, by, format string
	top               int
	json              bool
}

func (o *eventsOptions) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.kinds, "kind", "", "only events of these `KINDS`: alloc, block, go, panic, error")
	fs.StringVar(&o.by, "by", "count", "sort by `WHAT`: count or value")
	fs.IntVar(&o.top, "top", 20, "list at most `N` contexts; -1 for all")
	fs.StringVar(&o.format, "format", string(formatShort), "print stacks as `F`: line, short or stack")
	fs.BoolVar(&o.json, "json", false, "print JSON, one object for each context")
}

// check returns an error of usage.
func (o *eventsOptions) check() error {
	if o.by != "count" && o.by != "value" {
		return usageError("-by=%s: have count, value", o.by)
	}
	for kind := range strings.SplitSeq(o.kinds, ",") {
		if kind != "" && !slices.Contains(profile.EventKinds, kind) {
			return usageError("-kind=%s: no such kind (have %s)", kind, strings.Join(profile.EventKinds[1:], ", "))
		}
	}
	return stackFormat(o.format).check()
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
	if err := o.check(); err != nil {
		return err
	}
	if len(paths) > 1 {
		return usageError("events: %d records given, want one", len(paths))
	}
	list, err := loadContexts(strings.Join(paths, ""))
	if err != nil {
		return err
	}
	t, err := addEvents(list, &o)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(e.stdout)
	if err := t.print(w, &o); err != nil {
		return err
	}
	for _, p := range list {
		if n := p.Contexts.EventsLost; n > 0 {
			fmt.Fprintf(e.stderr, "stemma: %s events were lost, because a log was full; STEMMA_EVENTS_SIZE is the bytes of each P's log (default 64 MB)\n", commas(n))
		}
	}
	return w.Flush()
}

// How events are added up.
//
// A context has another ID after each re-encoding, so that IDs cannot be compared:
// they are decoded, and what is compared is the stack, as text. An ID that has been
// met leads to its sum at once. Memory is that of the distinct stacks, however many
// events there are, and a bounded number of IDs.

// An eventSum is the sum of the events of one kind in one context.
type eventSum struct {
	Kind  string `json:"kind"`
	Count uint64 `json:"count"`
	Value uint64 `json:"value"`
	Stack string `json:"stack"`
}

// An eventTable adds up events. Its size is that of the distinct contexts, however
// many events there are.
type eventTable struct {
	sums    []*eventSum
	byStack map[eventSum]*eventSum // by kind and stack
	total   map[string]*eventSum   // by kind
	unknown uint64                 // events whose ID cannot be decoded
	why     error
}

// maxIDs is how many IDs the sums remember.
const maxIDs = 1 << 20

// addEvents adds up the events of all processes.
func addEvents(list []*profile.Profile, o *eventsOptions) (*eventTable, error) {
	t := &eventTable{byStack: make(map[eventSum]*eventSum), total: make(map[string]*eventSum)}
	wanted := strings.Split(o.kinds, ",")
	type event struct {
		id   profile.ContextID
		kind uint32
	}
	byID := make(map[event]*eventSum)
	for _, p := range list {
		d := decode.New(p)
		err := p.Contexts.Events(func(e *profile.Event) error {
			kind := kindName(e.Kind)
			if o.kinds != "" && !slices.Contains(wanted, kind) {
				return nil
			}
			s := byID[event{e.ID, e.Kind}]
			if s == nil {
				if len(byID) > maxIDs {
					clear(byID)
				}
				s = t.sum(d, e, kind, stackFormat(o.format))
				byID[event{e.ID, e.Kind}] = s
			}
			total := t.total[kind]
			if total == nil {
				total = &eventSum{Kind: kind}
				t.total[kind] = total
			}
			s.Count, total.Count = s.Count+1, total.Count+1
			s.Value, total.Value = s.Value+e.Value, total.Value+e.Value
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// kindName returns the name of a kind of event; one of a later version has its
// number.
func kindName(kind uint32) string {
	if uint64(kind) < uint64(len(profile.EventKinds)) {
		return profile.EventKinds[kind]
	}
	return fmt.Sprint("kind ", kind)
}

// sum returns the sum that an event belongs to. An ID that cannot be decoded is
// counted under a name of its own: the events of a kind must add up to their total.
func (t *eventTable) sum(d *decode.Decoder, e *profile.Event, kind string, format stackFormat) *eventSum {
	text := ""
	switch stack, err := d.Decode(e.ID); {
	case e.ID == profile.ContextID{}:
		text = "[not instrumented]"
	case err != nil:
		if t.why == nil {
			t.why = fmt.Errorf("%s: %w", ctxid.Append(nil, e.ID.Hi, e.ID.Lo, e.ID.Run), err)
		}
		t.unknown++
		text = "[unknown]"
	default:
		stack = stack.Trim()
		text = string(formatLine.append(nil, stack, ""))
		if format == formatStack {
			text = string(format.append(nil, stack, ""))
		}
	}
	key := eventSum{Kind: kind, Stack: text}
	s := t.byStack[key]
	if s == nil {
		s = &eventSum{Kind: kind, Stack: text}
		t.byStack[key] = s
		t.sums = append(t.sums, s)
	}
	return s
}

// print prints the sums, the largest first. The order does not depend on that of a
// map: equal sums are in the order of their kinds and stacks.
func (t *eventTable) print(w io.Writer, o *eventsOptions) error {
	slices.SortFunc(t.sums, func(a, b *eventSum) int {
		x, y := a.Count, b.Count
		if o.by == "value" {
			x, y = a.Value, b.Value
		}
		return cmp.Or(cmp.Compare(y, x), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Stack, b.Stack))
	})
	list := t.sums
	if o.top >= 0 && len(list) > o.top {
		list = list[:o.top]
	}
	if o.json {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for _, s := range list {
			if err := enc.Encode(s); err != nil {
				return err
			}
		}
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(t.total)) {
		s := t.total[kind]
		fmt.Fprintf(w, "%s: %s events, sum of values %s\n", kind, commas(s.Count), commas(s.Value))
	}
	if t.why != nil {
		fmt.Fprintf(w, "warning: %s cannot be decoded; the first: %v\n", plural(t.unknown, "context"), t.why)
	}
	fmt.Fprintf(w, "\n%12s %16s  %-6s %s\n", "count", "value", "kind", "context")
	for _, s := range list {
		text := s.Stack
		switch stackFormat(o.format) {
		case formatShort:
			text = shortLine(text)
		case formatStack:
			text = strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+strings.Repeat(" ", 38))
		}
		fmt.Fprintf(w, "%12s %16s  %-6s %s\n", commas(s.Count), commas(s.Value), s.Kind, text)
	}
	if rest := len(t.sums) - len(list); rest > 0 {
		fmt.Fprintf(w, "%30s  and %s more; -top=-1 lists all\n", "", commas(uint64(rest)))
	}
	return nil
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
