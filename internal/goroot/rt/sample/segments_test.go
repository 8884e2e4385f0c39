package sample

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory/memorytest"
	"github.com/stemma-go/stemma/internal/goroot/rt/segment"
	"github.com/stemma-go/stemma/internal/goroot/rt/segment/segmenttest"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/profile"
)

// rotated is a program that samples itself and ends segments.
type rotated struct {
	*Samples
	mem, places []uint64
	earlier     [2][]uint64
	r           Rotator
	disk        *segmenttest.Disk
	known       map[string]uint64 // nanoseconds on CPU by stack, outermost first
	now         int64
	keep        [][]uint64
}

func newRotated(t testing.TB, nodes int, rotation string) *rotated {
	words := func(n int) []uint64 { return make([]uint64, n/8+1) }
	at := func(w []uint64) unsafe.Pointer { return unsafe.Pointer(&w[0]) }
	const placesSize = 1 << 18
	x := &rotated{Samples: new(Samples), mem: words(SmpEnd + nodes*SampleNodeSize), places: words(placesSize),
		disk: &segmenttest.Disk{Files: map[string][]byte{}}, known: map[string]uint64{}}
	x.keep = [][]uint64{words(BucketsSize), words(KnownSize), words(BufferSize), words(segment.EndsSize)}
	x.Init(at(x.mem), at(x.keep[0]), at(x.places), at(x.keep[1]), uint32(nodes), placesSize)
	x.Describe(1, 1, 1000, "go1.26.8", nil)
	x.Configure(layout.SamplerISPS, layout.WalkIncremental, 1e6, 0)
	ok := false
	if x.r.Rotation, ok = segment.ParseRotation(rotation); !ok {
		t.Fatalf("%q is no rotation", rotation)
	}
	for i := range x.earlier {
		x.earlier[i] = words(int(EarlierSize(uint64(nodes))))
		x.r.Earlier[i] = at(x.earlier[i])
	}
	x.r.Samples, x.r.Buffer, x.r.Ends = x.Samples, at(x.keep[2]), at(x.keep[3])
	x.r.Dirs = x.disk
	x.r.Begin(1000)
	return x
}

// work takes samples of stacks at random, and describes their places if asked to.
func (x *rotated) work(r *rand.Rand, samples int, describe bool) {
	for range samples {
		pcs := make([]uintptr, 1+r.IntN(6))
		path := ""
		for i := range pcs {
			pcs[i] = uintptr(100 + r.IntN(8))
			path = fmt.Sprint("/f", pcs[i], path)
		}
		ns := uint64(1 + r.IntN(1000))
		x.Add(x.Stack(0, pcs), layout.WeightCPU, ns, 1)
		x.Count(layout.StatSamples, 1)
		x.Latency(ns)
		x.known[path] += ns
	}
	for describe {
		pc, ok := x.NextPlace()
		if !ok {
			break
		}
		w := x.BeginPlace(pc)
		w.Frame(fmt.Sprint("f", pc), "f.go", 1, 1, false)
		w.End()
	}
}

// rotate ends a segment.
func (x *rotated) rotate() uintptr {
	x.now += 1e9
	return x.r.Rotate(x.disk, &segment.End{Wall: uint64(x.now), Now: x.now}, x.Described())
}

// A left is what a program leaves that is killed: the live directory and the segments.
type left struct {
	live     fstest.MapFS
	segments map[string]fstest.MapFS
	known    map[string]uint64
	samples  uint64
}

func (x *rotated) leave() left {
	l := left{fstest.MapFS{}, map[string]fstest.MapFS{}, maps.Clone(x.known), x.Stat(layout.StatSamples)}
	file := func(b []byte) *fstest.MapFile { return &fstest.MapFile{Data: bytes.Clone(b)} }
	l.live[layout.FileSamples] = file(memorytest.AsBytes(x.mem)[:SmpEnd+x.Nodes()*SampleNodeSize])
	l.live[layout.FilePlaces] = file(memorytest.AsBytes(x.places))
	for i, sums := range x.earlier {
		l.live[fmt.Sprint(layout.FileEarlierSamples, i)] = file(memorytest.AsBytes(sums)[:EarlierSize(x.Nodes())])
	}
	for name, b := range x.disk.Files {
		if l.segments[name[:6]] == nil {
			l.segments[name[:6]] = fstest.MapFS{}
		}
		l.segments[name[:6]][name[7:]] = file(b)
	}
	maps.DeleteFunc(l.segments, func(_ string, s fstest.MapFS) bool { return s[layout.FileSamples] == nil })
	return l
}

