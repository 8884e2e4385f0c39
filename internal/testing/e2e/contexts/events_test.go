package contexts

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestEvents compares the contexts of events with what a program does: each is found by the frame pointers of the
// runtime's functions that note it, which lead to the slot of a frame otherwise on each architecture.
func TestEvents(t *testing.T) {
	e2e.NeedMore(t)
	t.Run("dacce", func(t *testing.T) { events(t, "-engine=dacce") })
	t.Run("lucce", func(t *testing.T) {
		e2e.NeedFull(t)
		events(t, "-engine=lucce")
	})
}

func events(t *testing.T, engine string) {
	r := e2e.Run(t, e2e.Build(t, "happens", engine, "-verify", "-events=alloc,go,panic"), noChecks)
	r.OK(t)
	record := r.Record(t)
	d := decode.New(record)
	have := make(map[string]uint64)
	err := record.IDs.EventCounts(func(e *ids.EventCount) error {
		s, err := d.Decode(e.ID)
		if err != nil {
			return err
		}
		have[string(s.AppendLine([]byte(ids.EventKind(e.Kind)+" "), -1))] += e.Count
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		event string
		n     uint64
	}{
		{"alloc main.place main.go:11 ← main.byTwo main.go:16 ← main.main main.go:31 ← [main]", 500},
		{"alloc main.place main.go:11 ← main.byTwo main.go:19 ← main.main main.go:31 ← [main]", 500},
		{"alloc main.place main.go:11 ← main.byTwo main.go:19 ← main.main.func1 main.go:37 " +
			"←go main.main main.go:35 ← [main]", 3},
		{"go main.main main.go:35 ← [main]", 3},
		{"panic main.fails main.go:25 ← main.main main.go:41 ← [main]", 1},
		{"panic main.faults main.go:55 ← main.main main.go:42 ← [main]", 1},
		{"panic main.leaf main.go:59 ← main.faultsInLeaf main.go:69 ← main.main main.go:43 ← [main]", 1},
		{"alloc main.faultsInLeaf.func1 main.go:67 ← main.leaf main.go:59 ← main.faultsInLeaf main.go:69 " +
			"← main.main main.go:43 ← [main]", 1},
	} {
		if have[want.event] != want.n {
			t.Errorf("%s: %d events, want %d", want.event, have[want.event], want.n)
		}
	}
	if t.Failed() {
		for event, n := range have {
			t.Logf("%d of %s", n, event)
		}
	}
}

// TestGoroutineNumbers compares the numbers in the log of go statements with those that the goroutines print: a
// goroutine has none yet when its go statement is noted, or that of one that has ended.
func TestGoroutineNumbers(t *testing.T) {
	e2e.NeedMore(t)
	for _, engine := range e2e.Few(1, "dacce", "lucce") {
		r := e2e.Run(t, e2e.Build(t, "numbers", "-engine="+engine, "-events=go", "-event-log"))
		r.OK(t)
		want := strings.Fields(r.Stdout)
		var have []string
		err := r.Record(t).IDs.EventLog(func(e *ids.Event) error {
			if e.Kind == layout.EventGo {
				have = append(have, strconv.FormatUint(e.Value, 10))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(have)
		slices.Sort(want)
		if len(want) != 200 || !slices.Equal(have, want) {
			t.Errorf("%s: the log has goroutines %v, want %v", engine, have, want)
		}
	}
}

// TestPanicsAtDepths lets stacks grow while a panic is noted: what is noted lies on the stack of now, and reading that
// of before is a fault, with efence.
func TestPanicsAtDepths(t *testing.T) {
	builds := [][]string{{"-engine=cct"}}
	if e2e.More() {
		builds = append(builds, []string{"-engine=dacce", "-events=panic"})
	}
	if e2e.Full() {
		builds = append(builds, []string{"-engine=lucce", "-events=panic"})
	}
	for _, flags := range builds {
		r := e2e.Run(t, e2e.Build(t, "depths", flags...), "GODEBUG=efence=1")
		r.OK(t)
	}
}
