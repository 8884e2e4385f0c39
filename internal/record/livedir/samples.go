package livedir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/sealed"
	"github.com/stemma-go/stemma/profile"
)

// newSamples is what the samples of a segment are called that has a tree as well, until a moment behind that. They are
// complete when the tree has its name.
const newSamples = layout.FileSamples + layout.NewSuffix

// hasSamples reports whether the directory has samples, which may get their name meanwhile.
func (l *Dir) hasSamples(tree bool) bool {
	has := func(name string) bool { return HasFile(l.FS, name) }
	return has(layout.FileSamples) || tree && (has(newSamples) || has(layout.FileSamples))
}

// openSamplesFile opens the samples, which may get their name meanwhile, or lose it before they are removed.
func (l *Dir) openSamplesFile(tree bool) (*File, error) {
	f, err := OpenFile(l.FS, layout.FileSamples)
	if errors.Is(err, fs.ErrNotExist) && tree {
		if f, err = OpenFile(l.FS, newSamples); errors.Is(err, fs.ErrNotExist) {
			f, err = OpenFile(l.FS, layout.FileSamples)
		}
	}
	return f, err
}

// openSamples reads the samples of the sampling engine, with the nodes that they are of, before the tree that these
// may refer to. The file must be closed.
func (l *Dir) openSamples(tree bool) (*samplesReader, error) {
	r := &samplesReader{live: l, strings: make(map[string]uint32), places: make(map[uint64]place),
		funcs: make(map[uint64]uint32), same: make(map[string]uint32)}
	err := r.readRequests(l.FS)
	if err != nil {
		return nil, err
	}
	if r.f, err = l.openSamplesFile(tree); err != nil {
		return nil, err
	}
	if err = r.readHeader(); err == nil && r.head.Walk == layout.WalkContext && !tree {
		err = r.f.Fail(int64(unsafe.Offsetof(r.head.Walk)), "samples of contexts, and the tree of these is not there")
	}
	if err == nil {
		err = r.readNodes()
	}
	if err != nil {
		r.f.Close()
		return nil, err
	}
	return r, nil
}

// readHeader reads the header of the samples.
func (r *samplesReader) readHeader() error {
	b, err := r.f.Head(layout.SampleHeaderSize)
	if err != nil {
		return err
	}
	r.head = raw.Load[layout.SampleHeader](b)
	if magic := string(r.head.Magic[:]); magic != layout.SampleMagic {
		return r.f.Fail(int64(unsafe.Offsetof(r.head.Magic)), "not the samples of a live directory (have %q, want %q)",
			magic, layout.SampleMagic)
	}
	if r.head.Version != layout.SampleVersion {
		return r.f.Fail(int64(unsafe.Offsetof(r.head.Version)),
			"layout version %d (want %d); use the stemma that built the program", r.head.Version, layout.SampleVersion)
	}
	return nil
}

// read adds the samples to the profile, which has the tree by now if there is one. An address has a place as soon
// as the sampler has described it, at the latest one interval after the first sample of it: so places are counted last.
func (r *samplesReader) read() error {
	if err := r.readHeader(); err != nil {
		return err
	}
	if r.live.rest > 1 {
		if err := r.subtractEarlier(); err != nil {
			return err
		}
	}
	if err := r.live.sampleProcess(r.f, &r.head); err != nil {
		return err
	}
	r.types = sampleValues()
	if r.head.Walk == layout.WalkContext {
		r.types = []profile.Metric{profile.ContextCPU}
	}
	for _, t := range r.types {
		if r.head.Sampler == layout.SamplerACCT && t.Name != profile.Samples.Name {
			continue // the accumulator samples calls, which take no time
		}
		if _, err := r.live.Profile.AddColumn(t); err != nil {
			return err
		}
	}
	for i, s := range r.live.Profile.Strings {
		r.strings[s] = uint32(i)
	}
	if err := r.readPlaces(int64(min(r.head.Places, math.MaxInt64))); err != nil {
		return err
	}
	return r.addNodes(r.nodes)
}

