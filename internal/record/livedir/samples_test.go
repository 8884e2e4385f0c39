package livedir_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/sample"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// newSampledDir begins a record of samples, and returns its live directory.
func newSampledDir(s *sample.Samples) fstest.MapFS { return newSampledDirOf(s, 64, 1<<14) }

// newSampledDirOf is newSampledDir with room for more.
func newSampledDirOf(s *sample.Samples, nodes uint32, placesSize uintptr) fstest.MapFS {
	mem := func(n int) []byte {
		words := make([]uint64, n/8)
		return unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), n)
	}
	samples, places := mem(layout.SampleHeaderSize+int(nodes)*layout.SampleNodeSize), mem(int(placesSize))
	s.Init(unsafe.Pointer(&samples[0]), unsafe.Pointer(&mem(sample.BucketsSize)[0]), unsafe.Pointer(&places[0]),
		unsafe.Pointer(&mem(sample.KnownSize)[0]), nodes, placesSize)
	s.Describe(7, 42, 1e18, "go1.26.8", []string{"prog", "arg"})
	s.Configure(layout.SamplerISPS, layout.WalkIncremental, 1e6, layout.SmpFlagCheck)
	return fstest.MapFS{"samples": {Data: samples}, "places": {Data: places}}
}

// Addresses at which a program asks for a sample.
const (
	inlinedAsk = 1001
	calledAsk  = 1002
)

// describe describes all addresses of s.
func describe(s *sample.Samples) {
	for {
		pc, ok := s.NextPlace()
		if !ok {
			return
		}
		w := s.BeginPlace(pc)
		switch {
		case pc == inlinedAsk:
			w.Frame(sampleName, "s.go", 1, 1, false)
			w.Frame("asker", "f.go", 2, 1, false)
		case pc == calledAsk:
			w.Frame(sampleName, "s.go", 1, 1, false)
		default:
			if pc%2 == 1 {
				w.Frame("inlined", "i.go", uint32(pc), 1, false)
			}
			w.Frame("f"+string(rune('a'+pc/2%26)), "f.go", uint32(pc), 7, pc%5 == 4)
		}
		w.End()
	}
}

// sampledDir returns the live directory of a program whose sampler recorded the given
// stacks, innermost first, with a weight of 10 ns each.
func sampledDir(stacks ...[]uintptr) fstest.MapFS {
	var s sample.Samples
	dir := newSampledDir(&s)
	for _, pcs := range stacks {
		s.Add(s.Stack(0, pcs), layout.WeightCPU, 10, 1)
		s.Count(layout.StatSamples, 1)
		s.Latency(5000)
	}
	describe(&s)
	return dir
}

