package profile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// Names of the sampling engine's files of a live directory.
const (
	fileSamples = "samples"
	filePlaces  = "places"
)

// hasFile tells whether the directory has a file.
func hasFile(fsys fs.FS, name string) bool {
	_, err := fs.Stat(fsys, name)
	return !errors.Is(err, fs.ErrNotExist)
}

// emptyTree gives a profile without calls what every profile has: the root.
func (l *Live) emptyTree() {
	p := l.Profile
	p.Funcs = []Func{{Kind: FuncRoot, Cells: rt.NumRoots, Counters: 1}}
	p.Nodes, p.Counts = []Node{{}}, make([]uint64, 1)
}

// readSamples reads what the sampling engine has recorded into l.Profile.
// Nodes are complete when their parent is set; addresses have a place as soon as
// the sampler has described them, at the latest one interval later.
func (l *Live) readSamples() error {
	f, err := openFile(l.fsys, fileSamples)
	if err != nil {
		return err
	}
	defer f.close()
	head, err := f.at(0, rt.SmpEnd)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	if magic := string(head[:8]); magic != rt.SampleMagic {
		return f.fail(rt.SmpMagic, "not the samples of a live directory (have %q, want %q)", magic, rt.SampleMagic)
	}
	if v := le.Uint32(head[rt.SmpVersion:]); v != rt.SampleVersion {
		return f.fail(rt.SmpVersion, "layout version %d (want %d); use the stemma that built the program", v, rt.SampleVersion)
	}
	if err := l.sampleProcess(f, head); err != nil {
		return err
	}
	used := min(le.Uint64(head[rt.SmpUsed:]), le.Uint64(head[rt.SmpMax:]), uint64(f.size-rt.SmpEnd)/rt.SampleNodeSize)
	places, err := l.readPlaces(int64(le.Uint64(head[rt.SmpPlaces:])))
	if err != nil {
		return err
	}
	return l.readSampleNodes(f, used, places)
}

// sampleProcess fills in the process from the header of samples.
func (l *Live) sampleProcess(f *liveFile, head []byte) error {
	le := binary.LittleEndian
	if len(l.Profile.Processes) == 0 {
		args, version := le.Uint32(head[rt.SmpArgsLen:]), le.Uint32(head[rt.SmpGoVerLen:])
		if args > rt.SmpArgsMax || version > rt.SmpGoVerMax {
			return f.fail(rt.SmpArgsLen, "command line of %d bytes, Go version of %d", args, version)
		}
		proc := Process{Run: le.Uint64(head[rt.SmpRun:]), PID: int(le.Uint32(head[rt.SmpPID:])), Engine: "sample"}
		proc.GoVersion = string(head[rt.SmpGoVer : rt.SmpGoVer+version])
		if list := string(head[rt.SmpArgs : rt.SmpArgs+args]); list != "" {
			proc.Args = strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
		}
		if start := int64(le.Uint64(head[rt.SmpStart:])); start > 0 {
			proc.Start = time.Unix(0, start).UTC()
		}
		l.Profile.Processes = []Process{proc}
	}
	s := &Sampling{Sampler: nameOf(rt.SamplerNames[:], head[rt.SmpSampler]), Walk: nameOf(rt.WalkNames[:], head[rt.SmpSampler+1])}
	s.Interval = time.Duration(le.Uint64(head[rt.SmpInterval:]) & (1<<63 - 1))
	s.Ask = AskSignal
	if le.Uint32(head[rt.SmpFlags:])&rt.SmpFlagGuard != 0 {
		s.Ask = AskGuard
	}
	proc := l.process()
	if s.Ask == AskGuard {
		proc.Notes = append(proc.Notes, guardBias)
	}
	for i, name := range rt.StatNames {
		n := le.Uint64(head[rt.SmpStats+8*i:])
		s.Stats = addLoss(s.Stats, Loss{name, n})
		if kind := statLosses[i]; kind != "" {
			proc.Losses = addLoss(proc.Losses, Loss{kind, n})
		}
	}
	for i := range rt.LatencyBuckets {
		if n := le.Uint64(head[rt.SmpLatency+8*i:]); n > 0 {
			s.Latency = append(s.Latency, Bucket{time.Duration(rt.LatencyFloor(i)), n})
		}
	}
	proc.Checked = proc.Checked || le.Uint32(head[rt.SmpFlags:])&rt.SmpFlagCheck != 0
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

// readPlaces reads the descriptions of addresses.
func (l *Live) readPlaces(used int64) (map[uint64]Place, error) {
	f, err := openFile(l.fsys, filePlaces)
	if err != nil {
		return nil, err
	}
	defer f.close()
	places := make(map[uint64]Place)
	strs := map[string]uint32{"": 0}
	for i, s := range l.Profile.Strings {
		strs[s] = uint32(i)
	}
	intern := func(b []byte) uint32 {
		i, ok := strs[string(b)]
		if !ok {
			i = uint32(len(l.Profile.Strings))
			l.Profile.Strings = append(l.Profile.Strings, string(b))
			strs[string(b)] = i
		}
		return i
	}
	for off := int64(0); off+rt.PlaceHeaderSize <= min(used, f.size); {
		head, err := f.at(off, rt.PlaceHeaderSize)
		if err != nil {
			return nil, err
		}
		size, n := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:])
		pc := binary.LittleEndian.Uint64(head[8:])
		if size == 0 {
			break
		}
		if size < rt.PlaceHeaderSize || size%8 != 0 {
			return nil, f.fail(off, "place of %d bytes", size)
		}
		b, err := f.at(off, int(size))
		if err != nil {
			return nil, err
		}
		pl, ok := parsePlace(b[rt.PlaceHeaderSize:], n, intern)
		if !ok {
			return nil, f.fail(off, "place of %d bytes cannot hold its %d frames", size, n)
		}
		if len(pl.Frames) > 0 {
			places[pc] = pl
		}
		off += int64(size)
	}
	return places, nil
}