// sampleValues returns the values that a sampler records, in the order of its nodes.
func sampleValues() []profile.Metric {
	return []profile.Metric{profile.CPU, profile.Samples, profile.SampledWait, profile.SampledWaits}
}

const numSampleValues = 4

// A samplesReader reads places and nodes of samples.
type samplesReader struct {
	types   []profile.Metric
	live    *Dir
	f       *File
	head    layout.SampleHeader
	nodes   []sampleNode // only complete ones: a damaged file may be large and have few
	strings map[string]uint32
	places  map[uint64]place
	funcs   map[uint64]uint32 // the function of each address that nodes have
	same    map[string]uint32 // functions by their frames
	unknown uint64            // addresses without a description
	requestsReader
}

// sampleProcess fills in the process from the header of samples.
func (l *Dir) sampleProcess(f *File, head *layout.SampleHeader) error {
	if len(l.Profile.Processes) == 0 {
		if uint64(head.ArgsLen) > uint64(len(head.Args)) || uint64(head.GoVerLen) > uint64(len(head.GoVer)) {
			return f.Fail(int64(unsafe.Offsetof(head.ArgsLen)), "command line of %d bytes, Go version of %d",
				head.ArgsLen, head.GoVerLen)
		}
		proc := profile.Process{Run: head.Run, PID: int(head.PID), Full: head.Flags&layout.SmpFlagFull != 0,
			Engine:    engine.Recorded(layout.FileSamples, head.Flags).Name,
			GoVersion: plainVersion(string(head.GoVer[:head.GoVerLen]))}
		if list := string(head.Args[:head.ArgsLen]); list != "" {
			proc.Args = strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
		}
		proc.Start = sealed.UnixNano(head.Start)
		l.Header.Rotation = head.Rotation
		proc.Segment = segmentOf(&head.Rotation, head.Start)
		l.Profile.Processes = []profile.Process{proc}
	}
	s := &profile.Sampling{Sampler: nameOf(layout.SamplerNames[:], head.Sampler), Walk: nameOf(layout.WalkNames[:],
		head.Walk)}
	s.Interval = time.Duration(head.Interval & (1<<63 - 1))
	s.At = profile.AtSignal
	if head.Flags&layout.SmpFlagPrologue != 0 {
		s.At = profile.AtPrologue
	}
	proc := l.Process()
	switch {
	case s.At == profile.AtPrologue:
		proc.Notes = append(proc.Notes, profile.PrologueBias)
	case head.Sampler == layout.SamplerJVMTI:
		proc.Notes = append(proc.Notes, profile.StopBias)
	}
	for i, name := range layout.StatNames {
		if name == "" {
			continue
		}
		n := head.Stats[i]
		s.Stats = profile.AddLoss(s.Stats, profile.Loss{Kind: name, Count: n})
		if kind := statLoss(i); kind != "" {
			proc.Losses = profile.AddLoss(proc.Losses, profile.Loss{Kind: kind, Count: n})
		}
	}
	for i, n := range head.Latency {
		if n > 0 {
			s.Latency = append(s.Latency, profile.Bucket{Floor: time.Duration(layout.LatencyFloor(i)), Count: n})
		}
	}
	proc.Checked = proc.Checked || head.Flags&layout.SmpFlagCheck != 0
	proc.Sampling = s
	return nil
}

// nameOf returns a name by its number, which may come from a damaged file.
func nameOf(names []string, i byte) string {
	if int(i) < len(names) {
		return names[i]
	}
	return ""
}

// string returns the index of a string of the profile.
func (r *samplesReader) string(b []byte) uint32 {
	i, ok := r.strings[string(b)]
	if !ok {
		p := r.live.Profile
		i = uint32(len(p.Strings))
		p.Strings = append(p.Strings, string(b))
		r.strings[string(b)] = i
	}
	return i
}

