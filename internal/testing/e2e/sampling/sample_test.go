package sampling

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// buildSampled builds a program that is sampled every 20 µs.
func buildSampled(t *testing.T, name string) string {
	t.Helper()
	return e2e.Build(t, name, "-engine=sample", "-every=20us")
}

// sampling returns how the program was sampled.
func sampling(t *testing.T, p *profile.Profile) *profile.Sampling {
	t.Helper()
	if len(p.Processes) != 1 || p.Processes[0].Sampling == nil || !p.Sampled() {
		t.Fatal("the profile has no samples")
	}
	return p.Processes[0].Sampling
}

// mustFail runs a program without a part of the runtime until the check, or the
// program, fails for want of it. What needs the part is often a moment, such as a preemption
// in the prologue of a function while a trace is on: one run in four has none.
func mustFail(t *testing.T, exe string, env ...string) {
	t.Helper()
	for try := range 40 {
		r := e2e.RunBroken(t, exe, env...)
		failed := r.Err != nil
		if !failed {
			s := sampling(t, r.Read(t))
			failed = s.Stat("mismatches")+s.Stat("dead") > 0
		}
		if failed {
			t.Logf("run %d failed", try+1)
			return
		}
	}
	t.Error("nothing failed with", env)
}

// TestIncremental compares each incremental trace with a walk of the unwinder, in a
// program that does all that is hard for incremental tracing: with samples at
// random moments, and in every prologue. A mismatch ends the program.
func TestIncremental(t *testing.T) {
	e2e.NeedMore(t)
	exe := buildSampled(t, "sampled")
	for i, walk := range []string{"incremental", "marker"} {
		for j, every := range []string{"", "fast", "slow"} {
			for k, procs := range []int{1, 4} {
				if !e2e.Covers(i, 2, j, 3) || !e2e.Covers(j%2, 2, k, 2) {
					continue
				}
				t.Run(fmt.Sprintf("%s/every=%s/procs=%d", walk, every, procs), func(t *testing.T) {
					// On a machine that others use a program is seldom seen to run.
					var s *profile.Sampling
					checked := uint64(0)
					for tries := 0; tries < 10 && (checked < 100 || every != "" && checked < 10000); tries++ {
						r := e2e.Run(t, exe, "STEMMA_SAMPLING=walk="+walk, "STEMMA_TRACE_CHECK=throw",
							"STEMMA_TRACE_EVERY="+every, fmt.Sprint("GOMAXPROCS=", procs), "GOTRACEBACK=crash")
						r.OK(t)
						if most := int64(512 << 20); r.Memory > most {
							t.Errorf("%d MB of memory, want at most %d", r.Memory>>20, most>>20)
						}
						p := r.Read(t)
						s = sampling(t, p)
						checked += s.Stat("checked")
						checkAllThere(t, p)
					}
					if checked < 100 || every != "" && checked < 10000 {
						t.Errorf("only %d traces were checked", checked)
					}
					for _, kind := range []string{"mismatches", "dead", "lost"} {
						if n := s.Stat(kind); n != 0 {
							t.Errorf("%d %s", n, kind)
						}
					}
					checkFailed(t, s)
					if walk == "incremental" && every != "slow" && s.Stat("returns") <= s.Stat("slow") {
						t.Errorf("of %d returns %d took the slow path", s.Stat("returns"), s.Stat("slow"))
					}
					t.Logf("%d traces checked, %d returns intercepted, %d of them slowly", s.Stat("checked"),
						s.Stat("returns"), s.Stat("slow"))
				})
			}
		}
	}
}

// checkAllThere reports samples that the record of a program that has ended does not have: those whose outer frames
// were never found.
func checkAllThere(t *testing.T, p *profile.Profile) {
	t.Helper()
	s := sampling(t, p)
	if have, want := p.Total(profile.Samples), s.Stat("samples"); have != want {
		t.Errorf("%d samples in the tree, want %d: %v", have, want, s.Stats)
	}
}

