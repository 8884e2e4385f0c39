package splits

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// splitFuncs are the functions of the program splits.
var splitFuncs = [3]string{"main.f70", "main.f20", "main.f10"}

// A split is what the program says of itself, and what its samples say.
type split struct {
	took, time, count [3]float64 // of the three functions: true times, sampled times, samples
	urgent            uint64     // signals that the program was told of
	p                 *profile.Profile
}

// runSplit runs the program splits until it has enough samples, and reads its records. On a
// machine that others use it is seldom seen to run.
func runSplit(t *testing.T, exe, kind string, metric, counts profile.Metric, env ...string) *split {
	t.Helper()
	s := new(split)
	for tries := 0; tries < 6 && s.samples() < 300; tries++ {
		r := e2e.Run(t, exe, append(env, "SPLITS_KIND="+kind)...)
		r.OK(t)
		var d [3]string
		var urgent uint64
		if _, err := fmt.Sscan(strings.NewReplacer("[", "", "]", "").Replace(r.Stdout), &d[0], &d[1], &d[2],
			&urgent); err != nil {
			t.Fatalf("%v: %q", err, r.Stdout)
		}
		s.urgent += urgent
		s.p = r.Read(t)
		for i := range d {
			v, err := time.ParseDuration(d[i])
			if err != nil {
				t.Fatal(err)
			}
			s.took[i] += float64(v)
		}
		inclusive(s.p, metric, &s.time)
		inclusive(s.p, counts, &s.count)
	}
	return s
}

func (s *split) samples() float64 { return s.count[0] + s.count[1] + s.count[2] }

// inclusive adds a weight of the three functions and all that they called.
func inclusive(p *profile.Profile, weight profile.Metric, sum *[3]float64) {
	nodes := p.Nodes
	in := make([]int, len(nodes))
	for i, n := range nodes {
		in[i] = -1
		if i > 0 {
			in[i] = in[n.Parent]
		}
		for _, f := range p.Funcs[n.Func].Frames {
			if k := slices.Index(splitFuncs[:], p.String(f.Func)); k >= 0 {
				in[i] = k
			}
		}
		if in[i] >= 0 {
			sum[in[i]] += float64(p.Value(weight, i))
		}
	}
}

// shares returns percentages.
func shares(v [3]float64) (s [3]float64) {
	for i := range v {
		s[i] = 100 * v[i] / max(1, v[0]+v[1]+v[2])
	}
	return s
}

// check compares the shares of samples with the truth: they may differ by 4.5 standard
// deviations of a share of so many samples, and by one point for the clocks. Times
// may differ by twice as much, since not all samples stand for equally much.
func (s *split) check(t *testing.T) error {
	t.Helper()
	took, byTime, byCount, n := shares(s.took), shares(s.time), shares(s.count), s.samples()
	t.Logf("took %.1f %%, samples %.1f %%, time %.1f %%, %.0f samples", took, byCount, byTime, n)
	if n < 100 {
		return fmt.Errorf("only %.0f samples", n)
	}
	for i, truth := range took {
		bound := 1 + 4.5*math.Sqrt(truth*(100-truth)/max(1, n))
		if math.Abs(byCount[i]-truth) > bound || math.Abs(byTime[i]-truth) > 2*bound {
			return fmt.Errorf("%s took %.1f %% of the time, and has %.1f %% of %.0f samples and %.1f %% of their "+
				"time (want a difference of %.1f at most, and twice that)",
				splitFuncs[i], truth, byCount[i], n, byTime[i], bound)
		}
	}
	return nil
}

// TestSplits runs a program that knows where its time goes with every sampler: in loops
// without calls, tiny functions, assembly, the runtime, callbacks, system calls and C, and among many
// goroutines. A sample belongs to the instruction that ran when it was due.
func TestSplits(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "splits", "-engine=sample", "-every=500us")
	for i, how := range []string{"sampler=isps", "sampler=isps,walk=marker", "sampler=sps", "sampler=stw"} {
		for j, kind := range []string{"loop", "map", "syscall", "tiny", "memmove", "alloc", "sort", "c"} {
			if !e2e.Covers(i, 4, j, 8) {
				continue
			}
			t.Run(how+"/"+kind, func(t *testing.T) {
				e2e.Retry(t, func() error {
					s := runSplit(t, exe, kind, profile.CPU, profile.Samples, "STEMMA_SAMPLING="+how)
					// who stops the world preempts
					if kind == "loop" && how != "sampler=stw" && s.urgent > uint64(s.samples())/2 {
						return fmt.Errorf("the program was told of %d signals, of %.0f samples: it is to be told of "+
							"preemption only", s.urgent, s.samples())
					}
					return s.check(t)
				})
			})
		}
		if i > 0 && !e2e.Full() {
			continue
		}
		t.Run(how+"/crowd", func(t *testing.T) {
			e2e.Retry(t, func() error {
				return runSplit(t, exe, "loop", profile.CPU, profile.Samples, "STEMMA_SAMPLING="+how,
					"SPLITS_CROWD=10000").check(t)
			})
		})
	}
	for i, how := range []string{"sampler=isps", "sampler=stw"} {
		for j, kind := range []string{"sleep", "lock"} {
			if !e2e.Covers(i, 2, j, 2) {
				continue
			}
			t.Run(how+"/"+kind, func(t *testing.T) {
				e2e.Retry(t, func() error {
					return runSplit(t, exe, kind, profile.SampledWait, profile.SampledWaits,
						"STEMMA_SAMPLING="+how).check(t)
				})
			})
		}
	}
}