// readPlaces reads the descriptions of addresses.
func (r *samplesReader) readPlaces(used int64) error {
	f, err := OpenFile(r.live.FS, layout.FilePlaces)
	if err != nil {
		return err
	}
	defer f.Close()
	if used, err = f.Has(used); err != nil {
		return err
	}
	f.Limit(used)
	for off := int64(0); off+layout.PlaceSize <= used; {
		b, err := f.At(off, layout.PlaceSize)
		if err != nil {
			return err
		}
		head := raw.Load[layout.Place](b)
		if head.Length == 0 {
			break
		}
		if head.Length < layout.PlaceSize || head.Length%8 != 0 {
			return f.Fail(off, "place of %d bytes", head.Length)
		}
		if b, err = f.At(off, int(head.Length)); err != nil {
			return err
		}
		all := int(head.Frames) + int(head.Wrappers)
		frames, ok := r.frames(b[layout.PlaceSize:], all)
		if !ok {
			return f.Fail(off, "place of %d bytes cannot hold its %d frames", head.Length, all)
		}
		switch {
		case head.Frames > 0:
			r.places[head.PC] = place{frames: frames[:head.Frames]}
		case all > 0:
			r.places[head.PC] = place{frames, true}
		}
		off += int64(head.Length)
	}
	return nil
}

// frames reads the frames of a record.
func (r *samplesReader) frames(b []byte, n int) (frames []profile.Frame, ok bool) {
	for range n {
		if len(b) < layout.PlaceFrameSize {
			return nil, false
		}
		f := raw.Load[layout.PlaceFrame](b)
		name, file := uint64(f.NameLen), uint64(f.FileLen)
		b = b[layout.PlaceFrameSize:]
		if name+file > uint64(len(b)) {
			return nil, false
		}
		frames = append(frames,
			profile.Frame{Func: r.string(b[:name]), File: r.string(b[name : name+file]), Line: f.Line, Start: f.Start})
		b = b[name+file:]
	}
	return frames, true
}

// add returns the function that stands for addresses with these frames.
func (r *samplesReader) add(frames []profile.Frame) uint32 {
	var key sealed.Encoder
	for _, fr := range frames {
		key.U32(fr.Func, fr.File, fr.Line, fr.Start)
	}
	fn, ok := r.same[string(key)]
	if !ok {
		p := r.live.Profile
		fn = uint32(len(p.Funcs))
		p.Funcs = append(p.Funcs, profile.Func{Kind: profile.FuncPlace, Frames: frames})
		r.same[string(key)] = fn
	}
	return fn
}

// A place is what an address stands for.
type place struct {
	frames  []profile.Frame
	wrapper bool // which tracebacks do not show: nothing else is there
}

// function returns the function of an address. One that the sampler has not described, or that
// is none, has a name anyway.
func (r *samplesReader) function(pc uint64) uint32 {
	if fn, ok := r.funcs[pc]; ok {
		return fn
	}
	if p, ok := r.places[pc]; ok {
		r.funcs[pc] = r.add(p.frames)
		return r.funcs[pc]
	}
	name := fmt.Sprintf("(unknown %#x)", pc)
	if pc < layout.NumPseudo {
		name = "[" + layout.PseudoNames[pc] + "]"
	} else {
		r.unknown++
	}
	r.funcs[pc] = r.add([]profile.Frame{{Func: r.string([]byte(name))}})
	return r.funcs[pc]
}

// A sampleNode is a node as the program wrote it.
type sampleNode struct {
	id     uint32 // its index in the file
	parent uint32 // + 1
	pc     uint64
	values [numSampleValues]uint64
}

// readNodes reads the nodes that the header counts.
func (r *samplesReader) readNodes() error {
	used, err := r.f.Records(layout.SampleHeaderSize, min(r.head.Used, r.head.Max, math.MaxUint32),
		layout.SampleNodeSize)
	if err != nil {
		return err
	}
	for i := range used {
		b, err := r.f.At(nodeOffset(i), layout.SampleNodeSize)
		if err != nil {
			return err
		}
		n := raw.Load[layout.SampleNode](b)
		if r.forgotten(uint32(i), n) {
			continue
		}
		if n.Parent != 0 || i == 0 {
			cpu, wait := n.Weights[layout.WeightCPU], n.Weights[layout.WeightWait]
			r.nodes = append(r.nodes,
				sampleNode{uint32(i), n.Parent, n.PC, [...]uint64{cpu.Time, cpu.Samples, wait.Time, wait.Samples}})
		}
	}
	return nil
}

