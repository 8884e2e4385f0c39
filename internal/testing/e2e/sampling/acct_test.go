package sampling

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestAccumulator compares the approximate tree with the exact one of the same
// run, for each trigger and both strategies.
func TestAccumulator(t *testing.T) {
	e2e.NeedFull(t)
	for _, tt := range []struct {
		trigger, weights string
		least, most      float64 // degree of overlap
	}{
		{"calls:1", "last-edge", 0.99, 1.001},
		{"calls:59", "last-edge", 0.95, 1.001},
		{"calls:307", "last-edge", 0.93, 1.001},
		{"calls:1559", "last-edge", 0.9, 1.001},
		{"calls:59", "all-new-edges", 0.3, 0.8},
		{"calls:307", "all-new-edges", 0.2, 0.7},
		// A counter for each function has few samples of each here; the hottest context is found anyway.
		{"func:1000", "last-edge", 0.5, 1.001},
		{"time:100us", "last-edge", 0.5, 1.001},
	} {
		for _, recursion := range recursions {
			t.Run(tt.trigger+"/"+tt.weights+"/"+recursion, func(t *testing.T) {
				exe := e2e.Build(t, "accumulate", "-engine=cct+acct", "-recursion="+recursion, "-trigger="+tt.trigger,
					"-weights="+tt.weights)
				r := e2e.Run(t, exe)
				r.OK(t)
				p := r.Read(t)
				s := sampling(t, p)
				if s.Stat("samples") == 0 || s.Stat("dead")+s.Stat("failed")+s.Stat("lost") != 0 {
					t.Errorf("%v", s.Stats)
				}
				samples, err := cct.Of(p, "samples")
				if err != nil {
					t.Fatal(err)
				}
				exact, approximate := similarity.Pair(cct.New(p), samples)
				overlap := similarity.Overlap(exact, approximate)
				if overlap < tt.least || overlap > tt.most {
					t.Errorf("overlap %.3f, want %v to %v; %v", overlap, tt.least, tt.most, s.Stats)
				}
				t.Logf("overlap %.3f, hot-edge coverage %.3f, %d samples", overlap,
					similarity.HotEdgeCoverage(exact, approximate, 0.1), s.Stat("samples"))
			})
		}
	}
}

// TestAccumulatorUnbiased compares how often each function is sampled with its calls, in a program that calls through
// wrappers and has periods, beside the exact tree and alone. The program makes the same calls in each run.
func TestAccumulatorUnbiased(t *testing.T) {
	e2e.NeedFull(t)
	for _, trigger := range []string{"calls:1", "calls:31", "func:31"} {
		for _, recursion := range recursions {
			t.Run(trigger+"/"+recursion, func(t *testing.T) { checkUnbiased(t, trigger, recursion) })
		}
	}
}

func checkUnbiased(t *testing.T, trigger, recursion string) {
	calls, beside := ofMain(t, "-engine=cct+acct", "-recursion="+recursion, "-trigger="+trigger)
	if trigger == "calls:1" && !maps.Equal(calls, beside) {
		t.Errorf("beside: have %v, want %v", beside, calls)
	}
	_, alone := ofMain(t, "-engine=acct", "-recursion="+recursion, "-trigger="+trigger)
	exact := calls.ByCallee()
	for name, paths := range map[string]similarity.Weights{"beside": beside, "alone": alone} {
		samples := paths.ByCallee()
		b := similarity.BiasOf(exact, samples)
		t.Logf("%s: %+v", name, b)
		switch {
		case trigger == "calls:1" && !maps.Equal(exact, samples):
			t.Errorf("%s: have %v, want %v", name, samples, exact)
		case trigger != "calls:1" && (b.Functions < 10 || b.Mean > 2.5 || b.Worst > 16):
			t.Errorf("%s: %+v, want 10 functions with z² of 1 in the mean", name, b)
		}
	}
}

// ofMain returns the calls of the functions of program wrapped, and the samples of them, by path. A method with nothing
// in it has no position in its wrapper, so there are no samples of it.
func ofMain(t *testing.T, flags ...string) (calls, samples similarity.Weights) {
	r := e2e.Run(t, e2e.Build(t, "wrapped", flags...), "STEMMA_DETERMINISTIC=1")
	r.OK(t)
	p := r.Read(t)
	tree, err := cct.Of(p, "samples")
	if err != nil {
		t.Fatal(err)
	}
	calls, samples = similarity.Pair(cct.New(p), tree)
	for _, w := range []similarity.Weights{calls, samples} {
		maps.DeleteFunc(w, func(path string, _ float64) bool {
			callee := path[strings.LastIndexByte(path, '\n')+1:]
			return !strings.HasPrefix(callee, "main.") || strings.HasPrefix(callee, "main.(*inner).nothing")
		})
	}
	return calls, samples
}

// recursions are the values of -recursion. With fold the samples are folded when they are taken, as the
// exact tree is when it grows.
var recursions = []string{"fold", "full"}

