package pyroscope

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// amountsText is a program with what the records of random programs do not have: allocations below natives and
// inlined calls, waits, goroutines, labels, one of them taken away, nodes beyond
// the budget, samples.
const amountsText = `stemma profile 2
record 0 run 00000000000000a1
process 0 args "prog" run 00000000000000a1 pid 7 go "go1.26.8" engine "cct"
func 0 kind root name "root" cells 10 counters 1
func 1 name "main.main" file "main.go" line 3 cells 5 counters 4
	inlined 0 callee "lib.in" file "main.go" line 4 counter 1 beginsFile "lib.go" beginsLine 9
	site 0 kind native callee "runtime.newobject" file "main.go" line 5 cell 0 counter 2
	site 1 kind native in 0 callee "runtime.growslice" file "lib.go" line 10 cell 1 counter 3
	site 2 kind go callee "main.f" file "main.go" line 6 cell 2
	site 3 kind call callee "main.f" file "main.go" line 7 cell 3
	site 4 kind call in 0 callee "main.f" file "lib.go" line 11 cell 4
func 2 kind alloc name "main.T" counters 1
func 3 kind alloc counters 1
func 4 name "main.f" file "main.go" line 20 cells 1 counters 1
	site 0 kind call callee "main.g" file "main.go" line 21 cell 0
func 5 kind wait name "chan receive" counters 1
func 6 kind labels name "labels" cells 1 counters 1
	frame 0 func "endpoint" file "/orders"
	frame 1 func "tenant" file "a=b"
func 7 kind labels name "labels" cells 1 counters 1
	frame 0 func "tenant" file "a=b"
func 8 kind run name "goroutine" counters 1
func 9 kind overflow name "overflow" cells 1 counters 1
func 10 kind place
	frame 0 func "lib.in" file "lib.go" line 12 start 9
	frame 1 func "main.main" file "main.go" line 4 start 3
func 11 kind place
	frame 0 func "runtime.mapaccess1" file "map.go" line 50 start 40
value 0 name "calls" unit "count" about "the calls" flags perCounter
value 1 name "alloc_space" unit "bytes" about "the bytes allocated"
value 2 name "cpu" unit "nanoseconds" about "the time on CPU" flags sampled
value 3 name "wait" unit "nanoseconds" about "the time not running"
value 4 name "run" unit "nanoseconds" about "the time that goroutines ran"
node 0 calls 0
node 1 func 1 parent 0 calls 1,7,5,3
node 2 func 2 parent 1 calls 0 alloc_space 160
node 3 func 3 parent 1 cell 1 calls 0 alloc_space 48
node 4 func 4 parent 1 cell 2 calls 2
node 5 func 6 parent 1 cell 3 calls 0
node 6 func 4 parent 5 calls 9
node 7 func 7 parent 6 calls 0
node 8 func 4 parent 7 calls 4
node 9 func 5 parent 8 calls 0 wait 12
node 10 func 4 parent 1 cell 4 calls 6
node 11 func 8 parent 1 cell 2 calls 0 run 13
node 12 func 9 parent 0 cell 9 calls 0
node 13 func 4 parent 12 calls 18
node 14 func 5 parent 4 calls 0 wait 5
node 15 func 10 parent 0 cpu 7
node 16 func 11 parent 15 cpu 8
`

// contexts returns the values of the contexts of a profile, by their stacks and metrics.
func contexts(p *profile.Profile, sampled bool) map[string]uint64 {
	all := make(map[string]uint64)
	v := cct.ValuesOf(p, sampled)
	for i := range v.Nodes {
		var stack strings.Builder
		for n := uint32(i); n != 0; n = v.Nodes[n].Parent {
			site := v.Sites[v.Nodes[n].Site]
			f := v.Funcs[v.Nodes[n].Func]
			fmt.Fprintf(&stack, "%s %s:%d at %d", f.Name, f.File, f.Line, site.Line)
			if site.Via == cct.ViaInlined || site.Via == cct.ViaGo {
				fmt.Fprintf(&stack, " %v", site.Via)
			}
			stack.WriteString("\n")
		}
		text := stack.String()
		if root, rest, _ := strings.Cut(text, "\n"); strings.HasPrefix(root, "[") && rest == root+"\n" {
			text = rest // what a root itself has comes back as that of a function with its name
		}
		for k, m := range v.Types {
			if n := v.Counts[k][i]; n != 0 {
				all[m.Name+" "+text] += n
			}
		}
	}
	return all
}

