package tree

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory/memorytest"
	"github.com/stemma-go/stemma/internal/goroot/rt/sample"
	"github.com/stemma-go/stemma/internal/goroot/rt/segment"
	"github.com/stemma-go/stemma/internal/goroot/rt/segment/segmenttest"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/profile"
)

// rotated is a machine with shards, whose record ends segments.
type rotated struct {
	*machine
	shards [][]uint64
	r      Rotator
	disk   *segmenttest.Disk
	known  map[string]uint64 // calls by function
	now    int64

	samples *sample.Samples   // beside the tree, nil if there are none
	sampled map[string]uint64 // nanoseconds by function
	files   map[string][]byte // what they are in, by name
}

// beside makes the record have samples.
func (x *rotated) beside() {
	const nodes, placesSize = 1 << 14, 1 << 16
	words := func(n int) unsafe.Pointer {
		w := make([]uint64, n/8+1)
		x.keep = append(x.keep, w)
		return unsafe.Pointer(&w[0])
	}
	file := func(name string, n int) unsafe.Pointer {
		p := words(n)
		x.files[name] = unsafe.Slice((*byte)(p), n)
		return p
	}
	x.samples, x.sampled, x.files = new(sample.Samples), map[string]uint64{}, map[string][]byte{}
	x.samples.Init(file("samples", sample.SmpEnd+nodes*sample.SampleNodeSize), words(sample.BucketsSize),
		file("places", placesSize), words(sample.KnownSize), nodes, placesSize)
	x.samples.Configure(layout.SamplerSPS, layout.WalkContext, 1e6, 0)
	sums := &sample.Sums{Samples: x.samples, Buffer: words(sample.BufferSize)}
	for i := range sums.Earlier {
		sums.Earlier[i] = file(fmt.Sprint(layout.FileEarlierSamples, i), int(sample.EarlierSize(nodes)))
	}
	x.r.Beside = sums
}

// sample takes a sample in the context of node n.
func (x *rotated) sample(r *rand.Rand, n uint32) {
	node := x.samples.Child(0, layout.PCNode|uintptr(n))
	if r.IntN(2) == 0 {
		node = x.samples.Child(node, uintptr(100+r.IntN(5))) // in a native
	}
	ns := uint64(1 + r.IntN(1000))
	x.samples.Add(node, layout.WeightCPU, ns, 1)
	x.sampled[x.metaOf(n).name] += ns
	for {
		pc, ok := x.samples.NextPlace()
		if !ok {
			break
		}
		w := x.samples.BeginPlace(pc)
		w.Frame(fmt.Sprint("native", pc), "native.go", 1, 1, false)
		w.End()
	}
}

func newRotated(t testing.TB, rotation string) *rotated {
	m := newMachine(t, minTree, false)
	x := &rotated{machine: m, known: map[string]uint64{}}
	words := func(n int) []uint64 { return memorytest.AsWords(make([]byte, n)) }
	for range 2 {
		x.shards = append(x.shards, words(minTree))
	}
	ok := false
	if x.r.Rotation, ok = segment.ParseRotation(rotation); !ok {
		t.Fatalf("%q is no rotation", rotation)
	}
	earlier := [2][]uint64{words(minTree), words(minTree)}
	buf, ends := words(SinkSize), words(segment.EndsSize)
	m.keep = append(m.keep, earlier[0], earlier[1], buf, ends)
	x.r.Tree, x.r.Record = &m.tree, m.tree.rec
	x.r.Earlier = [2]unsafe.Pointer{unsafe.Pointer(&earlier[0][0]), unsafe.Pointer(&earlier[1][0])}
	x.r.Buffer, x.r.Ends = unsafe.Pointer(&buf[0]), unsafe.Pointer(&ends[0])
	m.tree.rec.Describe(1, 1, 1000, "go1.26.8", "", nil)
	m.tree.rec.SetShards(2)
	x.disk = &segmenttest.Disk{Files: map[string][]byte{}}
	x.r.Dirs = x.disk
	x.r.Begin(1000)
	return x
}

