package contexts

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	command "github.com/stemma-go/stemma/internal/command/decode"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// checkLogged decodes the IDs in the output of program logs, and compares them with what it says beside them. It
// returns how many there were, in how many runs, and the last line, if that has none.
func checkLogged(t *testing.T, set *command.Set, said string) (lines, runs int, last string) {
	t.Helper()
	seen := make(map[uint64]bool)
	for line := range strings.Lines(said) {
		if !strings.HasSuffix(line, "\n") {
			break // the program was killed
		}
		text, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		id, err := ctxid.Parse(text)
		if err != nil || !ok {
			last = line
			continue
		}
		s, err := set.Decode(id)
		if err != nil {
			t.Fatalf("%s: %v; want %s", text, err, want)
		}
		if have := functions(s.Path()); have != want || s.Cut() != "" {
			t.Fatalf("%s: have %s, want %s; cut %q", text, have, want, s.Cut())
		}
		seen[id.Run] = true
		lines++
	}
	return lines, len(seen), last
}

// functions returns the names of functions of package main, outermost first.
func functions(path []cct.PathFrame) string {
	var names []string
	for _, f := range slices.Backward(path) {
		names = append(names, strings.TrimPrefix(f.Func, "main."))
	}
	return strings.Join(names, " ")
}

// open returns the records in a directory.
func open(t *testing.T, out string) *command.Set {
	t.Helper()
	set, err := command.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// runLogs runs program logs until it has so many segments, longer each time: on a busy machine each takes longer.
func runLogs(t *testing.T, exe string, want int, env ...string) (r e2e.Result, segments []string) {
	t.Helper()
	for ms := 1000 * e2e.Slowness(); ms < 60_000; ms *= 3 {
		r = e2e.Run(t, exe, append(env, fmt.Sprint("LOGS_MS=", int(ms)))...)
		if r.OK(t); r.Stderr != "" {
			t.Fatal(e2e.Tail(r.Stderr))
		}
		if segments = store.Segments(r.Dir); len(segments) >= want {
			return r, segments
		}
	}
	t.Fatalf("%d segments, want %d", len(segments), want)
	return r, nil
}

// TestSegments ends segments all the time, in programs that log where they are: each ID decodes by its segment, with
// all that led to it, also in the program, while it runs.
func TestSegments(t *testing.T) {
	e2e.NeedMore(t)
	endSegments(t, "dacce", "pcce")
}

// TestSegmentsLucce is TestSegments for engine lucce.
func TestSegmentsLucce(t *testing.T) {
	e2e.NeedFull(t)
	endSegments(t, "lucce")
}

func endSegments(t *testing.T, engines ...string) {
	for _, engine := range engines {
		exe := e2e.BuildDir(t, filepath.Join("testdata", "logs"), "-engine="+engine)
		for _, env := range e2e.Few(2, "STEMMA_ROTATE=5ms STEMMA_REENCODE_US=1000", "STEMMA_ROTATE=20ms LOGS_EXIT=1",
			"STEMMA_ROTATE=1ms GOGC=1", "STEMMA_ROTATE=1h,1KiB", "STEMMA_ROTATE=3ms GODEBUG=gcstoptheworld=1",
			"STEMMA_ROTATE=3ms GODEBUG=adaptivestackstart=0 GOGC=1", "STEMMA_ROTATE=2ms,3") {
			t.Run(engine+" "+env, func(t *testing.T) {
				r, segments := runLogs(t, exe, 3, strings.Fields(env)...)
				if strings.HasSuffix(env, ",3") {
					if n := len(segments); n != 3 && n != 4 { // the program may end before it has removed one
						t.Fatalf("%d segments are kept, want 3", n)
					}
					return
				}
				lines, runs, last := checkLogged(t, open(t, filepath.Dir(r.Dir)), r.Stdout)
				t.Logf("%d IDs, %d segments, IDs of %d; %s", lines, len(segments), runs, strings.TrimSpace(last))
				if runs < 2 || len(segments) < runs-1 || strings.HasSuffix(last, " 0\n") {
					t.Error("want IDs of more segments, and some that are decoded in the program")
				}
			})
		}
	}
}

// TestSegmentsTight ends segments of a program that looks at its contexts all the time: nothing is wrong for a moment.
func TestSegmentsTight(t *testing.T) {
	e2e.NeedMore(t)
	stayRight(t, "dacce")
}

// TestSegmentsTightLucce is TestSegmentsTight for engine lucce.
func TestSegmentsTightLucce(t *testing.T) {
	e2e.NeedFull(t)
	stayRight(t, "lucce")
}

func stayRight(t *testing.T, engine string) {
	exe := e2e.BuildDir(t, filepath.Join("testdata", "tight"), "-engine="+engine)
	for _, rotate := range e2e.Few(1, "1ms,1000", "20ms,1000") {
		r, segments := runLogs(t, exe, 10, "STEMMA_ROTATE="+rotate)
		lines, runs, last := checkLogged(t, open(t, filepath.Dir(r.Dir)), r.Stdout)
		t.Logf("%d IDs, %d segments, IDs of %d; %s", lines, len(segments), runs, strings.TrimSpace(last))
		if runs < 3 {
			t.Error("want IDs of more segments")
		}
	}
}

// TestSegmentsKilled kills such programs at random moments. A reader that was there before decodes while names change.
func TestSegmentsKilled(t *testing.T) {
	e2e.NeedMore(t)
	killLogs(t, "dacce")
}

// TestSegmentsKilledLucce is TestSegmentsKilled for engine lucce.
func TestSegmentsKilledLucce(t *testing.T) {
	e2e.NeedFull(t)
	killLogs(t, "lucce")
}

func killLogs(t *testing.T, engine string) {
	exe := e2e.BuildDir(t, filepath.Join("testdata", "logs"), "-engine="+engine)
	ended := 0
	few := len(e2e.Few(8, make([]int, 40)...))
	for i := 0; i < few || ended < 5 && i < 40; i++ {
		out := t.TempDir()
		cmd := e2e.Command(t, out, exe, "STEMMA_ROTATE=3ms", "LOGS_MS=100000")
		stdout, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		set := open(t, out)
		time.AfterFunc(time.Duration(200+rand.IntN(500))*e2e.Slowness()*time.Millisecond, func() { cmd.Process.Kill() })
		for r := bufio.NewReader(stdout); ; {
			line, err := r.ReadString('\n')
			if said.WriteString(line); err != nil {
				break
			}
			if rand.IntN(10) == 0 {
				checkLogged(t, set, line)
			}
		}
		cmd.Wait()
		lines, runs, _ := checkLogged(t, open(t, out), said.String())
		checkLogged(t, set, said.String())
		if lines == 0 {
			t.Error("no IDs")
		}
		ended += runs - 1
	}
	if ended < 5 {
		t.Errorf("%d segments had ended, want more", ended)
	}
}

// TestSegmentEvents adds up the events of all segments: none is missing, and none is there twice.
func TestSegmentEvents(t *testing.T) {
	e2e.NeedFull(t)
	for _, engine := range []string{"dacce", "lucce"} {
		t.Run(engine, func(t *testing.T) { addUpEvents(t, engine) })
	}
}

func addUpEvents(t *testing.T, engine string) {
	exe := e2e.BuildDir(t, filepath.Join("testdata", "logs"), "-engine="+engine,
		"-events=alloc,go,block,panic,error", "-event-log")
	r, _ := runLogs(t, exe, 3, "STEMMA_ROTATE=10ms")
	_, _, last := checkLogged(t, open(t, filepath.Dir(r.Dir)), r.Stdout)
	var want, decoded uint64
	if n, err := fmt.Sscanf(last, "goes %d decoded %d", &want, &decoded); n != 2 {
		t.Fatalf("%q: %v", last, err)
	}
	have, logged := uint64(0), uint64(0)
	segments := append(store.Segments(r.Dir), r.Dir)
	for _, dir := range segments {
		rec, err := record.Open(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		d := decode.New(rec)
		ofMain := func(kind uint32, id ctxid.ID) bool {
			s, err := d.Decode(id)
			if err != nil {
				t.Fatal(err)
			}
			return kind == layout.EventGo && strings.HasPrefix(s.Frames[0].Func, "main.")
		}
		if err := rec.IDs.EventCounts(func(e *ids.EventCount) error {
			if ofMain(e.Kind, e.ID) {
				have += e.Count
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := rec.IDs.EventLog(func(e *ids.Event) error {
			if ofMain(e.Kind, e.ID) {
				logged++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if have != want || logged != want || len(segments) < 4 {
		t.Errorf("%d go statements counted in %d segments, %d logged, want %d", have, len(segments), logged, want)
	}
}

// TestSegmentsNice ends segments of a program that does nothing, and has no thread to spare. The thread that makes
// their files gives way to all others: none that begins meanwhile may have that from it.
func TestSegmentsNice(t *testing.T) {
	e2e.NeedMore(t)
	e2e.OnlyHost(t, "an emulator has threads of its own")
	exe := e2e.BuildDir(t, filepath.Join("testdata", "still"), "-engine=dacce")
	cmd := e2e.Command(t, t.TempDir(), exe, "STEMMA_ROTATE=20ms", "GOMAXPROCS=1")
	_, in := e2e.Ready(t, cmd)
	live := e2e.LiveDir(cmd.Env[slices.IndexFunc(cmd.Env, func(v string) bool {
		return strings.HasPrefix(v, "STEMMA_OUT=")
	})][len("STEMMA_OUT="):], cmd)
	for end := time.Now().Add(time.Minute); len(store.Segments(live)) < 3; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d segments have ended", len(store.Segments(live)))
		}
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	nice := 0
	for _, stat := range threads {
		text, err := os.ReadFile(stat)
		if err != nil {
			t.Fatal(err)
		}
		_, behind, _ := strings.Cut(string(text), ") ") // field 3 is the next one, and 19 how nice it is
		if fields := strings.Fields(behind); len(fields) < 17 || fields[16] != "0" {
			nice++
		}
	}
	if nice > 1 { // none where a filter of system calls forbids it
		t.Errorf("%d of %d threads give way to others, want one", nice, len(threads))
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestSegmentEventsRunning reads the events of a program that runs, again and again: there are never fewer than before,
// whatever ends meanwhile.
func TestSegmentEventsRunning(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.BuildDir(t, filepath.Join("testdata", "logs"), "-engine=dacce", "-events=go")
	out := t.TempDir()
	cmd := e2e.Command(t, out, exe, "STEMMA_ROTATE=20ms", "LOGS_MS=3000")
	t.Setenv("STEMMA_OUT", out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	for reads, before := 0, uint64(0); ; reads++ {
		select {
		case err := <-ended:
			if t.Logf("%d reads, at last %d events", reads, before); err != nil || reads < 3 || before == 0 {
				t.Errorf("%v; few reads, or no events", err)
			}
			return
		default:
		}
		var paths []string // the newest run
		if reads%2 == 1 {
			paths = []string{out}
		}
		r, err := store.LoadEvents(paths)
		if err != nil {
			if before > 0 {
				t.Error(err)
			}
			continue // it has not begun
		}
		events := uint64(0)
		for _, p := range r.Profiles {
			if err := p.IDs.EventCounts(func(e *ids.EventCount) error { events += e.Count; return nil }); err != nil {
				t.Error(err)
			}
		}
		if events < before {
			t.Errorf("%d events in %d records, %d before", events, len(r.Profiles), before)
		}
		before = max(before, events)
	}
}
