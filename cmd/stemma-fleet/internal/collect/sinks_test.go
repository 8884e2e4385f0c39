package collect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket/buckettest"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink/sinktest"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// pyroscope starts a server, and returns it as a sink as well.
func pyroscope(t *testing.T, server *sinktest.Pyroscope) *sink.Sink {
	t.Helper()
	server.Start(t)
	s, err := sink.Open("pyroscope=" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.Settle = 0
	return s
}

// calls returns the calls of each function in a number of records.
func calls(t *testing.T, records int) map[string]int64 {
	t.Helper()
	r, err := record.Open(recordtest.Shapes().FS())
	if err != nil {
		t.Fatal(err)
	}
	sums := make(map[string]int64)
	tree := cct.New(r.Profile)
	for _, n := range tree.Nodes {
		if n.Count > 0 {
			sums[tree.Funcs[n.Func].Name] += int64(n.Count) * int64(records)
		}
	}
	return sums
}

// compareCalls compares what a server has with a number of records.
func compareCalls(t *testing.T, server *sinktest.Pyroscope, records int) {
	t.Helper()
	have, want := server.Sums(), calls(t, records)
	for name, n := range want {
		if key := "stemma:calls:count " + name; have[key] != n {
			t.Errorf("%s: %s is %d, want %d", server.URL, key, have[key], n)
		}
	}
	if len(have) != len(want) {
		t.Errorf("%s: sums of %d functions, want %d", server.URL, len(have), len(want))
	}
}

// TestSinks has a store and two sinks. One fails at random, before or behind what it keeps, and agents end at random.
// The others have all by the first pass. In the end each has all once, and nothing has gone here before.
func TestSinks(t *testing.T) {
	const records = 6
	r := rand.New(rand.NewPCG(1, 1))
	out, failing := t.TempDir(), true
	for i := range records {
		write(t, filepath.Join(out, fmt.Sprintf("a.%d-0a1b2c", i+1)), uint64(i+1))
	}
	good := new(sinktest.Pyroscope)
	bad := &sinktest.Pyroscope{Before: func() int {
		if failing && r.IntN(2) == 0 {
			return http.StatusInternalServerError
		}
		return 0
	}, After: func() bool { return !failing || r.IntN(2) == 0 }}
	b, sinks := new(buckettest.Memory), []*sink.Sink{pyroscope(t, bad), pyroscope(t, good)}
	remove := func(o *Options) { o.Delete = true }
	a, log := agent(b, out, remove, sinks...)
	for i := range 30 {
		_, _ = a.Pass(context.Background())
		if i == 0 {
			compareCalls(t, good, records)
			if list := manifests(t, b); len(list) != records {
				t.Errorf("%d records in the store", len(list))
			}
		}
		if len(store.RecordDirs(out)) == 0 {
			compareCalls(t, bad, records)
		}
		if r.IntN(3) == 0 {
			a, log = agent(b, out, remove, sinks...)
		}
	}
	failing = false
	if err := a.Once(context.Background()); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	for _, server := range []*sinktest.Pyroscope{good, bad} {
		compareCalls(t, server, records)
	}
	if left := store.RecordDirs(out); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
	w := httptest.NewRecorder()
	a.Numbers.ServeHTTP(w, nil)
	if want := "\nstemma_collect_push_backlog{to=\"" + bad.URL + "\"} 0\n"; !strings.Contains(w.Body.String(), want) {
		t.Errorf("no %q in\n%s", want, w.Body)
	}
}

// TestRefused has a sink that refuses what is old: that is said and counted, and does not come again. It is not pushed,
// and whoever runs the agent once gets an error.
func TestRefused(t *testing.T) {
	out, pushes := t.TempDir(), 0
	write(t, filepath.Join(out, "a.1-0a1b2c"), 1)
	s := pyroscope(t, &sinktest.Pyroscope{Old: time.Nanosecond, Before: func() int { pushes++; return 0 }})
	for i := range 2 {
		a, log := agent(new(buckettest.Memory), out, nil, s)
		err := a.Once(context.Background())
		const want = " refused 1 part of 1 record, and does not get them again"
		if (i == 0) != (err != nil && strings.Contains(err.Error(), s.Name+want)) || i > 0 && err != nil {
			t.Errorf("pass %d: %v", i, err)
		}
		for _, text := range []string{"ingestion window", s.Name + want} {
			if have := strings.Contains(log.String(), text); have != (i == 0) || pushes != 1 {
				t.Errorf("pass %d: %d pushes\n%s", i, pushes, log)
			}
		}
		if n := a.to[1].pushed.Load(); n != 0 || strings.Contains(log.String(), "pushed 1 record") {
			t.Errorf("pass %d: %d pushed, want none\n%s", i, n, log)
		}
		if n := a.to[1].refused.Load(); n != int64(1-i) {
			t.Errorf("pass %d: %d refused", i, n)
		}
	}
}

// TestHeld has an agent that runs once while another one has the record: it waits for that, and is not done before.
func TestHeld(t *testing.T) {
	out, server := t.TempDir(), new(sinktest.Pyroscope)
	path := filepath.Join(out, "a.1-0a1b2c")
	write(t, path, 1)
	a, log := agent(new(buckettest.Memory), out, nil, pyroscope(t, server))
	other, err := openProgress(a.to[1].markPath(path))
	if err != nil {
		t.Fatal(err)
	}
	a.patience = 60 * time.Millisecond
	if err := a.Once(context.Background()); err == nil || !strings.Contains(err.Error(), "another agent") {
		t.Errorf("have %v, want an error: the record is not pushed\n%s", err, log)
	}
	if a.isDone(item{path: path}) {
		t.Error("the record is done, and nobody has pushed it")
	}
	a.patience = time.Minute
	ended := make(chan error)
	go func() { ended <- a.Once(context.Background()) }()
	other.Close() // as if it had been killed
	if err := <-ended; err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	compareCalls(t, server, 1)
}

// TestTakenOver has an agent that ends while something of it is on its way. Another one, which has been there for long,
// takes over: it does not ask the server before that shows it, and waits again if somebody else has had the item.
func TestTakenOver(t *testing.T) {
	out, answers := t.TempDir(), false
	path := filepath.Join(out, "a.1-0a1b2c")
	write(t, path, 1)
	server := &sinktest.Pyroscope{Late: 200 * time.Millisecond, After: func() bool { return answers }}
	s := pyroscope(t, server)
	long, err := sink.Open("pyroscope=" + server.URL)
	if err != nil {
		t.Fatal(err)
	}
	long.Settle = server.Late
	time.Sleep(long.Settle) // what was pushed before it was opened is shown
	b := new(buckettest.Memory)
	one, _ := agent(b, out, nil, s)
	if _, err := one.Pass(context.Background()); err == nil {
		t.Fatal("a push without an answer is no error")
	}
	answers = true
	other, log := agent(b, out, nil, long)
	pass := func(when string) {
		t.Helper()
		if _, err := other.Pass(context.Background()); err != nil || other.held() != 1 {
			t.Errorf("%s: %v, %d items that another agent has, want 1\n%s", when, err, other.held(), log)
		}
	}
	pass("first")
	mark, err := openProgress(other.to[1].markPath(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := mark.write(oneBegun); err != nil {
		t.Fatal(err)
	}
	mark.Close()
	time.Sleep(long.Settle)
	pass("somebody else has had it")
	other.patience = time.Minute
	if err := other.Once(context.Background()); err != nil {
		t.Errorf("%v\n%s", err, log)
	}
	compareCalls(t, server, 1)
	if _, twice := server.Profiles(); twice > 0 {
		t.Errorf("%d profiles came twice", twice)
	}
}

// TestTorn has a mark whose last line was not written to its end, as on a full disk. What is noted behind it counts.
func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), marksDir, "0123", "a.1-0a1b2c")
	for i, torn := range []string{"", "push", "ended 2026", "begu"} {
		for range 2 { // who has begun, and who reads what that has noted
			p, err := openProgress(path)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := p.file.Stat(); err != nil || p.parts != i || info.Size() != p.size {
				t.Errorf("%q: %d parts, want %d; %d bytes, want %d, %v", torn, p.parts, i, p.size, info.Size(), err)
			}
			if err := p.write(torn); err != nil {
				t.Fatal(err)
			}
			p.Close()
		}
		p, err := openProgress(path)
		if err == nil {
			err = p.Done(nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.Close()
	}
}

// TestEnd has an agent that sees a program run, pushes what that has left when it has ended, and is killed before it
// has an answer. The next one, which has not seen the program run, would have another end of it. It finds the part.
func TestEnd(t *testing.T) {
	out, answers := t.TempDir(), false
	path := filepath.Join(out, "a.1-0a1b2c")
	write(t, path, 1)
	server := &sinktest.Pyroscope{After: func() bool { return answers }}
	s := pyroscope(t, server)
	running, err := os.Open(filepath.Join(path, "tree"))
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Hold(running); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	files, err := filepath.Glob(filepath.Join(path, "*"))
	for _, file := range files {
		err = errors.Join(err, os.Chtimes(file, old, old))
	}
	if err != nil {
		t.Fatal(err)
	}
	one, log := agent(new(buckettest.Memory), out, nil, s)
	if _, err := one.Pass(context.Background()); err != nil || len(one.running) != 1 {
		t.Fatalf("%v, %d programs run\n%s", err, len(one.running), log)
	}
	running.Close()
	if _, err := one.Pass(context.Background()); err == nil {
		t.Fatal("a push without an answer is no error")
	}
	answers = true
	other, log := agent(new(buckettest.Memory), out, nil, s)
	if err := other.Once(context.Background()); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	compareCalls(t, server, 1)
}

// TestClockSetBackBetween has a run in whose second segment the clock was set back: the third one ends when the first
// one did. Whichever is pushed first, no two profiles of one series have one time: the server would drop one.
func TestClockSetBackBetween(t *testing.T) {
	for _, order := range [][]int{{1, 2, 3, 4}, {3, 4, 2, 1}} {
		out, server := t.TempDir(), new(sinktest.Pyroscope)
		for i, times := range [][2]uint64{{0, 10e9}, {10e9, 3e9}, {3e9, 10e9}, {10e9, 20e9}} {
			path := filepath.Join(out, fmt.Sprintf("a.1-0a1b2c.%06d", i+1))
			d := recordtest.Shapes()
			d.Header(func(h *layout.Header) {
				h.Run, h.Segment, h.Began, h.Ended = 1, uint64(i+1), h.Start+times[0], h.Start+times[1]
			})
			d.WriteTo(t, path)
			at := time.Now().Add(time.Duration(slices.Index(order, i+1)-100) * time.Second)
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		s := pyroscope(t, server)
		for range 2 { // the second one has a new agent, which has nothing to push
			log := new(strings.Builder)
			a := New(nil, []*sink.Sink{s}, Options{Dirs: []string{out}, Host: "h/1", Log: log})
			if err := a.Once(context.Background()); err != nil {
				t.Fatalf("%v\n%s", err, log)
			}
		}
		compareCalls(t, server, 4)
		list, twice := server.Profiles()
		parts := make(map[string]bool)
		for _, p := range list {
			parts[p.Labels["part"]] = true
		}
		if twice > 0 || len(parts) != 3 || !parts[""] { // one of the first and the third, and the second
			t.Errorf("order %v: %d profiles have the time of another one of their series, parts are %q", order, twice,
				slices.Sorted(maps.Keys(parts)))
		}
	}
}

// TestTwoAgents has two agents on one directory at once, and sinks that take their time. All is pushed once. What one
// agent has removed is not lost to the other one, but what somebody else removes is.
func TestTwoAgents(t *testing.T) {
	const records = 5
	out := t.TempDir()
	for i := range records {
		write(t, filepath.Join(out, fmt.Sprintf("a.%d-0a1b2c", i+1)), uint64(i+1))
	}
	server := &sinktest.Pyroscope{Before: func() int { time.Sleep(time.Millisecond); return 0 }}
	s := pyroscope(t, server)
	away := true
	b := &buckettest.Memory{Fail: func(string, string) error {
		if away {
			return errors.New("away")
		}
		return nil
	}}
	remove := func(o *Options) { o.Delete = true }
	other, _ := agent(b, out, remove, s)
	if _, err := other.Pass(context.Background()); err == nil || !strings.Contains(err.Error(), "away") {
		t.Errorf("%v", err)
	}
	away = false
	var both sync.WaitGroup
	for range 2 {
		one, _ := agent(b, out, remove, s)
		both.Go(func() {
			for range 3 {
				_, _ = one.Pass(context.Background())
			}
		})
	}
	both.Wait()
	compareCalls(t, server, records)
	if _, twice := server.Profiles(); twice > 0 {
		t.Errorf("%d profiles came twice", twice)
	}
	if left := store.RecordDirs(out); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
	if _, _ = other.Pass(context.Background()); other.Numbers.lost.Load() != 0 {
		t.Errorf("%d count as lost", other.Numbers.lost.Load())
	}
	path := filepath.Join(out, "b.1-0a1b2c")
	write(t, path, 7)
	away = true
	_, _ = other.Pass(context.Background())
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if _, _ = other.Pass(context.Background()); other.Numbers.lost.Load() != 1 {
		t.Errorf("%d count as lost, want 1", other.Numbers.lost.Load())
	}
}

// TestMarkIsPipe has a pipe where the mark of a record is to be. Nobody waits for what comes through it: the record is
// not pushed, since nobody could note that, and the error says where.
func TestMarkIsPipe(t *testing.T) {
	dir, server := t.TempDir(), new(sinktest.Pyroscope)
	path := filepath.Join(dir, "p.12-0a1b2c")
	write(t, path, 1)
	a, _ := agent(new(buckettest.Memory), dir, nil, pyroscope(t, server))
	mark := a.to[1].markPath(path)
	if err := os.MkdirAll(filepath.Dir(mark), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(mark, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := a.Once(context.Background()); err == nil || !strings.Contains(err.Error(), mark+": no regular file") {
		t.Errorf("have %v", err)
	}
	if list, _ := server.Profiles(); len(list) > 0 {
		t.Errorf("%d profiles were pushed", len(list))
	}
}