// work makes some calls at random, on both Ps.
func (x *rotated) work(r *rand.Rand, calls int) {
	for len(x.metas) < 20 {
		x.function(1 + r.IntN(3))
	}
	var stack []uint32
	for range calls {
		if len(stack) > 0 && r.IntN(3) == 0 {
			stack = stack[:len(stack)-1]
		}
		x.ctx = CellOf(RootNode, layout.RootMain)
		f := x.metas[r.IntN(len(x.metas))]
		if len(stack) > 0 {
			x.call(stack[len(stack)-1], r.IntN(x.metaOf(stack[len(stack)-1]).cells))
		}
		n := x.enter(f)
		x.shards[r.IntN(2)][n/8]++
		x.known[f.name]++
		if x.samples != nil && r.IntN(3) == 0 {
			x.sample(r, n)
		}
		if stack = append(stack, n); len(stack) > 30 {
			stack = nil
		}
	}
}

func (x *rotated) metaOf(n uint32) *meta {
	id := x.tree.node(n).Func
	return x.metas[slices.IndexFunc(x.metas, func(m *meta) bool { return m.id() == id })]
}

// rotate ends a segment.
func (x *rotated) rotate() uintptr {
	x.now += 1e9
	end := &End{End: segment.End{Wall: uint64(x.now), Now: x.now}, Used: x.tree.Used(), Funcs: x.r.Record.UsedFuncs()}
	if x.samples != nil {
		end.Samples = x.samples.Described()
		end.Used = x.tree.Used()
	}
	for _, s := range x.shards {
		end.Shards = append(end.Shards, uintptr(unsafe.Pointer(&s[0])))
	}
	return x.r.Rotate(x.disk, end)
}

// A left is what a program leaves that is killed: the live directory and the segments.
type left struct {
	live     fstest.MapFS
	segments map[string]fstest.MapFS
	known    map[string]uint64
	sampled  map[string]uint64
}

func (x *rotated) leave() left {
	l := left{fstest.MapFS{}, map[string]fstest.MapFS{}, maps.Clone(x.known), maps.Clone(x.sampled)}
	used := int(x.tree.Used())
	file := func(b []byte) *fstest.MapFile { return &fstest.MapFile{Data: bytes.Clone(b)} }
	part := func(p unsafe.Pointer) *fstest.MapFile { return file(unsafe.Slice((*byte)(p), used)) }
	l.live["tree"] = part(unsafe.Pointer(&x.mem[0]))
	l.live["funcs"] = file(memorytest.AsBytes(x.funcs)[:x.r.Record.UsedFuncs()])
	for i, s := range x.shards {
		l.live[fmt.Sprint("shard.", i)] = part(unsafe.Pointer(&s[0]))
		l.live[fmt.Sprint("earlier.", i)] = part(x.r.Earlier[i])
	}
	for name, b := range x.files {
		l.live[name] = file(b)
	}
	for name, b := range x.disk.Files {
		if l.segments[name[:6]] == nil {
			l.segments[name[:6]] = fstest.MapFS{}
		}
		l.segments[name[:6]][name[7:]] = file(b)
	}
	maps.DeleteFunc(l.segments, func(_ string, s fstest.MapFS) bool { return s["tree"] == nil })
	return l
}

// check reads what was left: the segments and the rest have each call once, and so has the live directory.
func (l left) check(t *testing.T, all bool) {
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
	if got := whole.Process().Segment.Closed; all && got != uint64(len(l.segments)) {
		t.Errorf("%d segments have ended, want %d", got, len(l.segments))
	}
	parts := []*profile.Profile{rest.Profile}
	for _, name := range slices.Sorted(maps.Keys(l.segments)) {
		dir, err := livedir.Open(l.segments[name])
		if err != nil {
			t.Fatalf("segment %s: %v", name, err)
		}
		if got := segmenttest.Dir(dir.Process().Segment.Number)[:6]; got != name {
			t.Errorf("segment %s says that it is %s", name, got)
		}
		parts = append(parts, dir.Profile)
	}
	if got := calls(whole.Profile); !maps.Equal(got, l.known) {
		t.Fatalf("the live directory has %v, want %v", got, l.known)
	}
	kept, err := profile.Snapshots(parts...)
	if err != nil || len(kept) != len(parts) {
		t.Fatalf("of %d parts %d add up: %v", len(parts), len(kept), err)
	}
	sum, err := profile.Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	if got := calls(sum); all && !maps.Equal(got, l.known) {
		t.Fatalf("%d segments and the rest have %v, want %v", len(l.segments), got, l.known)
	}
	if l.sampled == nil {
		return
	}
	for what, p := range map[string]*profile.Profile{"the live directory": whole.Profile, "all parts": sum} {
		if got := times(p); !maps.Equal(got, l.sampled) {
			t.Fatalf("%s: with %d segments samples have %v, want %v", what, len(l.segments), got, l.sampled)
		}
	}
}