// checkFailed reports walks that did not reach the outermost frame: a signal that strikes in the
// few instructions with which the runtime changes stacks finds none.
func checkFailed(t *testing.T, s *profile.Sampling) {
	t.Helper()
	if n := s.Stat("failed"); n > 5+s.Stat("samples")/50 {
		t.Errorf("of %d walks %d failed", s.Stat("samples"), n)
	}
}

// TestSingleStep walks the stack from every instruction of the trampoline.
func TestSingleStep(t *testing.T) {
	e2e.NeedMore(t)
	e2e.OnlyHost(t, "programs cannot single-step themselves there")
	exe := buildSampled(t, "sampled")
	for _, walk := range []string{"incremental", "marker"} {
		for _, every := range e2e.Few(1, "fast", "slow") {
			// A return costs a signal even where it is not stepped through: what the program has
			// begun when its second is over must be short.
			r := e2e.Run(t, exe, "STEMMA_SAMPLING=walk="+walk, "STEMMA_TRACE_CHECK=throw",
				"STEMMA_TRACE_EVERY="+every, "STEMMA_TRACE_STEP=4000", "SAMPLED_DEPTH=20")
			r.OK(t)
			s := sampling(t, r.Read(t))
			if s.Stat("stepped") < 1000 || s.Stat("mismatches")+s.Stat("dead") > 0 {
				t.Errorf("%s, every=%s: %v", walk, every, s.Stats)
			}
			t.Logf("%s, every=%s: %d instructions, %d traces", walk, every, s.Stat("stepped"), s.Stat("checked"))
		}
	}
	mustFail(t, exe, "STEMMA_TRACE_CHECK=throw", "STEMMA_TRACE_EVERY=fast", "STEMMA_TRACE_STEP=4000",
		"STEMMA_TRACE_WITHOUT=unwind")
}

// TestIncrementalControls turns off one by one what makes the runtime
// understand patched stacks: each time the check, or the program, must fail.
func TestIncrementalControls(t *testing.T) {
	e2e.NeedMore(t)
	exe := buildSampled(t, "sampled")
	for _, without := range e2e.Few(3, "unwind", "block", "recovery", "trace", "prologue", "gdestroy") {
		t.Run(without, func(t *testing.T) {
			if without == "prologue" {
				e2e.OnlyHost(t, "the link register has the return address in a prologue")
			}
			mustFail(t, exe, "STEMMA_TRACE_CHECK=throw", "STEMMA_TRACE_EVERY=fast", "STEMMA_TRACE_WITHOUT="+without)
		})
	}
}

// TestWaitInName samples a goroutine that the runtime says is waiting while it runs:
// it ends a phase of the garbage collector. Its registers are those of the last time that it
// was stopped, or none at all: a walk from them seldom fails, so the runtime counts such walks.
func TestWaitInName(t *testing.T) {
	e2e.NeedMore(t)
	exe := buildSampled(t, "collector")
	env := []string{"GOGC=1", "GOMAXPROCS=2", "STEMMA_TRACE_EVERY=waiting", "STEMMA_TRACE_CHECK=count"}
	r := e2e.Run(t, exe, env...)
	r.OK(t)
	s := sampling(t, r.Read(t))
	if s.Stat("waiting") < 1000 || s.Stat("mismatches") > 0 {
		t.Errorf("goroutines that do not wait were walked, or none that does: %v", s.Stats)
	}
	mustFail(t, exe, append(env, "STEMMA_TRACE_WITHOUT=hold")...)
}

// TestRepeat samples a program that mostly holds locks where it is asked: the request is
// met when they are given up, and not only when a signal makes it at the next tick.
func TestRepeat(t *testing.T) {
	e2e.NeedMore(t)
	exe := buildSampled(t, "locks")
	repeated := func(without string) (n, requests uint64) {
		for tries := 0; tries < 20 && requests < 500; tries++ { // a program that others leave little CPU time makes few
			r := e2e.Run(t, exe, "STEMMA_SAMPLING=sample-at=prologue", "STEMMA_TRACE_WITHOUT="+without)
			r.OK(t)
			s := sampling(t, r.Read(t))
			n, requests = n+s.Stat("repeated"), requests+s.Stat("requests")
		}
		return n, requests
	}
	n, requests := repeated("")
	if n < max(5, requests/50) {
		t.Errorf("of %d requests %d were repeated", requests, n)
	}
	t.Logf("of %d requests %d were repeated", requests, n)
	if n, _ := repeated("repeat"); n != 0 {
		t.Errorf("%d requests were repeated by nobody", n)
	}
}