// check reads what was left: segments and the rest have each sample once, and so has the live directory.
func (l left) check(t *testing.T) (segments []*profile.Profile) {
	t.Helper()
	ended := func(n uint64) bool { return l.segments[segmenttest.Dir(n)[:6]] != nil }
	whole, err := livedir.OpenRun(l.live, ended)
	if err != nil {
		t.Fatal(err)
	}
	rest, err := livedir.OpenRest(l.live, ended)
	if err != nil {
		t.Fatal(err)
	}
	if got := whole.Process().Segment.Closed; got != uint64(len(l.segments)) {
		t.Errorf("%d segments have ended, want %d", got, len(l.segments))
	}
	if got := rest.Process().Segment.Number; got != uint64(len(l.segments)+1) {
		t.Errorf("the rest is of segment %d, behind %d", got, len(l.segments))
	}
	parts := []*profile.Profile{rest.Profile}
	for i, name := range slices.Sorted(maps.Keys(l.segments)) {
		dir, err := livedir.Open(l.segments[name])
		if err != nil {
			t.Fatalf("segment %s: %v", name, err)
		}
		if s := dir.Process().Segment; segmenttest.Dir(s.Number)[:6] != name || !s.Ended.After(s.Began) {
			t.Errorf("segment %s says that it is %+v", name, s)
		}
		if unknown := dir.Process().Losses; len(unknown) > 0 {
			t.Errorf("segment %d has losses: %v", i+1, unknown)
		}
		parts = append(parts, dir.Profile)
	}
	if got := times(whole.Profile); !maps.Equal(got, l.known) {
		t.Fatalf("the live directory has %s", different(got, l.known))
	}
	sampled, latencies := uint64(0), uint64(0)
	for _, p := range parts {
		s := p.Processes[0].Sampling
		for _, stat := range s.Stats {
			if stat.Kind == layout.StatNames[layout.StatSamples] {
				sampled += stat.Count
			}
		}
		for _, bucket := range s.Latency {
			latencies += bucket.Count
		}
	}
	if sampled != l.samples || latencies != l.samples {
		t.Errorf("segments and the rest count %d samples and %d latencies, want %d", sampled, latencies, l.samples)
	}
	kept, err := profile.Snapshots(parts...)
	if err != nil || len(kept) != len(parts) {
		t.Fatalf("of %d parts %d add up: %v", len(parts), len(kept), err)
	}
	sum, err := profile.Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	if got := times(sum); !maps.Equal(got, l.known) {
		t.Fatalf("%d segments and the rest have %s", len(l.segments), different(got, l.known))
	}
	return parts[1:]
}

// times returns the time on CPU by stack.
func times(p *profile.Profile) map[string]uint64 {
	got := map[string]uint64{}
	cpu := p.Column(profile.CPU.Name)
	paths := make([]string, len(p.Nodes))
	for n, node := range p.Nodes {
		if n > 0 {
			paths[n] = paths[node.Parent] + "/" + p.String(p.Funcs[node.Func].Frames[0].Func)
		}
		if ns := cpu.Values[n]; ns > 0 {
			got[paths[n]] += ns
		}
	}
	return got
}

// different says how two times by stack differ.
func different(have, want map[string]uint64) string {
	for _, stack := range slices.Sorted(maps.Keys(want)) {
		if have[stack] != want[stack] {
			return fmt.Sprintf("%d stacks, and %d ns in %s, want %d and %d", len(have), have[stack], stack, len(want),
				want[stack])
		}
	}
	return fmt.Sprintf("%d stacks, want %d", len(have), len(want))
}

// TestSegmentsKilled kills a program after each operation by which a segment of samples is written.
func TestSegmentsKilled(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := newRotated(t, 1<<14, "1h")
	var lefts []left
	x.disk.Snapshot = func() { lefts = append(lefts, x.leave()) }
	for range 5 {
		x.work(r, 300, true)
		if errno := x.rotate(); errno != 0 {
			t.Fatal(errno)
		}
		lefts = append(lefts, x.leave())
	}
	x.work(r, 100, true)
	lefts = append(lefts, x.leave())
	for i, l := range lefts {
		t.Run(fmt.Sprint(i), func(t *testing.T) { l.check(t) })
	}
}