// An endingFS has the files of before until one of them is read, and of after from then on.
type endingFS struct {
	before, after left
	name          string
	read          bool
}

func (f *endingFS) now() left {
	if f.read {
		return f.after
	}
	return f.before
}

func (f *endingFS) Open(name string) (fs.File, error) {
	file, err := f.now().live.Open(name)
	f.read = f.read || name == f.name
	return file, err
}

// TestEndsWhileRead reads the record of a run in which a segment ends meanwhile: it says that it has those only that
// had ended before, since it may have a part only of what the others have.
func TestEndsWhileRead(t *testing.T) {
	x := newRotated(t, "1h")
	r := rand.New(rand.NewPCG(1, 2))
	for range 2 {
		x.work(r, 100)
		if errno := x.rotate(); errno != 0 {
			t.Fatal(errno)
		}
	}
	f := endingFS{before: x.leave()}
	x.work(r, 100)
	if errno := x.rotate(); errno != 0 {
		t.Fatal(errno)
	}
	f.after = x.leave()
	for f.name = range f.before.live {
		f.read = false
		ended := func(n uint64) bool { return f.now().segments[segmenttest.Dir(n)[:6]] != nil }
		whole, err := livedir.OpenRun(&f, ended)
		if err != nil {
			t.Fatal(err)
		}
		if s := whole.Process().Segment; s.Closed > 2 && !maps.Equal(calls(whole.Profile), f.after.known) {
			t.Errorf("changed behind %s: has %d segments, and not all of their calls", f.name, s.Closed)
		}
	}
}

// times returns the time on CPU by function of the tree.
func times(p *profile.Profile) map[string]uint64 {
	got := map[string]uint64{}
	for n, ns := range p.Column(profile.ContextCPU.Name).Values {
		for n > 0 && p.Funcs[p.Nodes[n].Func].Kind == profile.FuncPlace {
			n = int(p.Nodes[n].Parent)
		}
		if ns > 0 {
			got[p.String(p.Funcs[p.Nodes[n].Func].Name)] += ns
		}
	}
	return got
}

// calls returns the calls by function.
func calls(p *profile.Profile) map[string]uint64 {
	got := map[string]uint64{}
	for n, node := range p.Nodes {
		if c := p.Column(profile.Calls.Name).Of(p, n); len(c) > 0 && c[0] > 0 {
			got[p.String(p.Funcs[node.Func].Name)] += c[0]
		}
	}
	return got
}

// TestKilled kills a program after each operation by which a segment is written: each call is in one segment, or in
// what came behind the last one.
func TestKilled(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	x := newRotated(t, "1h")
	var lefts []left
	x.disk.Snapshot = func() { lefts = append(lefts, x.leave()) }
	for range 5 {
		x.work(r, 300)
		if errno := x.rotate(); errno != 0 {
			t.Fatal(errno)
		}
		lefts = append(lefts, x.leave())
	}
	x.work(r, 100)
	lefts = append(lefts, x.leave())
	for i, l := range lefts {
		t.Run(fmt.Sprint(i), func(t *testing.T) { l.check(t, true) })
	}
	x.validate()
}