// parsePlace reads the frames of a record.
func parsePlace(b []byte, n uint32, intern func([]byte) uint32) (Place, bool) {
	var pl Place
	le := binary.LittleEndian
	for range n {
		if len(b) < rt.PlaceFrameSize {
			return pl, false
		}
		line, start := le.Uint32(b), le.Uint32(b[4:])
		name, file := uint64(le.Uint32(b[8:])), uint64(le.Uint32(b[12:]))
		b = b[rt.PlaceFrameSize:]
		if name+file > uint64(len(b)) {
			return pl, false
		}
		pl.Frames = append(pl.Frames, PlaceFrame{intern(b[:name]), intern(b[name : name+file]), line, start})
		b = b[name+file:]
	}
	return pl, true
}

// readSampleNodes reads the nodes. A parent may stand behind its child, when two
// threads created them at the same time; so places are found first, then parents.
func (l *Live) readSampleNodes(f *liveFile, used uint64, known map[uint64]Place) error {
	type raw struct {
		parent uint32 // + 1; 0 if incomplete
		pc     uint64
		weight [NumWeights]uint64
	}
	nodes := make([]raw, used)
	le := binary.LittleEndian
	for i := range nodes {
		b, err := f.at(rt.SmpEnd+int64(i)*rt.SampleNodeSize, rt.SampleNodeSize)
		if err != nil {
			return err
		}
		nodes[i] = raw{parent: le.Uint32(b[rt.SmpNodeParent:]), pc: le.Uint64(b[rt.SmpNodePC:])}
		for w := range NumWeights / 2 {
			off := rt.SmpNodeCPU + 16*w
			nodes[i].weight[2*w], nodes[i].weight[2*w+1] = le.Uint64(b[off:]), le.Uint64(b[off+8:])
		}
	}
	m := newSampleMerger()
	at := make([]uint32, used) // index in the profile + 1
	if used > 0 {
		at[0] = 1
	}
	unknown := make(map[uint64]bool)
	place := func(pc uint64) uint32 {
		pl, ok := known[pc]
		if !ok {
			name := fmt.Sprintf("(unknown %#x)", pc)
			if pc < rt.NumPseudo {
				name = "[" + rt.PseudoNames[pc] + "]"
			} else {
				unknown[pc] = true
			}
			l.Profile.Strings = append(l.Profile.Strings, name)
			pl = Place{[]PlaceFrame{{Func: uint32(len(l.Profile.Strings) - 1)}}}
			known[pc] = pl
		}
		return m.place(pl)
	}
	var path []int
	for i := range nodes {
		path = path[:0]
		k := i
		for k >= 0 && k < len(at) && at[k] == 0 && len(path) <= len(at) {
			path = append(path, k)
			k = int(nodes[k].parent) - 1
		}
		if k < 0 || k >= len(at) || at[k] == 0 {
			if nodes[i].parent != 0 {
				return f.fail(rt.SmpEnd+int64(i)*rt.SampleNodeSize, "node %d does not hang below the root", i)
			}
			continue // incomplete: nothing has been counted there
		}
		for j := len(path) - 1; j >= 0; j-- {
			at[path[j]] = m.node(at[k]-1, place(nodes[path[j]].pc)) + 1
			k = path[j]
		}
	}
	for i, n := range nodes {
		if at[i] > 0 {
			for w, v := range n.weight {
				m.s.Nodes[at[i]-1].Weight[w] += v
			}
		}
	}
	l.lose(LossPlaces, uint64(len(unknown)))
	l.Profile.Samples = m.s
	return nil
}