// TestSamplers runs each sampler with each kind of walk and looks at what came
// of it: all requests are accounted for, and the time adds up.
func TestSamplers(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "busy", "-engine=sample", "-every=1ms")
	for _, how := range []string{"sampler=isps", "sampler=isps,walk=marker", "sampler=sps,walk=fp",
		"sampler=sps,walk=unwinder", "sampler=stw", "sampler=jvmti", "sampler=isps,sample-at=prologue"} {
		t.Run(how, func(t *testing.T) {
			e2e.Retry(t, func() error {
				r := e2e.Run(t, exe, "STEMMA_SAMPLING="+how, "GOMAXPROCS=2")
				r.OK(t)
				p := r.Read(t)
				s := sampling(t, p)
				checkFailed(t, s)
				met := s.Stat("samples") + s.Stat("dropped")
				if asked := s.Stat("requests"); met > asked || asked-met > 2 {
					t.Errorf("%d requests, of which %d were met or dropped", asked, met)
				}
				stops := strings.HasSuffix(how, "=stw") || strings.HasSuffix(how, "=jvmti")
				if n := s.Stat("stops"); (n > 0) != stops || n > s.Stat("ticks") {
					t.Errorf("the world was stopped %d times in %d ticks", n, s.Stat("ticks"))
				}
				return checkBusy(t, r, p)
			})
		})
	}
}

// TestStopsOfSyscalls samples goroutines in system calls while the world is stopped: who stops it takes the P of such a
// goroutine away unless that is held, and asks once. A Go program without samples may wait as well, for a minute, but
// once in some thousand stops.
func TestStopsOfSyscalls(t *testing.T) {
	e2e.NeedMore(t)
	e2e.OnlyHost(t, "an emulator may be as slow as what is looked for")
	exe := e2e.BuildDir(t, filepath.Join("testdata", "stops"), "-engine=sample", "-every=1ms")
	e2e.Retry(t, func() error {
		cmd := e2e.Command(t, t.TempDir(), exe, "STEMMA_TRACE_EVERY=waiting", "GOMAXPROCS=8", "GOGC=off")
		timer := time.AfterFunc(45*time.Second, func() { cmd.Process.Kill() })
		defer timer.Stop()
		if out, err := cmd.Output(); err != nil {
			return fmt.Errorf("%v after %q: the world was not stopped", err, out)
		}
		return nil
	})
}

// TestRace samples with the race detector, which knows nothing of patched return addresses: each walk is of the whole
// stack.
func TestRace(t *testing.T) {
	e2e.NeedFull(t)
	e2e.OnlyHost(t, "the race detector needs C")
	exe := e2e.Build(t, "busy", "-engine=sample", "-every=1ms", "-race")
	for _, how := range []string{"sampler=isps", "sampler=isps,walk=marker", "sampler=sps", "sampler=stw"} {
		t.Run(how, func(t *testing.T) {
			e2e.Retry(t, func() error {
				r := e2e.Run(t, exe, "STEMMA_SAMPLING="+how, "GOMAXPROCS=2")
				r.OK(t)
				p := r.Read(t)
				s := sampling(t, p)
				checkFailed(t, s)
				if s.Stat("returns") > 0 || s.Stat("samples") < 100 {
					t.Errorf("%d samples, %d returns were intercepted", s.Stat("samples"), s.Stat("returns"))
				}
				return checkBusy(t, r, p)
			})
		})
	}
}