func readSampled(t *testing.T, fsys fs.FS) *profile.Profile {
	t.Helper()
	p, err := readInuse(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// canonical brings p into the order of Merge.
func canonical(t *testing.T, list ...*profile.Profile) *profile.Profile {
	t.Helper()
	p, err := profile.Merge(list...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSamplesSealed(t *testing.T) {
	p := readSampled(t,
		sampledDir([]uintptr{101, 200, 300}, []uintptr{101, 200, 300}, []uintptr{200, 300},
			[]uintptr{layout.PCTruncated}))
	if n := p.Total(profile.Samples); n != 4 || p.Total(profile.CPU) != 40 {
		t.Errorf("%d samples, want 4", n)
	}
	s := p.Processes[0].Sampling
	if s == nil || s.Sampler != "isps" || s.Walk != "incremental" || s.Interval != time.Millisecond ||
		s.Stat("samples") != 4 || !p.Processes[0].Checked {
		t.Errorf("sampling: %+v", s)
	}
	if q := s.Quantile(0.5); q > 5*time.Microsecond || q < 4*time.Microsecond {
		t.Errorf("median latency %v, want about 5 µs", q)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := profile.Read(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var b2 bytes.Buffer
	if err := again.Write(&b2); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), b2.Bytes()) || !reflect.DeepEqual(p.Nodes, again.Nodes) ||
		!reflect.DeepEqual(p.Columns, again.Columns) {
		t.Errorf("have %+v, want %+v", again, p)
	}
}

// TestSamplesMerge adds profiles whose nodes were created in different orders.
func TestSamplesMerge(t *testing.T) {
	a, b := []uintptr{101, 200, 300}, []uintptr{400, 300}
	p := readSampled(t, sampledDir(a, b))
	q := readSampled(t, sampledDir(b, a))
	q.Processes[0].Run++
	one, two := canonical(t, p, q), canonical(t, q, p)
	if !reflect.DeepEqual(one, two) {
		t.Errorf("the order matters: %+v and %+v", one, two)
	}
	if n := one.Total(profile.Samples); n != 4 || len(one.Nodes) != 6 { // root, overflow and 4 frames
		t.Errorf("%d samples in %d nodes, want 4 in 6", n, len(one.Nodes))
	}
	if err := p.Subtract(readSampled(t, sampledDir(b))); err != nil {
		t.Fatal(err)
	}
	if n := p.Total(profile.Samples); n != 1 {
		t.Errorf("%d samples after the subtraction, want 1", n)
	}
}

// TestSamplesDamaged flips bits and cuts files: that is an error or another profile, but no
// panic, and what is returned is valid.
func TestSamplesDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	good := requestedDir(8)
	errors := 0
	for range 3000 {
		dir := fstest.MapFS{}
		for name, f := range good {
			data := slices.Clone(f.Data)
			for range 1 + r.IntN(3) {
				at := r.IntN(len(data))
				if name == "samples" && r.IntN(2) == 0 {
					at = []int{r.IntN(600), layout.SampleHeaderSize + r.IntN(6*layout.SampleNodeSize)}[r.IntN(2)]
				} else if r.IntN(2) == 0 {
					at = r.IntN(300)
				}
				data[at] ^= 1 << r.IntN(8)
			}
			if r.IntN(10) == 0 {
				data = data[:r.IntN(len(data))]
			}
			dir[name] = &fstest.MapFile{Data: data}
		}
		p, err := readInuse(dir)
		if err != nil {
			errors++
			continue
		}
		if err := p.CheckValid(); err != nil {
			t.Fatal(err)
		}
	}
	if errors == 0 || errors == 3000 {
		t.Errorf("%d of 3000 damages were errors", errors)
	}
}

// TestSparseSamples reads files that seem to have gigabytes and have little: what a reader
// allocates goes by what is there.
func TestSparseSamples(t *testing.T) {
	fsys := sampledDir([]uintptr{100, 200}, []uintptr{102, 200})
	dir := t.TempDir()
	samples, places := fsys["samples"].Data, fsys["places"].Data
	head := (*layout.SampleHeader)(unsafe.Pointer(&samples[0]))
	const claimed = 1 << 22
	head.Max, head.Used = claimed, claimed
	write := func(name string, data []byte, size int64) {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(file, data, 0o666), os.Truncate(file, size)); err != nil {
			t.Fatal(err)
		}
	}
	allocated := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	write("samples", samples, layout.SampleHeaderSize+claimed*layout.SampleNodeSize)
	write("places", places, 8<<30)
	before := allocated()
	p := readSampled(t, os.DirFS(dir))
	if n := allocated() - before; len(p.Nodes) != 5 || n > 16<<20 {
		t.Errorf("%d nodes, read with %d bytes; want 5, and at most 16 MB", len(p.Nodes), n)
	}
	(*layout.Place)(unsafe.Pointer(&places[0])).Length = 1<<32 - 8
	head.Places = 8 << 30
	write("samples", samples, layout.SampleHeaderSize+claimed*layout.SampleNodeSize)
	write("places", places, 8<<30)
	before = allocated()
	_, err := readInuse(os.DirFS(dir))
	if n := allocated() - before; err == nil || !strings.Contains(err.Error(), "want at most") || n > 16<<20 {
		t.Errorf("a place of 4 GB: %v, with %d bytes; want an error, and at most 16 MB", err, n)
	}
}

// TestSampledWrappers reads places of wrappers, whose addresses leave 4 when divided by 5: what is spent
// in one counts for its caller, what it calls stands below that.
func TestSampledWrappers(t *testing.T) {
	p := readSampled(t, sampledDir([]uintptr{106, 104, 200}, []uintptr{104, 200}, []uintptr{106, 114}, []uintptr{124}))
	name := func(i int) string { return p.String(p.Funcs[p.Nodes[i].Func].Frames[0].Func) }
	have := make(map[string]uint64)
	for i := range p.Nodes {
		path := ""
		for k := i; k > 0; k = int(p.Nodes[k].Parent) {
			path += name(k) + " "
		}
		if v := p.Value(profile.Samples, i); v > 0 {
			have[path] = v
		}
	}
	want := map[string]uint64{"fb fw ": 1, "fw ": 1, "fb ": 1, "fk ": 1} // 106, 200, and 124 on its own
	if !reflect.DeepEqual(have, want) {
		t.Errorf("have %v, want %v", have, want)
	}
}

// TestSamplesOfContexts reads samples that hang below nodes of a tree, one of which was not complete.
func TestSamplesOfContexts(t *testing.T) {
	d := recordtest.New(1, "prog")
	f := d.Func(recordtest.Func{Name: "main.f", Files: []string{"main.go"}})
	n := d.Node(recordtest.Root, layout.RootMain, f)
	var s sample.Samples
	dir := newSampledDir(&s)
	s.Configure(layout.SamplerSPS, layout.WalkContext, 1e6, 0)
	at := func(base uintptr, ns uint64, pcs ...uintptr) {
		s.Add(s.Stack(s.Child(0, base), pcs), layout.WeightCPU, ns, 1)
	}
	at(layout.PCNode|uintptr(n), 10, 200)
	at(layout.PCNode|uintptr(n), 20, 300, 200)
	at(layout.PCNode|0x123450, 3, 400)
	at(layout.PCCollector, 5, 500)
	describe(&s)
	for name, data := range d.Files() {
		dir[name] = &fstest.MapFile{Data: data}
	}
	p := readSampled(t, dir)
	if cpu := p.Total(profile.ContextCPU); cpu != 38 || p.Sampled() || p.Has(profile.Samples) {
		t.Errorf("%d ns in columns %+v", cpu, p.Columns)
	}
	below := make(map[string]uint64)
	for i, node := range p.Nodes {
		if v := p.Value(profile.ContextCPU, i); v > 0 {
			up := &p.Funcs[p.Nodes[node.Parent].Func]
			name := p.String(up.Name)
			if up.Kind == profile.FuncPlace {
				name = "place " + p.String(up.Frames[0].Func)
			}
			below[name] += v
		}
	}
	want := map[string]uint64{"main.f": 10, "place fw": 20, "stemma.root": 3, "place [gc]": 5}
	if !reflect.DeepEqual(below, want) {
		t.Errorf("time is below %v, want %v", below, want)
	}
	if s := p.Processes[0].Sampling; s == nil || s.Walk != "context" {
		t.Errorf("sampling: %+v", s)
	}
}

// TestSampleBias reads samples that were taken late, in prologues or where the world stops: a report warns of them.
func TestSampleBias(t *testing.T) {
	for _, c := range []struct {
		sampler uint8
		flags   uint32
		want    []string
	}{
		{layout.SamplerISPS, 0, nil},
		{layout.SamplerISPS, layout.SmpFlagPrologue, []string{profile.PrologueBias}},
		{layout.SamplerJVMTI, 0, []string{profile.StopBias}},
	} {
		var s sample.Samples
		dir := newSampledDir(&s)
		s.Configure(c.sampler, layout.WalkFP, 1e6, c.flags)
		if have := readSampled(t, dir).Processes[0].Notes; !slices.Equal(have, c.want) {
			t.Errorf("sampler %d, flags %#x: have %q, want %q", c.sampler, c.flags, have, c.want)
		}
	}
}