// TestBeside has samples beside the tree, and kills the program after each operation, lets each fail in turn, and ends
// the program at each rest: each call and each sample is in one segment, in its context, or behind the last one.
func TestBeside(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	x := newRotated(t, "1h")
	x.beside()
	var lefts []left
	x.disk.Snapshot = func() { lefts = append(lefts, x.leave()) }
	for range 3 {
		x.work(r, 200)
		if errno := x.rotate(); errno != 0 {
			t.Fatal(errno)
		}
	}
	x.disk.Snapshot = nil
	for i, l := range lefts {
		t.Run(fmt.Sprint(i), func(t *testing.T) { l.check(t, true) })
	}
	for at := 1; ; at++ {
		x.work(r, 30)
		x.disk.Ops, x.disk.FailAt = 0, at
		x.rotate()
		x.leave().check(t, true)
		if x.disk.Ops < at {
			break
		}
	}
	for at := 1; ; at++ {
		x.work(r, 30)
		x.disk.FailAt, x.disk.Rests, x.disk.LeaveAt = 0, 0, at
		x.rotate()
		x.leave().check(t, true)
		if x.disk.Rests < at {
			break
		}
	}
	// One sample in a context that has not counted since: it is there, and no other.
	x.rotate()
	x.ctx = CellOf(RootNode, layout.RootMain)
	x.sample(r, x.enter(x.metas[0]))
	x.disk.LeaveAt = 0
	x.rotate()
	l := x.leave()
	l.check(t, true)
	last := l.segments[segmenttest.Dir(x.r.Number - 1)[:6]]
	if last["samples"] == nil || last["samples.new"] != nil {
		t.Errorf("the last segment has the files %q", slices.Sorted(maps.Keys(last)))
	}
	dir, err := livedir.Open(last)
	if err != nil {
		t.Fatal(err)
	}
	n, calls, sampled := len(dir.Profile.Nodes), calls(dir.Profile), times(dir.Profile)
	if n > 4 || len(calls) != 0 || len(sampled) != 1 {
		t.Errorf("a segment of one sample has %d nodes and calls of %v", n, calls)
	}
}

// A changing directory changes when somebody has looked for a file, or has opened it.
type changing struct {
	fstest.MapFS
	when   string
	change func(fstest.MapFS)
}

func (c *changing) looked(name string) {
	if change := c.change; name == c.when && change != nil {
		c.change = nil
		change(c.MapFS)
	}
}

func (c *changing) Stat(name string) (fs.FileInfo, error) {
	defer c.looked(name)
	return c.MapFS.Stat(name)
}

func (c *changing) Open(name string) (fs.File, error) {
	defer c.looked(name)
	return c.MapFS.Open(name)
}

// TestBesideRead reads a segment of a tree with samples while these get their name, and while it is removed: it has
// both, or there is an error.
func TestBesideRead(t *testing.T) {
	x := newRotated(t, "1h")
	x.beside()
	x.work(rand.New(rand.NewPCG(23, 24)), 300)
	x.rotate()
	named := x.leave().segments["000001"]
	rename := func(from, to string) func(fstest.MapFS) {
		return func(m fstest.MapFS) {
			m[to] = m[from]
			delete(m, from)
		}
	}
	fresh := maps.Clone(named)
	rename("samples", "samples.new")(fresh)
	remove := func(m fstest.MapFS) {
		rename("samples", "samples.new")(m)
		delete(m, "tree")
	}
	for _, when := range []string{"tree", "samples", "samples.new", "funcs", "places"} {
		for name, c := range map[string]*changing{
			"gets its name": {fresh, when, rename("samples.new", "samples")},
			"loses it":      {named, when, rename("samples", "samples.new")},
			"is removed":    {named, when, remove},
		} {
			c.MapFS = maps.Clone(c.MapFS)
			dir, err := livedir.Open(c)
			if name == "is removed" && err != nil {
				continue
			}
			if err != nil {
				t.Errorf("%s at %s: %v", name, when, err)
			} else if !maps.Equal(calls(dir.Profile), x.known) || !maps.Equal(times(dir.Profile), x.sampled) {
				t.Errorf("%s at %s: have %v and %v", name, when, calls(dir.Profile), times(dir.Profile))
			}
		}
	}
	delete(named, "tree")
	if _, err := livedir.Open(named); err == nil {
		t.Error("samples of contexts are read without the tree")
	}
}

// TestDiskFull lets each operation fail in turn: the segment goes on, and nothing is lost or counted twice.
func TestDiskFull(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	failed := uint64(0)
	x := newRotated(t, "1h")
	for at := 1; ; at++ {
		x.work(r, 50)
		x.disk.Ops, x.disk.FailAt = 0, at
		if x.rotate() == 0 {
			if x.disk.Ops < at {
				break
			}
		} else {
			failed++
		}
		x.leave().check(t, true)
		x.disk.FailAt = 0
		if at%3 == 0 {
			if errno := x.rotate(); errno != 0 {
				t.Fatal(errno)
			}
			x.leave().check(t, true)
		}
	}
	if h := x.r.Record.Header(); h.Failed != failed || failed < 5 {
		t.Errorf("%d rotations failed, and the header has %d", failed, h.Failed)
	}
}

