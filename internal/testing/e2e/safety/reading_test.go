package safety

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestReadRunning reads the records of a program again and again while it makes new contexts and shards, until it ends,
// or is killed, in the middle of a reading: each can be read, has all that the one before had, and misses nothing.
func TestReadRunning(t *testing.T) {
	e2e.NeedMore(t)
	metrics, events, rounds := "-metrics=calls,alloc,inuse,wait", "-events=go,panic", 4
	if e2e.Full() {
		metrics, events, rounds = "-metrics=calls,alloc,inuse,wait,cpu", "-events=alloc,block,go,panic", 8
	}
	for _, c := range e2e.Few(4,
		[]string{"tree", "-recursion=full"},
		[]string{"values", metrics},
		[]string{"samples", "-engine=sample", "-every=200us"},
		[]string{"dacce", "-engine=dacce", events, "-event-log"},
		[]string{"lucce", "-engine=lucce", events, "-event-log"},
	) {
		t.Run(c[0], func(t *testing.T) {
			exe := e2e.Build(t, "hostile", c[1:]...)
			readings := 0
			for round := range rounds {
				readings += readRunning(t, exe, 10*time.Millisecond<<(round/2), round%2 == 1)
			}
			t.Logf("%d readings", readings)
		})
	}
}

// readRunning starts a program, ends it after a while, and reads its record until it has ended.
func readRunning(t *testing.T, exe string, after time.Duration, kill bool) (readings int) {
	t.Helper()
	out := t.TempDir()
	cmd := e2e.Command(t, out, exe)
	cmd.Args = append(cmd.Args, "busy")
	_, in := e2e.Ready(t, cmd)
	dir := e2e.LiveDir(out, cmd)
	ended := make(chan bool)
	go func() {
		defer close(ended)
		time.Sleep(after)
		if kill {
			cmd.Process.Kill()
		}
		in.Close()
		cmd.Wait()
	}()
	before := make(map[string]uint64)
	for last := false; !last; readings++ {
		select {
		case <-ended:
			last = true
		default:
		}
		rec, err := record.Open(os.DirFS(dir))
		if err != nil {
			t.Errorf("reading %d: %v", readings, err)
			break
		}
		complete(t, rec)
		now := sums(t, rec)
		for key, n := range before {
			if now[key] < n {
				t.Errorf("reading %d: %s: %d, was %d", readings, key, now[key], n)
			}
		}
		if before = now; len(now) == 0 || t.Failed() {
			break
		}
	}
	if len(before) == 0 {
		t.Error("nothing was recorded")
	}
	<-ended
	return readings
}

// complete fails the test if something is missing, but for what is not known yet.
func complete(t *testing.T, rec *record.Record) {
	t.Helper()
	for _, l := range rec.Lost() {
		switch l.Kind {
		case profile.LossPlaces, profile.LossTraces, profile.LossTruncated, profile.LossNodes,
			profile.LossSampleNodes:
		default:
			t.Errorf("lost %d %s (%q)", l.Count, l.Kind, rec.Processes[0].Notes)
		}
	}
	for _, note := range rec.Processes[0].Notes {
		if strings.Contains(note, "waits that last") {
			continue // they are counted at the end
		}
		if rec.IDs != nil || rec.Column(profile.InuseSpace.Name) != nil {
			t.Errorf("note: %s", note)
		}
	}
}

// sums returns what was counted, values by function or events by context, but for what gets its name later.
func sums(t *testing.T, rec *record.Record) map[string]uint64 {
	t.Helper()
	list := make(map[string]uint64)
	if rec.IDs != nil {
		d := decode.New(rec)
		err := rec.IDs.EventCounts(func(e *ids.EventCount) error {
			if e.ID == (ctxid.ID{}) {
				return nil
			}
			s, err := d.Decode(e.ID)
			if err == nil {
				list[fmt.Sprint(e.Kind, string(s.AppendLine(nil, -1)))] += e.Count
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for _, c := range rec.Columns {
		if c.Metric == profile.Ops {
			continue // an invocation has those of its likeliest way until it takes another one
		}
		tree, err := cct.Of(rec.Profile, c.Name)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range tree.Nodes {
			name := tree.Funcs[n.Func].Name
			if c.Metric == profile.ContextCPU {
				name = "" // an inlined call may be known later: until then its caller has the time
			}
			if !strings.HasPrefix(name, "(unknown") && name != "[pending]" {
				list[c.Name+" "+name] += n.Count
			}
		}
	}
	return list
}