// back returns a profile as it comes back: its parts, added up for each metric.
func back(t *testing.T, p *profile.Profile, l export.Limits) *profile.Profile {
	t.Helper()
	var metrics []profile.Metric
	var answers []*pprof.Profile
	for _, sampled := range []bool{false, true} {
		var parts []*pprof.Profile
		for part := range export.Parts(p, sampled, l) {
			part.PeriodType = &pprof.ValueType{}
			parts = append(parts, part)
		}
		if len(parts) == 0 {
			continue
		}
		all, err := pprof.Merge(parts)
		if err != nil {
			t.Fatal(err)
		}
		for k, of := range all.SampleType {
			name := "stemma"
			if sampled {
				name = "stemma_sampled"
			}
			kind, ok := kindOf(fmt.Sprint(name, ":", of.Type, ":", of.Unit, ":contexts:count"))
			if !ok {
				t.Fatal(of)
			}
			metrics = append(metrics, kind.metric)
			one := new(pprof.Profile)
			for _, s := range all.Sample {
				if s.Value[k] != 0 {
					one.Sample = append(one.Sample, &pprof.Sample{Location: s.Location, Value: s.Value[k : k+1]})
				}
			}
			answers = append(answers, one)
		}
	}
	b := newBuilder(profile.Process{}, metrics)
	for i, one := range answers {
		if err := b.learn(one, metrics[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i, one := range answers {
		b.add(one, metrics[i])
	}
	var file bytes.Buffer
	if err := b.profile().Write(&file); err != nil {
		t.Fatal(err)
	}
	again, err := profile.Read(&file)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// same compares all contexts of two profiles.
func same(t *testing.T, have, want *profile.Profile) {
	t.Helper()
	for _, sampled := range []bool{false, true} {
		h, w := contexts(have, sampled), contexts(want, sampled)
		for stack, n := range w {
			if h[stack] != n {
				t.Errorf("have %d, want %d: %s", h[stack], n, stack)
			}
		}
		for stack, n := range h {
			if w[stack] == 0 {
				t.Errorf("have %d, want none: %s", n, stack)
			}
		}
	}
}

// TestHostile changes bytes of what a server answers. Whatever it is, there is an error, or a valid profile that can be
// read.
func TestHostile(t *testing.T) {
	p, err := profile.ParseText(strings.NewReader(amountsText))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	read := 0
	for part := range export.Parts(p, false, export.Limits{Samples: 1 << 20, Bytes: 1 << 20, Depth: 1000}) {
		part.PeriodType, part.SampleType = &pprof.ValueType{}, part.SampleType[:1]
		for _, one := range part.Sample {
			one.Value = one.Value[:1]
		}
		var text bytes.Buffer
		if err := part.WriteUncompressed(&text); err != nil {
			t.Fatal(err)
		}
		for range 3000 {
			answer := bytes.Clone(text.Bytes())
			for range 1 + r.IntN(3) {
				answer[r.IntN(len(answer))] = byte(r.Uint32())
			}
			one, err := decoded(answer)
			if err != nil {
				continue
			}
			for _, m := range []profile.Metric{profile.Calls, profile.Wait, profile.CPU} {
				b := newBuilder(profile.Process{}, []profile.Metric{m})
				if b.learn(one, m) != nil {
					continue
				}
				b.add(one, m)
				if err := b.profile().CheckValid(); err != nil {
					t.Fatal(err)
				}
				cct.ValuesOf(b.p, m.Sampled)
				read++
			}
		}
	}
	if read < 1000 {
		t.Errorf("%d profiles were read", read)
	}
}

// TestBack pushes profiles in parts and makes one of these again: it has the same contexts, with the same values.
func TestBack(t *testing.T) {
	limits := export.Limits{Samples: 100, Bytes: 1 << 20, Depth: 1000}
	p, err := profile.ParseText(strings.NewReader(amountsText))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("amounts", func(t *testing.T) { same(t, back(t, p, limits), p) })
	for seed := range uint64(20) {
		r, err := record.Open(recordtest.Random(seed, 500, rand.New(rand.NewPCG(seed, 1))).FS())
		if err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) { same(t, back(t, r.Profile, limits), r.Profile) })
	}
}

// TestCut has an answer that Pyroscope has cut, as its package symdb does: a function called other stands for what was
// below one, or for whole stacks. A function of that name in a file is the program's.
func TestCut(t *testing.T) {
	at := func(name, file string) *pprof.Location {
		return &pprof.Location{Line: []pprof.Line{{Function: &pprof.Function{Name: name, Filename: file}}}}
	}
	for _, c := range []struct {
		stack []*pprof.Location
		cut   bool
	}{
		{[]*pprof.Location{at("other", ""), at("main.main", "main.go"), at("[main]", "")}, true},
		{[]*pprof.Location{at("other", "")}, true},
		{[]*pprof.Location{at("other", "other.s"), at("main.main", "main.go"), at("[main]", "")}, false},
		{[]*pprof.Location{at("main.other", ""), at("[main]", "")}, false},
	} {
		for _, m := range []profile.Metric{profile.Calls, profile.CPU} {
			b := newBuilder(profile.Process{}, []profile.Metric{m})
			err := b.learn(&pprof.Profile{Sample: []*pprof.Sample{{Location: c.stack, Value: []int64{7}}}}, m)
			if (err != nil) != c.cut {
				t.Errorf("%s of %s: %v", m.Name, c.stack[0].Line[0].Function.Name, err)
			}
		}
	}
}