// addNodes adds the nodes to the profile. A parent may stand behind its child, when two
// threads created them at the same time; so places are found first, then parents.
func (r *samplesReader) addNodes(nodes []sampleNode) error {
	x := profile.NewNodeIndex(r.live.Profile, len(r.live.Profile.Nodes)+len(nodes))
	at, err := r.attach(x, nodes)
	if err != nil {
		return err
	}
	r.answer(x, nodes, at)
	for v, t := range r.types {
		c := r.live.Profile.Column(t.Name)
		if c == nil {
			continue // see read
		}
		for i := range nodes {
			c.Values[at[i]-1] += nodes[i].values[v]
		}
	}
	r.live.Lose(profile.LossPlaces, r.unknown)
	return nil
}

// nodeOffset returns where a node is in the file.
func nodeOffset(id uint64) int64 { return layout.SampleHeaderSize + int64(id)*layout.SampleNodeSize }

// findNode returns the index of a node in the list, -1 if it is incomplete: nothing has been
// counted there. It is at its own number, but for those before it that are incomplete.
func findNode(nodes []sampleNode, id uint32) int {
	if int64(id) < int64(len(nodes)) && nodes[id].id == id {
		return int(id)
	}
	i, ok := slices.BinarySearchFunc(nodes, id, func(n sampleNode, id uint32) int { return cmp.Compare(n.id, id) })
	if !ok {
		return -1
	}
	return i
}

// attach makes nodes of the profile, and returns their indexes plus 1. Wrappers have none: they count for
// what called them. What stands for a node of the tree is that node.
func (r *samplesReader) attach(x *profile.NodeIndex, nodes []sampleNode) ([]uint32, error) {
	at := make([]uint32, len(nodes))
	bypassed := make(map[int]bool)
	if len(nodes) > 0 {
		at[0] = 1 // the root
	}
	var path []int
	for i := range nodes {
		path = path[:0]
		k := i
		for k >= 0 && at[k] == 0 && len(path) <= len(at) {
			path = append(path, k)
			k = findNode(nodes, nodes[k].parent-1)
		}
		if k < 0 || at[k] == 0 {
			return nil, r.f.Fail(nodeOffset(uint64(nodes[i].id)), "node %d does not hang below the root", nodes[i].id)
		}
		for j := len(path) - 1; j >= 0; j-- {
			at[path[j]] = at[k]
			pc := nodes[path[j]].pc
			if bypassed[k] || pc&layout.PCNode != 0 && r.live.bypassed[uint32(pc)] {
				bypassed[path[j]] = true
				nodes[path[j]].values = [numSampleValues]uint64{}
				k = path[j]
				continue
			}
			switch node, ok := r.live.Node(uint32(pc)); {
			case pc&layout.PCNode != 0 && ok:
				at[path[j]] = uint32(node) + 1
			case pc&layout.PCNode != 0: // it is not complete, and what ran in it has no context
			case !r.places[pc].wrapper:
				at[path[j]] = x.Node(at[k]-1, 0, r.function(pc)) + 1
			}
			k = path[j]
		}
	}
	for i := range nodes { // wrappers that nothing calls, as of go statements, have what was spent in themselves
		if i > 0 && at[i] == 1 && nodes[i].values != [numSampleValues]uint64{} {
			at[i] = x.Node(0, 0, r.function(nodes[i].pc)) + 1
		}
	}
	return at, nil
}

// statLoss returns the kind of loss that a counter of the sampler means, "" for one that means none.
func statLoss(stat int) string {
	switch stat {
	case layout.StatNodes:
		return profile.LossSampleNodes
	case layout.StatPlaces:
		return profile.LossPlaces
	case layout.StatFailed:
		return profile.LossTruncated
	case layout.StatLostStacks:
		return profile.LossTraces
	case layout.StatMismatches:
		return profile.LossMismatches
	}
	return ""
}
