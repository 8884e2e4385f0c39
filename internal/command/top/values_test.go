package top

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/sample"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// An everything is a program with two functions, main.g and main.f, which counts everything.
type everything struct {
	d       *recordtest.Dir // nil of a program that only samples
	at      [2]int
	amounts [2][]int // what the runtime does for a function; the first are allocations
	live    [2]uint64
	samples *sample.Samples // nil of one that does not sample
	files   map[string][]byte
	path    string
}

func newEverything(t *testing.T, tree, samples bool) *everything {
	e := &everything{path: filepath.Join(t.TempDir(), "prog.7-abcdef"), files: make(map[string][]byte)}
	if tree {
		e.d = recordtest.New(2, "prog")
		e.d.Header(func(h *layout.Header) { h.Flags |= layout.HdrFlagInuse })
		ids := []uint64{e.d.Alloc("main.T"), e.d.Wait("sleep"), e.d.Held("mutex"), e.d.Run()}
		for k, name := range []string{"main.g", "main.f"} {
			fn := e.d.Func(recordtest.Func{Name: name, Files: []string{"m.go"},
				Sites:   []recordtest.Site{{Kind: layout.SiteNative, Callee: "runtime.newobject", Cell: 1, Counter: 2}},
				Weights: []recordtest.Weight{{Counter: 0, Class: 1, N: 5}}})
			e.at[k] = e.d.Node(recordtest.Root, layout.RootMain+k, fn)
			for _, id := range ids {
				e.amounts[k] = append(e.amounts[k], e.d.Node(e.at[k], 0, id))
			}
		}
	}
	if samples {
		e.sample(tree)
	}
	return e
}

// sample begins a record of samples.
func (e *everything) sample(ofTree bool) {
	mem := func(n int) ([]byte, unsafe.Pointer) {
		words := make([]uint64, n/8)
		return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n), unsafe.Pointer(&words[0])
	}
	const most, size = 64, 1 << 14
	e.samples = new(sample.Samples)
	samples, base := mem(layout.SampleHeaderSize + most*layout.SampleNodeSize)
	places, at := mem(size)
	_, buckets := mem(sample.BucketsSize)
	_, known := mem(sample.KnownSize)
	e.samples.Init(base, buckets, at, known, most, size)
	walk := uint8(layout.WalkIncremental)
	if ofTree {
		walk = layout.WalkContext
	}
	e.samples.Configure(layout.SamplerISPS, walk, 1e6, 0)
	e.files["samples"], e.files["places"] = samples, places
}

// count counts n of everything in function k, and ten times as many bytes and nanoseconds.
func (e *everything) count(k int, n uint64) {
	if e.d != nil {
		e.d.Count(0, e.at[k], 0, n)
		for i, at := range e.amounts[k] {
			e.d.Count(i%2, at, 0, n)
			e.d.Count(1, at, 1, 10*n)
		}
		e.live[k] += n
		e.d.Counted(e.amounts[k][0], e.live[k], 10*e.live[k])
	}
	if e.samples == nil {
		return
	}
	base := uint32(0)
	if e.d != nil {
		base = e.samples.Child(0, layout.PCNode|uintptr(e.at[k]))
	}
	e.samples.Add(e.samples.Child(base, uintptr(1000+k)), layout.WeightCPU, 10*n, n)
	e.samples.Add(e.samples.Child(base, uintptr(1000+k)), layout.WeightWait, 10*n, n)
	for pc, ok := e.samples.NextPlace(); ok; pc, ok = e.samples.NextPlace() {
		w := e.samples.BeginPlace(pc)
		w.Frame([]string{"main.g", "main.f"}[pc-1000], "m.go", 1, 1, false)
		w.End()
	}
}

func (e *everything) read(t *testing.T, r *Reader) *Reading {
	t.Helper()
	if err := os.MkdirAll(e.path, 0o777); err != nil {
		t.Fatal(err)
	}
	if e.d != nil {
		e.d.WriteTo(t, e.path)
	}
	for name, data := range e.files {
		if err := os.WriteFile(filepath.Join(e.path, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestEveryValue reads each value that there is again and again: what happened between two readings is the difference,
// nothing if nothing happened, and all of what began to count meanwhile.
func TestEveryValue(t *testing.T) {
	for _, v := range profile.Metrics {
		if v == profile.Existing || v == profile.Idle {
			continue // goroutines of a program that runs, not counters that can be written here: e2e/tree.TestExisting
		}
		t.Run(fmt.Sprint(v.About, v.Sampled), func(t *testing.T) {
			e := newEverything(t, !v.Sampled, v.Sampled || v == profile.ContextCPU)
			each := map[string]uint64{"count": 1, "bytes": 10, "nanoseconds": 10}[v.Unit]
			if v == profile.Ops {
				each = 5
			}
			r := NewReader(e.path, v.Name)
			const g, f = 0, 1
			e.count(f, 100)
			before, sum := e.read(t, r), uint64(100)
			for i, step := range []struct {
				k int
				n uint64
			}{{f, 0}, {f, 0}, {f, 30}, {g, 7}, {f, 2}, {g, 0}, {g, 3}} {
				if step.n > 0 {
					e.count(step.k, step.n)
				}
				now := e.read(t, r)
				p := Between(before, now, Options{Rows: 10, Sort: "rate"})
				if sum += step.n; p.Delta != step.n*each || p.Count != sum*each {
					t.Errorf("reading %d: %d in all, %d since the last one, want %d and %d", i, p.Count, p.Delta,
						sum*each, step.n*each)
				}
				before = now
			}
		})
	}
}