// within returns the share of the samples on CPU that have a function on their stack.
func within(p *profile.Profile, name string) float64 {
	in := make([]bool, len(p.Nodes))
	var some, all uint64
	for i, n := range p.Nodes {
		in[i] = in[n.Parent]
		for _, f := range p.Funcs[n.Func].Frames {
			in[i] = in[i] || p.String(f.Func) == name
		}
		if all += p.Value(profile.Samples, i); in[i] {
			some += p.Value(profile.Samples, i)
		}
	}
	return float64(some) / float64(max(1, all))
}

// TestBetweenCalls looks for samples in the system calls by which the program reads its clock, every few
// tens of microseconds. They take 3 to 15 % of the time, by what the machine's system calls cost. In a virtual
// machine, where a signal from another thread takes as long to come, nine of ten samples were in
// them when such signals took the samples.
func TestBetweenCalls(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "splits", "-engine=sample", "-every=500us")
	for _, how := range e2e.Few(2, "sampler=isps", "sampler=sps", "sampler=stw") {
		for _, kind := range e2e.Few(1, "memmove", "sort") {
			e2e.Retry(t, func() error {
				s := runSplit(t, exe, kind, profile.CPU, profile.Samples, "STEMMA_SAMPLING="+how)
				share := within(s.p, "main.threadTime")
				t.Logf("%s, %s: %.1f %% of the samples are in system calls", how, kind, 100*share)
				if share > 0.3 {
					return fmt.Errorf("%s, %s: %.1f %% of the samples are in system calls, want 30 %% at most", how,
						kind, 100*share)
				}
				return nil
			})
		}
	}
}

// TestPrologueBias shows what the samples of the paper's way are worth, and that they report it: in a loop
// without calls there are none.
func TestPrologueBias(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "splits", "-engine=sample", "-every=500us")
	inLoop := func(at string) float64 {
		s := runSplit(t, exe, "loop", profile.CPU, profile.Samples, "STEMMA_SAMPLING=sampler=isps,sample-at="+at)
		proc := s.p.Processes[0]
		noted := strings.Contains(strings.Join(proc.Notes, "\n"), "biased")
		if proc.Sampling.At != at || noted != (at == profile.AtPrologue) {
			t.Errorf("sampled at %q, notes %q", proc.Sampling.At, proc.Notes)
		}
		var loop, all uint64
		for i, n := range s.p.Nodes {
			all += s.p.Value(profile.Samples, i)
			if frames := s.p.Funcs[n.Func].Frames; len(frames) > 0 && s.p.String(frames[0].Func) == "main.loop" {
				loop += s.p.Value(profile.Samples, i)
			}
		}
		return float64(loop) / float64(max(1, all))
	}
	// A thread that does not get a CPU before the next tick is asked by a signal instead.
	e2e.Retry(t, func() error {
		prologue, signal := inLoop(profile.AtPrologue), inLoop(profile.AtSignal)
		t.Logf("at prologues %.2f of the samples are in the loop, by signals %.2f", prologue, signal)
		if prologue > 0.8*signal || signal < 0.6 {
			return fmt.Errorf("at prologues %.2f of the samples are in the loop, by signals %.2f; "+
				"want at most 0.8 of that, and at least 0.6", prologue, signal)
		}
		return nil
	})
}

// TestCPUTime compares the time on CPU with what the kernel counted for the process, in a program with
// more threads than there are CPUs: a goroutine that has a P need not have a CPU.
func TestCPUTime(t *testing.T) {
	e2e.NeedMore(t)
	exe := e2e.Build(t, "busy", "-engine=sample", "-every=1ms")
	for _, how := range e2e.Few(2, "sampler=isps", "sampler=stw", "sampler=sps", "sampler=isps,sample-at=prologue") {
		least := 0.7 // what is missing is what threads used since their last samples
		if strings.Contains(how, "prologue") {
			least = 0.3
		}
		e2e.Retry(t, func() error {
			r := e2e.Run(t, exe, "STEMMA_SAMPLING="+how, "GOMAXPROCS=8", "BUSY_WORKERS=8")
			r.OK(t)
			p := r.Read(t)
			cpu, kernel := p.Total(profile.CPU), p.Processes[0].Sampling.Stat("processCPU")
			t.Logf("%s: %v on CPU, the kernel counted %v", how, time.Duration(cpu), time.Duration(kernel))
			// Who gets no CPU for long is preempted, and hears of that and of its timer at once.
			share := within(p, "runtime.asyncPreempt")
			switch {
			case kernel == 0 || cpu > kernel || float64(cpu) < least*float64(kernel):
				return fmt.Errorf("%s: %v on CPU, the kernel counted %v", how, time.Duration(cpu),
					time.Duration(kernel))
			case share > 0.05:
				return fmt.Errorf("%s: %.0f %% of the samples are in runtime.asyncPreempt, where no time is spent",
					how, 100*share)
			case kernel > uint64(r.CPU):
				return fmt.Errorf("%s: %v of CPU while it was sampled, %v in all", how, time.Duration(kernel), r.CPU)
			}
			return nil
		})
	}
}