// checkBusy checks where the time of the program busy went.
func checkBusy(t *testing.T, r e2e.Result, p *profile.Profile) error {
	cpu := time.Duration(p.Total(profile.CPU))
	if cpu == 0 || cpu > r.CPU {
		return fmt.Errorf("%v on CPU, of %v", cpu, r.CPU)
	}
	tree, err := cct.Of(p, "cpu")
	if err != nil {
		t.Fatal(err)
	}
	share := make(map[string]float64)
	for i, n := range tree.InclusiveByFunction() {
		share[tree.Funcs[i].Name] = float64(n) / float64(max(1, tree.Totals().Calls))
	}
	if share["main.work"] < 0.8 {
		return fmt.Errorf("main.work %.2f of the time, want 1", share["main.work"])
	}
	if waits, _ := cct.Of(p, "wait"); waits.Totals().Calls == 0 {
		return errors.New("no waiting goroutine was sampled")
	}
	// A goroutine that has not begun is in the wrapper of its go statement alone, and has no other name.
	calls := make(map[uint32]bool)
	for _, n := range tree.Nodes[1:] {
		calls[n.Parent] = true
	}
	for i, n := range tree.Nodes {
		name := tree.Funcs[n.Func].Name
		begins := strings.Contains(name, "gowrap") && n.Parent == 0 && !calls[uint32(i)]
		if !begins && (strings.Contains(name, "gowrap") || strings.Contains(name, "outer")) {
			return fmt.Errorf("%s is a wrapper, which tracebacks do not show", name)
		}
	}
	return nil
}

// TestDeep records stacks of 10,000 frames whole.
func TestDeep(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "busy", "-engine=sample", "-every=1ms")
	for _, how := range e2e.Few(4, "sampler=isps", "sampler=sps,walk=fp", "sampler=stw", "sampler=jvmti",
		"sampler=isps,walk=marker", "sampler=sps,walk=unwinder") {
		t.Run(how, func(t *testing.T) {
			e2e.Retry(t, func() error {
				r := e2e.Run(t, exe, "STEMMA_SAMPLING="+how, "BUSY_DEPTH=10000")
				r.OK(t)
				p := r.Read(t)
				depth := make([]int, len(p.Nodes))
				deepest := 0
				for i, n := range p.Nodes {
					if i > 0 {
						depth[i] = depth[n.Parent] + 1
					}
					if p.Value(profile.Samples, i) > 0 {
						deepest = max(deepest, depth[i])
					}
				}
				checkFailed(t, sampling(t, p))
				if deepest < 10000 {
					return fmt.Errorf("the deepest sample has %d frames, want at least 10000", deepest)
				}
				return nil
			})
		})
	}
}

// TestMarkerFull has more new frames than a walk to the marker has room for: those that it finds are below [truncated],
// and not below the root, as if nothing had called them.
func TestMarkerFull(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "busy", "-engine=sample", "-every=1ms")
	e2e.Retry(t, func() error {
		// So seldom that there is one sample at most on the way to the bottom: above it or below it are enough frames.
		r := e2e.Run(t, exe, "STEMMA_SAMPLING=walk=marker,every=300ms", "BUSY_DEPTH=600000", "BUSY_TIME=3s")
		r.OK(t)
		p := r.Read(t)
		tree, err := cct.Of(p, "cpu")
		if err != nil {
			t.Fatal(err)
		}
		kept := false
		for _, n := range tree.Nodes[1:] {
			name := tree.Funcs[n.Func].Name
			if n.Parent == 0 && name == "main.deep" {
				return fmt.Errorf("nothing has called %s; %v", name, sampling(t, p).Stats)
			}
			kept = kept || name == "main.deep" && tree.Funcs[tree.Nodes[n.Parent].Func].Name == "[truncated]"
		}
		if sampling(t, p).Stat("failed") == 0 {
			return errors.New("no walk has come to the end of its buffer")
		}
		if !kept {
			return errors.New("nothing is kept of a walk that has come to the end of its buffer")
		}
		return nil
	})
}

// TestDeepProgress walks stacks for longer than it is until the next sample is due. The
// program gets on anyway.
func TestDeepProgress(t *testing.T) {
	e2e.NeedFull(t)
	exe := e2e.Build(t, "busy", "-engine=sample", "-every=1ms")
	e2e.Retry(t, func() error {
		r := e2e.Run(t, exe, "STEMMA_SAMPLING=sampler=sps,walk=unwinder", "BUSY_DEPTH=300000")
		r.OK(t)
		if n := sampling(t, r.Read(t)).Stat("samples"); n == 0 || n > 300 {
			return fmt.Errorf("%d samples of half a second, each of which takes milliseconds; want some, "+
				"at most 300", n)
		}
		return nil
	})
}