// TestSegmentsFail lets each operation fail in turn, and then the program end at each rest: nothing is lost or twice.
func TestSegmentsFail(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	x := newRotated(t, 1<<14, "1h")
	failed := uint64(0)
	for at := 1; ; at++ {
		x.work(r, 50, true)
		x.disk.Ops, x.disk.FailAt = 0, at
		errno := x.rotate()
		x.leave().check(t)
		if errno == 0 && x.disk.Ops < at {
			break
		}
		if errno != 0 {
			failed++
		}
	}
	if h := x.header(); h.Failed != failed || failed < 5 {
		t.Errorf("%d rotations failed, and the header has %d", failed, h.Failed)
	}
	x.disk.FailAt = 0
	for at := 1; ; at++ {
		x.work(r, 50, true)
		x.disk.Rests, x.disk.LeaveAt = 0, at
		errno := x.rotate()
		x.leave().check(t)
		if x.disk.Rests < at {
			break
		}
		if x.disk.Rests > at {
			t.Fatalf("left at rest %d, it went on to %d", at, x.disk.Rests)
		}
		if x.disk.LeaveAt = 0; errno != 0 && x.rotate() != 0 {
			t.Fatal("who ends the program could not end the segment")
		}
		x.leave().check(t)
	}
}

// TestSegmentsSmall has samples whose places are not known yet: they are in the next segment, with their names; and one
// in which one stack of many was sampled: it has no other.
func TestSegmentsSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	x := newRotated(t, 1<<14, "1h")
	x.work(r, 300, false)
	x.rotate()
	first, err := livedir.Open(x.leave().segments["000001"])
	if err != nil {
		t.Fatal(err)
	}
	if n := len(first.Profile.Nodes); n != 1 {
		t.Errorf("%d nodes without a place are in a segment", n-1)
	}
	x.work(r, 0, true)
	x.rotate()
	segments := x.leave().check(t)
	if got := times(segments[1]); !maps.Equal(got, x.known) {
		t.Errorf("the next segment has %s", different(got, x.known))
	}
	x.Add(x.Stack(0, []uintptr{100}), layout.WeightWait, 5, 1)
	x.rotate()
	if n := len(x.leave().check(t)[2].Nodes); n != 2 {
		t.Errorf("%d nodes for one stack, want 2", n)
	}
}

// TestSegmentsLostPages loses pages of the tree before a segment ends: the segment can be read, and what is not in it
// is counted.
func TestSegmentsLostPages(t *testing.T) {
	for page := SmpEnd / memorytest.LostPage; page < 8; page++ {
		x := newRotated(t, 1<<14, "1h")
		x.work(rand.New(rand.NewPCG(9, uint64(page))), 3000, true)
		memorytest.LosePage(x.mem, page)
		memorytest.MustEnd(t, func() {
			if errno := x.rotate(); errno != 0 {
				t.Error(errno)
			}
		})
		dir, err := livedir.Open(x.leave().segments["000001"])
		if err != nil {
			t.Errorf("page %d: %v", page, err)
			continue
		}
		have := uint64(0)
		for _, n := range dir.Profile.Column(profile.Samples.Name).Values {
			have += n
		}
		on := x.onPage(page)
		for _, loss := range dir.Process().Losses {
			if loss.Kind == profile.LossSampleNodes {
				have += loss.Count
			}
		}
		if have+on != 3000 || have < 1000 {
			t.Errorf("page %d: %d samples are in the segment or counted as lost, %d were on the page, of 3000", page,
				have, on)
		}
	}
}

// TestSegmentsMeanwhile takes samples of new stacks at each rest: a segment has those that were there when it ended,
// and nothing is written behind the room for these.
func TestSegmentsMeanwhile(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	x := newRotated(t, 1<<15, "1h")
	for i := range 6 {
		x.work(r, 200, true)
		room, after := EarlierSize(uint64(x.Described())), x.earlier[(i+1)%2]
		x.disk.Resting = func() { x.work(r, 20, true) }
		if errno := x.rotate(); errno != 0 {
			t.Fatal(errno)
		}
		x.disk.Resting = nil
		for _, word := range after[room/8:] {
			if word != 0 {
				t.Fatalf("segment %d: something is written behind the %d bytes of its sums", i+1, room)
			}
		}
		x.leave().check(t)
	}
}