// TestAccumulatorAlone compares the approximate tree of a program without an exact one with the exact tree of a
// run of its own: the program makes the same calls each time.
func TestAccumulatorAlone(t *testing.T) {
	e2e.NeedFull(t)
	short, long := "ACCUMULATE=3000", "ACCUMULATE=60000"
	trees := map[string]similarity.Weights{}
	for _, recursion := range recursions {
		for _, env := range []string{short, long} {
			r := e2e.Run(t, e2e.Build(t, "accumulate", "-recursion="+recursion), env)
			r.OK(t)
			trees[recursion+env] = similarity.Entries(cct.New(r.Read(t)), nil)
		}
	}
	for _, tt := range []struct {
		trigger, weights, env string
		least, most           float64 // degree of overlap
		n                     float64 // calls for each sample; 0 where that is not known
	}{
		{"calls:1", "last-edge", short, 0.99, 1.001, 1},
		{"calls:307", "last-edge", short, 0.95, 1.001, 307},
		{"calls:307", "all-new-edges", short, 0.2, 0.7, 0},
		{"func:1000", "last-edge", short, 0.5, 1.001, 0},
		{"func:1000", "all-new-edges", short, 0, 0.7, 0},
		{"time:100us", "last-edge", long, 0.3, 1.001, 0},
	} {
		for _, recursion := range recursions {
			t.Run(tt.trigger+"/"+tt.weights+"/"+recursion, func(t *testing.T) {
				exe := e2e.Build(t, "accumulate", "-engine=acct", "-recursion="+recursion, "-trigger="+tt.trigger,
					"-weights="+tt.weights)
				e2e.Retry(t, func() error {
					r := e2e.Run(t, exe, tt.env)
					if r.Err != nil {
						return fmt.Errorf("%w\n%s", r.Err, e2e.Tail(r.Stderr))
					}
					return checkAlone(t, r.Read(t), trees[recursion+tt.env], tt.n, tt.least, tt.most)
				})
			})
		}
	}
}

// checkAlone holds a profile of samples against an exact tree: n calls for each sample, and how far they overlap.
func checkAlone(t *testing.T, p *profile.Profile, exact similarity.Weights, n, least, most float64) error {
	s := sampling(t, p)
	if s.Stat("samples") < 20 || s.Stat("dead")+s.Stat("failed")+s.Stat("lost") != 0 {
		return fmt.Errorf("%v", s.Stats)
	}
	if p.Processes[0].Engine != "acct" || p.Has(profile.CPU) {
		return fmt.Errorf("engine %s; CPU time: %v, want none", p.Processes[0].Engine, p.Has(profile.CPU))
	}
	samples, err := cct.Of(p, "samples")
	if err != nil {
		return err
	}
	// The runs are not the same, but what the runtime and goroutines do on their own is little.
	if total := n * float64(s.Stat("samples")+s.Stat("missed")); n > 0 && math.Abs(total/exact.Total()-1) > 0.02 {
		return fmt.Errorf("samples of %v calls, want %v", total, exact.Total())
	}
	overlap := similarity.Overlap(exact, similarity.Entries(samples, nil))
	t.Logf("overlap %.3f, %d samples", overlap, s.Stat("samples"))
	if overlap < least || overlap > most {
		return fmt.Errorf("overlap %.3f, want %v to %v; %v", overlap, least, most, s.Stats)
	}
	return nil
}

// TestAccumulatorWalks compares what is found by frame pointers, from the innermost frame to the marker, with walks of
// the unwinder, at every call of a program that does all that is hard for it.
func TestAccumulatorWalks(t *testing.T) {
	e2e.NeedFull(t)
	for _, trigger := range []string{"calls:59", "calls:1", "calls:7", "func:3"} {
		exe := e2e.Build(t, "sampled", "-engine=acct", "-trigger="+trigger)
		r := e2e.Run(t, exe, "STEMMA_TRACE_CHECK=throw", "GOMAXPROCS=4")
		r.OK(t)
		s := sampling(t, r.Read(t))
		if s.Stat("checked") < 10000/uint64(e2e.Slowness()) || s.Stat("mismatches")+s.Stat("dead")+s.Stat("lost") > 0 {
			t.Errorf("%s: %v", trigger, s.Stats)
		}
		if s.Stat("returns") <= s.Stat("slow") {
			t.Errorf("%s: of %d returns %d took the slow path", trigger, s.Stat("returns"), s.Stat("slow"))
		}
		t.Logf("%s: %d samples checked, %d returns intercepted, %d of them slowly", trigger, s.Stat("checked"),
			s.Stat("returns"), s.Stat("slow"))
	}
}

// TestAccumulatorSteps walks the stack from every instruction of the trampoline while it moves the marker.
func TestAccumulatorSteps(t *testing.T) {
	e2e.NeedFull(t)
	e2e.OnlyHost(t, "programs cannot single-step themselves there")
	for _, flags := range [][]string{{"-trigger=calls:7"}, {"-trigger=calls:7", "-weights=all-new-edges"}} {
		exe := e2e.Build(t, "sampled", append(flags, "-engine=acct")...)
		r := e2e.Run(t, exe, "STEMMA_TRACE_CHECK=throw", "STEMMA_TRACE_STEP=4000", "SAMPLED_DEPTH=20")
		r.OK(t)
		s := sampling(t, r.Read(t))
		if s.Stat("stepped") < 1000 || s.Stat("returns") <= s.Stat("slow") || s.Stat("mismatches")+s.Stat("dead") > 0 {
			t.Errorf("%v: %v", flags, s.Stats)
		}
		t.Logf("%v: %d instructions, %d returns", flags, s.Stat("stepped"), s.Stat("returns"))
	}
}