// TestSampleKilled kills a program with SIGKILL: what was sampled is on record.
func TestSampleKilled(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "busy", "-engine=sample", "-every=1ms")
	for _, how := range []string{"sampler=isps", "sampler=sps"} {
		out := t.TempDir()
		cmd := e2e.Command(t, out, exe, "STEMMA_SAMPLING="+how, "BUSY_TIME=1m")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// A machine that others use takes its time.
		read := func() *profile.Profile {
			dir := e2e.LiveDir(out, cmd)
			p, err := record.Open(os.DirFS(dir))
			if dir == "" || err != nil {
				return nil
			}
			return p.Profile
		}
		for range 200 {
			time.Sleep(100 * time.Millisecond)
			if p := read(); p != nil && sampling(t, p).Stat("samples") >= 300 {
				break
			}
		}
		cmd.Process.Kill()
		cmd.Wait()
		p := read()
		if p == nil {
			t.Fatal("no record that can be read")
		}
		// isps has the samples since the last retrieve, a tenth of a second, in memory only.
		if n := p.Total(profile.Samples); n < 100 {
			t.Errorf("%s: %d samples survived, want at least 100", how, n)
		}
		for _, l := range p.Lost() {
			t.Logf("%s: lost %s %d", how, l.Kind, l.Count)
		}
	}
}

// TestSampleOff builds for sampling and does not sample: there is a record, and nothing in it.
func TestSampleOff(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "busy", "-engine=sample", "-every=1ms")
	r := e2e.Run(t, exe, "STEMMA_SAMPLING=start=off")
	r.OK(t)
	p := r.Read(t)
	if n := len(p.Nodes); n > 2 {
		t.Errorf("%d nodes", n)
	}
	if !strings.Contains(r.Stdout, "ok") {
		t.Error("the program did not run")
	}
}

// TestOnOff switches sampling on and off beside all that makes the runtime send its own signals: none of those may be
// lost with one of a timer that is stopped, or a goroutine is never stopped again, and the program stands still.
func TestOnOff(t *testing.T) {
	e2e.NeedMore(t)
	e2e.NeedKernel(t, "the program starts itself")
	exe := e2e.BuildDir(t, "testdata/onoff", "-engine=sample", "-start=off")
	rounds := 30
	if e2e.Full() {
		rounds = 1000
	}
	for _, how := range e2e.Few(3, "", "sampler=sps", "sampler=jvmti", "sampler=stw", "sample-at=prologue") {
		t.Run(how, func(t *testing.T) {
			r := e2e.Run(t, exe, "STEMMA_SAMPLING="+how, fmt.Sprint("ONOFF_ROUNDS=", rounds))
			r.OK(t)
			s := sampling(t, r.Read(t))
			if s.Stat("samples") == 0 {
				t.Errorf("no sample: %v", s.Stats)
			}
		})
	}
}

// TestStartStop starts and stops sampling again and again while goroutines run, with
// the functions of package stemma, and asks the program's HTTP handler.
func TestStartStop(t *testing.T) {
	e2e.NeedFull(t)
	exe := e2e.BuildDir(t, "testdata/startstop", "-engine=sample", "-start=off")
	for _, walk := range []string{"incremental", "marker"} {
		r := e2e.Run(t, exe, "STEMMA_SAMPLING=walk="+walk, "STEMMA_TRACE_CHECK=throw")
		r.OK(t)
		if !strings.Contains(r.Stdout, "main.rec;main.rec") {
			t.Errorf("%s: the handler did not show main.rec:\n%s", walk, e2e.Tail(r.Stdout))
		}
		p := r.Read(t)
		s := sampling(t, p)
		checkAllThere(t, p)
		if n := s.Stat("dead") + s.Stat("mismatches"); n != 0 || s.Stat("checked") == 0 {
			t.Errorf("%s: %v", walk, s.Stats)
		}
	}
}