// TestSegmentsLoseMeanwhile loses a page of the tree at one of the rests: the segment is written, and can be read.
func TestSegmentsLoseMeanwhile(t *testing.T) {
	for at := 1; at < 12; at++ {
		for page := SmpEnd / memorytest.LostPage; page < 20; page += 3 {
			x := newRotated(t, 1<<14, "1h")
			for i := range 4000 {
				x.Add(x.Stack(0, []uintptr{uintptr(100 + i%2), uintptr(200 + i%16), uintptr(1000 + i)}),
					layout.WeightCPU, 1, 1)
			}
			x.scanned = uint32(x.Nodes())
			x.disk.Resting = func() {
				if x.disk.Rests == at {
					memorytest.LosePage(x.mem, page)
				}
			}
			memorytest.MustEnd(t, func() {
				if errno := x.rotate(); errno != 0 {
					t.Error(errno)
				}
			})
			if x.disk.Rests < at {
				continue
			}
			if _, err := livedir.Open(x.leave().segments["000001"]); err != nil {
				t.Fatalf("page %d is lost at rest %d: %v", page, at, err)
			}
		}
	}
}

// TestSegmentsDeep ends a segment of one deep stack: it rests on the way to the root as well.
func TestSegmentsDeep(t *testing.T) {
	const depth = 10 * sampledPart
	x := newRotated(t, depth+100, "1h")
	pcs := make([]uintptr, depth)
	for i := range pcs {
		pcs[i] = uintptr(1000 + i)
	}
	x.Add(x.Stack(0, pcs), layout.WeightCPU, 1, 1)
	x.scanned = uint32(x.Nodes())
	if errno := x.rotate(); errno != 0 {
		t.Fatal(errno)
	}
	if x.disk.Rests < 6*depth/sampledPart {
		t.Errorf("%d rests for a stack of %d frames, want six each %d", x.disk.Rests, depth, sampledPart)
	}
}

// TestSegmentsDamaged reads segments, the rest and the whole with some bytes changed, or cut off: reading ends, and
// sums that are too short are an error.
func TestSegmentsDamaged(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	x := newRotated(t, 1<<10, "1h")
	for range 3 {
		x.work(r, 50, true)
		x.rotate()
	}
	l := x.leave()
	ended := func(n uint64) bool { return l.segments[segmenttest.Dir(n)[:6]] != nil }
	sums := l.live[fmt.Sprint(layout.FileEarlierSamples, 1)]
	whole := sums.Data
	sums.Data = whole[:EarlierSize(x.Nodes()-1)]
	if _, err := livedir.OpenRest(l.live, ended); err == nil || !strings.Contains(err.Error(), "it was cut") {
		t.Errorf("sums that were cut have the error %v", err)
	}
	sums.Data = whole
	memorytest.MustEnd(t, func() {
		for range 2000 {
			dirs := append(slices.Collect(maps.Values(l.segments)), l.live)
			dir := dirs[r.IntN(len(dirs))]
			names := slices.Sorted(maps.Keys(dir))
			file := dir[names[r.IntN(len(names))]]
			before := file.Data
			file.Data = bytes.Clone(before)
			for range 1 + r.IntN(4) {
				at := r.IntN(len(file.Data))
				if r.IntN(2) == 0 {
					at = min(at, r.IntN(layout.SampleHeaderSize))
				}
				file.Data[at] = []byte{0, 1, 0xff, byte(r.Uint32())}[r.IntN(4)]
			}
			if r.IntN(4) == 0 {
				file.Data = file.Data[:r.IntN(len(file.Data))]
			}
			_, _ = livedir.Open(dir)
			_, _ = livedir.OpenRest(dir, ended)
			file.Data = before
		}
	})
}

// onPage returns how many of all samples no node has.
func (x *rotated) onPage(page int) uint64 {
	all := uint64(0)
	for i := range x.Nodes() {
		all += x.node(uint32(i)).Weights[layout.WeightCPU].Samples
	}
	return 3000 - all
}

// TestSegmentsRest ends a segment of many nodes: each of four loops rests after each part.
func TestSegmentsRest(t *testing.T) {
	const nodes = 40_000
	x := newRotated(t, nodes+100, "1h")
	for i := range nodes / 2 {
		x.Add(x.Stack(0, []uintptr{uintptr(100 + i%2), uintptr(1000 + i)}), layout.WeightCPU, 1, 1)
	}
	x.scanned = uint32(x.Nodes())
	if errno := x.rotate(); errno != 0 {
		t.Fatal(errno)
	}
	if parts := int(x.Nodes() / sampledPart); parts < 8 || x.disk.Rests < 4*parts {
		t.Errorf("%d rests in %d parts of the nodes, want four each", x.disk.Rests, parts)
	}
	if x.disk.Longest > segment.Part {
		t.Errorf("wrote %d bytes at once, want %d at most", x.disk.Longest, segment.Part)
	}
}