// TestKeep has more segments than are to be kept, and older ones.
func TestKeep(t *testing.T) {
	for rotation, want := range map[string][]uint64{"1h,3": {8, 9, 10}, "1h,2s": {8, 9, 10}, "1h,1s,5": {9, 10},
		"1h,100": {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}} {
		r := rand.New(rand.NewPCG(5, 6))
		x := newRotated(t, rotation)
		for range 10 {
			x.work(r, 20)
			x.rotate()
		}
		l := x.leave()
		l.check(t, len(want) == 10)
		var have []uint64
		for name := range l.segments {
			var n uint64
			fmt.Sscanf(name, "%d", &n)
			have = append(have, n)
		}
		if slices.Sort(have); !slices.Equal(have, want) {
			t.Errorf("%s: segments %d are kept, want %d", rotation, have, want)
		}
		if h := x.r.Record.Header(); h.Dropped != uint64(10-len(want)) || h.Segment != 11 {
			t.Errorf("%s: the header has %d dropped segments, and %d is to come", rotation, h.Dropped, h.Segment)
		}
	}
}

// TestKeepAgain cannot remove a segment for a while: it goes later, those behind it meanwhile, and each counts once.
func TestKeepAgain(t *testing.T) {
	x := newRotated(t, "1h,2")
	x.disk.Held = map[uint64]bool{1: true, 3: true}
	rotate := func() (kept int) {
		x.work(rand.New(rand.NewPCG(5, 6)), 20)
		x.rotate()
		return len(x.leave().segments)
	}
	for range 9 {
		rotate()
	}
	if n := rotate(); n != 4 {
		t.Errorf("%d segments are there, want 2 and two that cannot be removed", n)
	}
	x.disk.Held = nil
	if n := rotate(); n != 2 || x.r.Record.Header().Dropped != 9 {
		t.Errorf("%d segments are there, and %d are dropped, want 2 and 9", n, x.r.Record.Header().Dropped)
	}
}

// TestRestLosses loses calls in two segments and behind them: the rest has its own losses only.
func TestRestLosses(t *testing.T) {
	x := newRotated(t, "1h")
	for n := range 3 {
		x.work(rand.New(rand.NewPCG(5, 6)), 20)
		for range n + 2 {
			x.r.Record.Lost(layout.LostLabels)
		}
		x.r.Record.Lost(layout.LostFuncs)
		if n < 2 {
			x.rotate()
		}
		rest, err := livedir.OpenRest(x.leave().live, func(uint64) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]uint64{}
		for _, loss := range rest.Process().Losses {
			got[loss.Kind] = loss.Count
		}
		want := map[string]uint64{"funcs": uint64(n + 1)}
		if n == 2 {
			want["labels"] = 4
		}
		if !maps.Equal(got, want) {
			t.Errorf("behind %d segments %v are lost, want %v", min(n+1, 2), got, want)
		}
	}
}

// TestSegmentIsSmall ends a segment in which one context of many has counted.
func TestSegmentIsSmall(t *testing.T) {
	x := newRotated(t, "1h")
	x.work(rand.New(rand.NewPCG(7, 8)), 5000)
	x.rotate()
	x.work(rand.New(rand.NewPCG(7, 8)), 1)
	x.rotate()
	l := x.leave()
	l.check(t, true)
	dir, err := livedir.Open(l.segments["000002"])
	if err != nil {
		t.Fatal(err)
	}
	if n := len(dir.Profile.Nodes); n != 2 {
		t.Errorf("%d nodes for one context, want 2", n)
	}
}

// TestSegmentLostPages loses pages of the tree before a segment ends: it can be read.
func TestSegmentLostPages(t *testing.T) {
	for page := 1; page < 6; page++ {
		x := newRotated(t, "1h")
		x.work(rand.New(rand.NewPCG(9, uint64(page))), 3000)
		memorytest.LosePage(x.mem, page)
		x.r.Record.LostPage()
		memorytest.MustEnd(t, func() {
			if errno := x.rotate(); errno != 0 {
				t.Error(errno)
			}
		})
		if page == 1 {
			continue // the root
		}
		p, err := livedir.Open(x.leave().segments["000001"])
		if err != nil {
			t.Errorf("page %d: %v", page, err)
		} else if len(p.Profile.Nodes) < 20 {
			t.Errorf("page %d: %d nodes are left", page, len(p.Profile.Nodes))
		}
	}
}

