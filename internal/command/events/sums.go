package events

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	decodecmd "github.com/stemma-go/stemma/internal/command/decode"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/fingerprint"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/record/store"
)

// wants reports whether events of a kind are to be shown.
func (o *Options) wants(kind string) bool {
	return o.Kinds == "" || slices.Contains(strings.Split(o.Kinds, ","), kind)
}

// stack returns the text of a context.
func (o *Options) stack(line string) string {
	if decodecmd.Format(o.Format) == decodecmd.FormatShort {
		return shortLine(line)
	}
	return line
}

// How events are added up.
//
// A context has another ID after each re-encoding, so that IDs cannot be compared:
// they are decoded, and what is compared is the stack, as text. Memory is that of the
// distinct stacks, however many IDs there are.

// An eventSum is the sum of the events of one kind in one context.
type eventSum struct {
	Kind      string        `json:"kind"`  // what happened, as -kind names it
	Count     uint64        `json:"count"` // events in this context
	Sum       uint64        `json:"sum,omitempty"`
	Max       uint64        `json:"max,omitempty"`
	Unit      string        `json:"unit,omitempty"`      // of the values: nanoseconds or bytes
	Histogram []eventBucket `json:"histogram,omitempty"` // with -histogram
	Stack     string        `json:"stack"`               // innermost frame first, in the form of -format

	Fingerprint      fingerprint.Value `json:"fingerprint,omitzero"`
	FingerprintLines fingerprint.Value `json:"fingerprintLines,omitzero"`

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

	decoders     map[uint64]*decode.Decoder // by run
	fingerprints decode.Fingerprints
	seen         fingerprint.Set
}

func newEventTable(rec *store.Records) *eventTable {
	t := &eventTable{byStack: make(map[[2]string]*eventSum), total: make(map[string]*eventSum),
		decoders: make(map[uint64]*decode.Decoder)}
	for _, p := range rec.Profiles {
		t.decoders[p.IDs.Run] = decode.New(p)
	}
	return t
}

