package sampling

import (
	"bufio"
	"fmt"
	"hash/fnv"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestRequests compares the samples that a program asks for with what runtime.Callers has told it
// at the same places: in recursion, panics, Goexit, goroutines that end at once, stacks that
// grow, and while timers, and every prologue, take samples as well.
func TestRequests(t *testing.T) {
	e2e.NeedMore(t)
	exe := buildRequests(t)
	for _, env := range e2e.Few(4,
		[]string{"STEMMA_SAMPLING=start=off", "GOGC=1", "GOMAXPROCS=4"},
		[]string{"STEMMA_SAMPLING=every=20us", "STEMMA_TRACE_CHECK=throw"},
		[]string{"STEMMA_SAMPLING=sample-at=prologue,every=100us"},
		[]string{"STEMMA_SAMPLING=sampler=sps"},
		[]string{"STEMMA_SAMPLING=start=off"},
		[]string{"STEMMA_SAMPLING=every=20us", "GOMAXPROCS=4"},
		[]string{"STEMMA_SAMPLING=every=20us,walk=marker", "STEMMA_TRACE_CHECK=throw"},
		[]string{"STEMMA_SAMPLING=sampler=stw"},
	) {
		t.Run(strings.Join(env, ","), func(t *testing.T) {
			r := e2e.Run(t, exe, env...)
			r.OK(t)
			p := r.Read(t)
			checkRequests(t, r.Stdout, p)
			if s := sampling(t, p); s.Stat("mismatches")+s.Stat("dead")+s.Stat("lost") > 0 {
				t.Errorf("%v", s.Stats)
			}
		})
	}
}

// buildRequests builds the program that asks for samples, with -full by HTTP as well.
func buildRequests(t *testing.T, flags ...string) string {
	t.Helper()
	if e2e.Full() {
		flags = append(flags, "-tags=nethttp")
	}
	return e2e.BuildDir(t, "testdata/requests", append(flags, "-engine=sample")...)
}

// TestRequestsCalled is TestRequests where the function that asks for a sample is called, and not
// inlined: it has a frame of its own, which is not part of the stack that was asked for.
func TestRequestsCalled(t *testing.T) {
	e2e.NeedFull(t)
	r := e2e.Run(t, buildRequests(t, "-gcflags=github.com/stemma-go/stemma=-l"), "STEMMA_SAMPLING=every=20us")
	r.OK(t)
	checkRequests(t, r.Stdout, r.Read(t))
}

// checkRequests holds the requests of p against what the program has printed.
func checkRequests(t *testing.T, stdout string, p *profile.Profile) {
	t.Helper()
	have := make(map[uint64]profile.Request)
	for _, q := range p.Requests {
		if q.Pending || q.Time <= 0 || q.Goroutine == 0 {
			t.Errorf("request %+v", q)
		}
		have[q.ID] = q
	}
	wants := 0
	for lines := bufio.NewScanner(strings.NewReader(stdout)); lines.Scan(); wants++ {
		var id, want uint64
		var depth int
		if _, err := fmt.Sscanf(lines.Text(), "want %d %d %d", &id, &want, &depth); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		if got, stack := hashRequest(p, have[id]); got != want {
			t.Fatalf("request %d of %d frames is\n%s", id, depth, e2e.Tail(stack))
		}
	}
	if wants < 3000 || wants != len(p.Requests) {
		t.Errorf("%d requests, want %d, at least 3000", len(p.Requests), wants)
	}
	t.Logf("%d requests are right", wants)
}

// instance is the list of types of a generic function, which runtime.CallersFrames writes as three points.
var instance = regexp.MustCompile(`\[.*\]`)

// hashRequest returns what the program computes of a stack, and the stack.
func hashRequest(p *profile.Profile, q profile.Request) (uint64, string) {
	h, stack := fnv.New64a(), ""
	for i, f := range p.Stack(q.Node) {
		if i == 0 {
			f.Line = 0
		}
		line := fmt.Sprintf("%s %d\n", instance.ReplaceAllString(p.String(f.Func), "[...]"), f.Line)
		h.Write([]byte(line))
		stack += line
	}
	return h.Sum64(), stack
}

// TestRequestsKilled kills a program with SIGKILL: the requests that were known are on record, of one
// that was not the function that asked.
func TestRequestsKilled(t *testing.T) {
	e2e.NeedMore(t)
	exe := buildRequests(t)
	out := t.TempDir()
	cmd := e2e.Command(t, out, exe, "STEMMA_SAMPLING=start=off", "REQUESTS=kill")
	pipe, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		t.Fatal("no program")
	}
	if line, err := bufio.NewReader(pipe).ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	const pending = "main.main.func2 [pending]"
	// The sampler describes the addresses of the last request, as soon as it gets a CPU.
	for range 600 {
		if r, err := record.Open(os.DirFS(e2e.LiveDir(out, cmd))); err == nil {
			if last := r.RequestsOf(1 << 40); len(last) == 1 && namesOf(r.Profile, last[0]) == pending {
				break
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	cmd.Process.Kill()
	cmd.Wait()
	r, err := record.Open(os.DirFS(e2e.LiveDir(out, cmd)))
	if err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, q := range r.Requests {
		if !q.Pending {
			known++
		}
	}
	if known < 100 || len(r.Requests) != known+1 {
		t.Errorf("%d requests, %d of them known; want 1 more than known, and 100 at least", len(r.Requests), known)
	}
	last := r.RequestsOf(1 << 40)
	if len(last) != 1 || !last[0].Pending {
		t.Fatalf("the last request is %+v", last)
	}
	if have := namesOf(r.Profile, last[0]); have != pending {
		t.Errorf("of the last request is known: %s", have)
	}
}