// TestRests ends a segment of many contexts, which five loops look at: sums, the two of Plan, and Fill for each of two
// files. Each of them is to rest after each piece, and no file may be written in one.
func TestRests(t *testing.T) {
	x := newRotated(t, "1h")
	for _, n := range x.manyNodes(320) {
		x.shards[0][n/8]++
	}
	for x.r.Record.UsedFuncs() < 3<<18 {
		x.ctx = CellOf(RootNode, layout.RootMain)
		x.enter(x.function(2))
	}
	if errno := x.rotate(); errno != 0 {
		t.Fatal(errno)
	}
	pieces := int(x.tree.Used() / piece)
	if pieces < 10 || 5*x.disk.Rests < 23*pieces { // a piece ends with its last object
		t.Errorf("%d rests in %d pieces of the tree, want five each", x.disk.Rests, pieces)
	}
	if x.disk.Longest > 1<<18 {
		t.Errorf("wrote %d bytes at once, want 256 KiB at most", x.disk.Longest)
	}

	x = newRotated(t, "1h,200") // and many segments are dropped at once
	for range 100 {
		x.rotate()
	}
	before := x.disk.Rests
	if x.r.Keep = 1; x.rotate() != 0 || x.disk.Rests-before < 100 {
		t.Errorf("%d rests while 100 segments are dropped", x.disk.Rests-before)
	}
}

// TestLeft ends a program while its thread rests, after each piece of its work. Nothing has failed, and who ends the
// program ends the segment, if it had not ended yet, and drops what is too much.
func TestLeft(t *testing.T) {
	for _, keep := range []int{1000, 2} {
		x := newRotated(t, fmt.Sprint("1h,", keep))
		nodes := x.manyNodes(70)
		steps := 0
		for left := true; left; steps++ {
			before := x.r.Number
			for i, n := range nodes {
				x.shards[steps%2][n/8]++
				x.known[x.metas[i%len(x.metas)].name]++
			}
			x.disk.Rests, x.disk.LeaveAt = 0, steps+1
			errno := x.rotate()
			if left = x.disk.Rests > steps; x.disk.Rests > steps+1 {
				t.Fatalf("left at rest %d, it went on to %d", steps+1, x.disk.Rests)
			}
			x.disk.LeaveAt = 0
			if ended := x.r.Number > before; ended == (errno == segment.Left) || !left && !ended {
				t.Fatalf("left at rest %d: error %d, segment ended: %v", steps+1, errno, ended)
			}
			x.leave().check(t, keep > 2)
			if errno := x.rotate(); errno != 0 {
				t.Fatalf("who ends the program has error %d", errno)
			}
			l := x.leave()
			l.check(t, keep > 2)
			if failed := x.r.Record.Header().Failed; failed != 0 || keep == 2 && steps > 0 && len(l.segments) != 2 {
				t.Fatalf("%d rotations failed, %d segments are kept", failed, len(l.segments))
			}
		}
		if steps < 30 {
			t.Errorf("%d rests", steps)
		}
	}
}

// manyNodes makes the contexts in which each of some functions calls each.
func (x *rotated) manyNodes(functions int) (nodes []uint32) {
	for range functions {
		x.function(2)
	}
	for _, f := range x.metas {
		x.ctx = CellOf(RootNode, layout.RootMain)
		n := x.enter(f)
		for _, g := range x.metas {
			x.call(n, 0)
			nodes = append(nodes, x.enter(g))
		}
	}
	return nodes
}

// BenchmarkRotate ends a segment of a tree with about 100,000 contexts, all of which have counted.
func BenchmarkRotate(b *testing.B) {
	x := newRotated(b, "1h")
	nodes := x.manyNodes(320)
	for b.Loop() {
		for _, n := range nodes {
			x.shards[0][n/8]++
		}
		clear(x.disk.Files)
		if errno := x.rotate(); errno != 0 {
			b.Fatal(errno)
		}
	}
	b.ReportMetric(float64(x.tree.Made()), "contexts")
}