// addEvents adds up the events of all processes.
func addEvents(rec *store.Records, o *Options) (*eventTable, error) {
	t := newEventTable(rec)
	for _, p := range rec.Profiles {
		err := p.IDs.EventCounts(func(e *ids.EventCount) error {
			kind, unit := ids.EventKind(e.Kind), ids.EventUnit(e.Kind)
			if !o.wants(kind) {
				return nil
			}
			stack, sum := t.stack(e.ID, o)
			s := t.sum(kind, unit, stack)
			s.add(e)
			if s.Fingerprint = sum.Functions; !o.Fingerprint {
				s.FingerprintLines = sum.Lines
			}
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

// stack returns the context of an ID as text, whole, and its fingerprints. One that cannot be decoded has a name
// of its own: the events of a kind must add up to their total.
func (t *eventTable) stack(id ctxid.ID, o *Options) (string, fingerprint.Sum) {
	if id == (ctxid.ID{}) {
		return "[no context]", fingerprint.Sum{}
	}
	stack, err := t.decoders[id.Run].Decode(id)
	if err != nil {
		if t.unknown++; t.why == nil {
			t.why = fmt.Errorf("%s: %w", ctxid.Append(nil, id), err)
		}
		return "[unknown]", fingerprint.Sum{}
	}
	stack = stack.Trim()
	sum := t.fingerprints.Of(stack)
	t.seen.Add(sum)
	format := decodecmd.FormatLine
	switch {
	case o.Fingerprint:
		return decodecmd.FingerprintLine(t.fingerprints.Text(stack)), sum
	case decodecmd.Format(o.Format) == decodecmd.FormatStack:
		format = decodecmd.FormatStack
	}
	return string(format.Append(nil, stack, "")), sum
}

// print prints the sums, the largest first, and beside JSON what is missing to warnings. The order does not depend on
// that of a map: equal sums are in the order of their kinds and stacks.
func (t *eventTable) print(w, warnings io.Writer, o *Options) error {
	by := map[string]func(*eventSum) uint64{
		"count": func(s *eventSum) uint64 { return s.Count },
		"sum":   func(s *eventSum) uint64 { return s.Sum },
		"max":   func(s *eventSum) uint64 { return s.Max },
	}[o.By]
	slices.SortFunc(t.sums, func(a, b *eventSum) int {
		return cmp.Or(cmp.Compare(by(b), by(a)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Stack, b.Stack))
	})
	list := t.sums
	if o.Top >= 0 && len(list) > o.Top {
		list = list[:o.Top]
	}
	if o.JSON {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for _, s := range list {
			s.Histogram, s.Stack = s.buckets(), o.stack(s.Stack)
			if err := enc.Encode(s); err != nil {
				return err
			}
		}
		warn(warnings, t.warnings())
		return nil
	}
	t.printTotals(w)
	switch {
	case len(t.sums) > 0:
	case o.Kinds != "":
		fmt.Fprintf(w, "no events of kind %s\n", strings.ReplaceAll(o.Kinds, ",", " or "))
		return nil
	default:
		fmt.Fprintf(w, "no events were recorded; 'stemma build -events=KINDS' makes a program record them\n")
		return nil
	}
	heading, mark := "context", ""
	if o.Fingerprint {
		heading = "fingerprint      functions"
	}
	fmt.Fprintf(w, "\n%12s %18s %14s  %-6s %s\n", "count", "sum", "max", "kind", heading)
	for _, s := range list {
		if o.Fingerprint {
			mark = fmt.Sprintf("%-16s ", s.Fingerprint)
		}
		text := strings.ReplaceAll(strings.TrimSuffix(o.stack(s.Stack), "\n"), "\n", "\n"+strings.Repeat(" ", 55))
		fmt.Fprintf(w, "%12s %18s %14s  %-6s %s%s\n", humanize.Commas(s.Count), humanize.Value(s.Sum, s.Unit),
			humanize.Value(s.Max, s.Unit), s.Kind, mark, text)
		for _, b := range s.buckets() {
			if o.Histogram {
				fmt.Fprintf(w, "%12s %18s   from %s to %s\n", humanize.Commas(b.Count), "", humanize.Value(b.From,
					s.Unit),
					humanize.Value(b.To, s.Unit))
			}
		}
	}
	if rest := len(t.sums) - len(list); rest > 0 {
		fmt.Fprintf(w, "%45s  and %s more; -top=-1 lists all\n", "", humanize.Commas(uint64(rest)))
	}
	return nil
}

// warn prints what JSON has no place for.
func warn(w io.Writer, list []string) {
	for _, text := range list {
		fmt.Fprintf(w, "stemma: warning: %s\n", text)
	}
}

// printTotals prints the sum of each kind, and what is missing from the contexts.
func (t *eventTable) printTotals(w io.Writer) {
	for _, kind := range slices.Sorted(maps.Keys(t.total)) {
		s := t.total[kind]
		fmt.Fprintf(w, "%s: %s", kind, humanize.Plural(s.Count, "event"))
		if s.Unit != "" {
			fmt.Fprintf(w, ", %s in all, %s at most", humanize.Value(s.Sum, s.Unit), humanize.Value(s.Max, s.Unit))
		}
		fmt.Fprintln(w)
	}
	for _, text := range t.warnings() {
		fmt.Fprintf(w, "warning: %s\n", text)
	}
}

// warnings returns what is missing from the contexts.
func (t *eventTable) warnings() (list []string) {
	if t.spilt > 0 {
		list = append(list, fmt.Sprintf("%s without a context, under [no context]: there was no room for more "+
			"contexts; set STEMMA_EVENTS_SIZE to more bytes for each P (default 67108864)",
			humanize.Plural(t.spilt, "event is", "events are")))
	}
	if t.seen.N > 0 {
		list = append(list, decodecmd.Collided(&t.seen))
	}
	if t.why != nil {
		list = append(list, fmt.Sprintf("%s cannot be decoded; the first: %v", humanize.Plural(t.unknown, "context"),
			t.why))
	}
	return list
}
