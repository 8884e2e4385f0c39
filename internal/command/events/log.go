package events

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/fingerprint"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/record/store"
)

// JSONForms are the values that -json prints, each on a line, by the names of their schemas in docs/reference/schemas.
var JSONForms = map[string]any{"events": eventSum{}, "events-log": loggedEvent{}}

// A loggedEvent is an event of a log as JSON has it.
type loggedEvent struct {
	Time  int64  `json:"time"` // nanoseconds since the program began
	Kind  string `json:"kind"` // what happened, as -kind names it
	Value uint64 `json:"value,omitempty"`
	Unit  string `json:"unit,omitempty"` // of the value: nanoseconds or bytes
	Stack string `json:"stack"`          // innermost frame first, in the form of -format

	Fingerprint      fingerprint.Value `json:"fingerprint,omitzero"`
	FingerprintLines fingerprint.Value `json:"fingerprintLines,omitzero"`
}

// ShowLog prints the newest events, in the order of time, and beside JSON what is missing to warnings.
func ShowLog(w, warnings io.Writer, rec *store.Records, o *Options) error {
	var newest []ids.Event
	overwritten, logs := uint64(0), false
	for _, p := range rec.Profiles {
		logs = logs || p.IDs.HasEventLog()
		overwritten += p.IDs.EventsOverwritten
		err := p.IDs.EventLog(func(e *ids.Event) error {
			if o.wants(ids.EventKind(e.Kind)) {
				newest = append(newest, *e)
			}
			if o.Top >= 0 && len(newest) > 2*o.Top+1024 {
				newest = newestEvents(newest, o.Top)
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
	if o.Top < 0 {
		o.Top = len(newest)
	}
	if overwritten > 0 {
		text := humanize.Plural(overwritten, "older event is", "older events are") + " not in the log any more; " +
			"STEMMA_EVENTS_SIZE is the bytes of each P's log (default 67108864)"
		if o.JSON {
			warn(warnings, []string{text})
		} else {
			fmt.Fprintln(w, text)
		}
	}
	t := newEventTable(rec)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range newestEvents(newest, o.Top) {
		kind, unit := ids.EventKind(e.Kind), ids.EventUnit(e.Kind)
		stack, sum := t.stack(e.ID, o)
		stack = o.stack(stack)
		if o.JSON {
			if err := enc.Encode(loggedEvent{int64(e.Time), kind, e.Value, unit, stack, sum.Functions,
				sum.Lines}); err != nil {
				return err
			}
			continue
		}
		value := humanize.Value(e.Value, unit)
		if unit == "" && e.Value > 0 {
			value = fmt.Sprint(e.Value)
		}
		fmt.Fprintf(w, "%16v %-6s %14s  %s\n", e.Time, kind, value,
			strings.ReplaceAll(strings.TrimSuffix(stack, "\n"), "\n", "\n"+strings.Repeat(" ", 40)))
	}
	if o.JSON {
		warn(warnings, t.warnings())
	}
	return nil
}

// newestEvents returns the newest n events, in the order of time.
func newestEvents(list []ids.Event, n int) []ids.Event {
	slices.SortStableFunc(list, func(a, b ids.Event) int { return cmp.Compare(a.Time, b.Time) })
	return list[max(0, len(list)-n):]
}
