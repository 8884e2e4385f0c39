package tree

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// TestExact compares counts with those of a program that counts itself, while
// its goroutines migrate and are disturbed in many ways.
func TestExact(t *testing.T) {
	exe := e2e.Build(t, "exact")
	for _, test := range []struct {
		name  string
		procs []int
		env   []string
	}{
		{"plain", []int{64, 1, 2, 8}, nil},
		{"preempt", []int{8, 1, 2, 64}, []string{"DISTURB_PREEMPT=1"}},
		{"gc", []int{8, 1}, []string{"DISTURB_GC=1", "GOGC=1"}},
		{"gcpreempt", []int{2}, []string{"DISTURB_GC=1", "DISTURB_PREEMPT=1"}},
		{"gcstop", []int{2}, []string{"GOGC=1", "GODEBUG=gcstoptheworld=1"}},
		{"gccheckmark", []int{2}, []string{"GODEBUG=gccheckmark=1"}},
		{"gcshrink", []int{2}, []string{"DISTURB_GC=1", "GODEBUG=gcshrinkstackoff=0,adaptivestackstart=0"}},
		{"procs", []int{4, 1}, []string{"DISTURB_PROCS=1"}},
		{"procspreempt", []int{2}, []string{"DISTURB_PROCS=1", "DISTURB_PREEMPT=1", "DISTURB_GC=1"}},
		{"segmentcall", []int{8, 2}, []string{"STEMMA_SEGMENT=call", "DISTURB_PREEMPT=1"}},
		{"noasync", []int{2}, []string{"GODEBUG=asyncpreemptoff=1"}},
	} {
		for _, n := range e2e.Few(1, test.procs...) {
			t.Run(fmt.Sprintf("%s/procs=%d", test.name, n), func(t *testing.T) {
				r := e2e.Run(t, exe, append([]string{fmt.Sprint("GOMAXPROCS=", n)}, test.env...)...)
				r.OK(t)
				p := r.Read(t)
				e2e.NoLoss(t, p)
				wants := r.Wants(t)
				if len(wants) == 0 {
					t.Fatal("the program expects nothing")
				}
				e2e.Check(t, cct.New(p), wants, "default")
			})
		}
	}
}

// TestNoSegmentBase runs a program where no thread can have a segment base of its own: it runs, and
// says that counts may be missing. One P has nobody who takes its counts away.
func TestNoSegmentBase(t *testing.T) {
	e2e.OnlyHost(t, "no segment base says where a thread counts")
	exe := e2e.Build(t, "exact")
	one := e2e.Run(t, exe, "GOMAXPROCS=1", "STEMMA_SEGMENT=shared")
	one.OK(t)
	p := one.Read(t)
	e2e.NoLoss(t, p)
	e2e.Check(t, cct.New(p), one.Wants(t), "default")

	many := e2e.Run(t, exe, "GOMAXPROCS=8", "STEMMA_SEGMENT=shared")
	if many.Err != nil {
		t.Error(many.Err)
	}
	if want := "arch_prctl is not allowed"; !strings.Contains(many.Stderr, want) {
		t.Errorf("standard error is %q, want %q in it", many.Stderr, want)
	}
	want := []profile.Loss{{Kind: profile.LossShards, Count: 7}}
	if lost := many.Read(t).Lost(); !slices.Equal(lost, want) {
		t.Errorf("%v was lost, want %v", lost, want)
	}
}
