package sample

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
	"github.com/stemma-go/stemma/internal/goroot/rt/segment"
)

// # Segments
//
// Weights of nodes only grow, as counters of a tree do. So a segment of samples is a difference as well: the weights of
// all nodes at its end, less those at its beginning, which are in two files in turn. It has the nodes whose weights
// have grown, and those that lead to them, by numbers of its own. Nothing of it needs a lock: nodes are complete when
// they are found. A node whose address has no place yet, since it is new, has its samples in the next segment. So does
// a stack whose outer frames are not known yet: it has no weight before.
//
// A node may be on a page that was lost. Then what hangs below it is in no segment, and is counted as what had no room.

// sampledPart is how many nodes are looked at between two rests: about 10 to 50 µs of work.
const sampledPart = 1 << 11

// Sums are what segments of samples are made with. What they point to is not in the Go heap.
type Sums struct {
	Samples *Samples
	Earlier [2]unsafe.Pointer // the sums, of EarlierSize bytes
	Buffer  unsafe.Pointer    // of BufferSize bytes
}

// A Rotator ends segments of samples. It is used as a [segment.Rotator] is. Where samples lie beside a tree, that of
// the tree does.
type Rotator struct {
	segment.Rotator
	Sums
}

// BufferSize is the size of Rotator.Buffer: the header fits, and all nodes of a part.
const BufferSize = sampledPart * SampleNodeSize

// weightsSize is the size of the weights of a node.
const weightsSize = unsafe.Sizeof(layout.SampleNode{}.Weights)

// EarlierSize returns the bytes of sums over the weights of n nodes.
func EarlierSize(n uint64) uint64 { return layout.EarlierSamplesSize + n*uint64(weightsSize) }

// Nodes returns how many nodes there are.
func (s *Samples) Nodes() uint64 { return memory.Load64(&s.used) }

// RecordSize returns how many bytes of the files are in use.
func (s *Samples) RecordSize() uint64 {
	return layout.SampleHeaderSize + s.Nodes()*SampleNodeSize + memory.Load64(&s.placesUsed)
}

// Described returns how many nodes there are that have a place: those in front of the first one without.
func (s *Samples) Described() uint32 { return memory.Load32(&s.scanned) }

// Begin makes the first segment begin, when the record does.
func (r *Rotator) Begin(wall uint64) {
	r.Head = &r.Samples.header().Rotation
	r.Rotator.Begin(wall)
}

// Rotate ends a segment of the first n nodes, which have places, and begins the next one. There is room for the sums of
// so many. After an error the segment goes on.
func (r *Rotator) Rotate(files segment.Files, end *segment.End, n uint32) (errno uintptr) {
	return r.Next(end, r.segmentOf(files, end, n))
}

// segmentOf makes the files of the segment that ends.
func (r *Rotator) segmentOf(files segment.Files, end *segment.End, n uint32) (errno uintptr) {
	x := r.Part(r.Number, n, files)
	if errno = x.Sum(end); errno != 0 {
		return errno
	}
	errno = segment.NoMemory
	if x.Places = files.Memory(x.PlacesSize()); x.Places != nil {
		errno = r.write(&x, end)
	}
	files.Done(errno == 0)
	return errno
}

// write writes a segment.
func (r *Rotator) write(x *Part, end *segment.End) (errno uintptr) {
	if !x.Plan() {
		return segment.Left
	}
	if errno = x.files.Create(r.Number); errno == 0 {
		errno = x.Write(r.Of(end))
	}
	if errno == 0 {
		errno = x.files.Commit(segment.Samples)
	}
	return errno
}

// Part returns what is to be a segment's, of the first n nodes. There is room for the sums of so many.
func (s *Sums) Part(number uint64, n uint32, files segment.Files) Part {
	return Part{s: s.Samples, buffer: s.Buffer, number: number, n: n, files: files,
		before: s.Earlier[(number-1)%2], after: s.Earlier[number%2]}
}

// A Part is what was sampled between two sums. Sum comes first, Plan when there is memory, and Write.
type Part struct {
	Places unsafe.Pointer // zeroed memory of PlacesSize: for each node a uint32, by the constants below

	// Contexts is the memory of places of the tree beside the samples, if there is one, which has ContextsEnd bytes.
	Contexts    unsafe.Pointer
	ContextsEnd uint32

	s             *Samples
	before, after unsafe.Pointer // EarlierSamples
	buffer        unsafe.Pointer
	number        uint64 // of the segment
	n             uint32 // nodes that may be in it
	size          uint32 // nodes that are in it
	lost          uint64 // samples of nodes that do not hang below the root
	files         segment.Files
}

// PlacesSize returns the bytes of Places.
func (x *Part) PlacesSize() uint64 { return uint64(x.n) * uint64(unsafe.Sizeof(placeUnknown)) }

// Sum writes down what all nodes have by now.
func (x *Part) Sum(end *segment.End) (errno uintptr) {
	h, sums := x.s.header(), (*layout.EarlierSamples)(x.after)
	memory.StoreFirst64(&sums.Segment, 0)
	sums.Stats, sums.Latency = h.Stats, h.Latency
	for i := range x.n {
		from, to := &x.s.node(i).Weights, weightsOf(x.after, i)
		for kind := range from {
			to[kind] = layout.Weight{Time: memory.Load64(&from[kind].Time), Samples: memory.Load64(&from[kind].Samples)}
		}
		if i%sampledPart == 0 && !x.files.Rest() {
			return segment.Left
		}
	}
	sums.Ended, sums.Nodes = end.Wall, uint64(x.n)
	memory.StoreRel64(&sums.Segment, x.number)
	return 0
}

// Write writes the places and the nodes of a segment, whose header says what of has.
func (x *Part) Write(of layout.Rotation) (errno uintptr) {
	used := memory.Load64(&x.s.placesUsed)
	if errno = segment.WriteAll(x.files, segment.Places, x.s.places.At(0), used); errno != 0 {
		return errno
	}
	h := (*layout.SampleHeader)(x.buffer)
	*h = *x.s.header()
	if string(h.Magic[:]) != layout.SampleMagic {
		return segment.LostHeader
	}
	h.Max, h.Used, h.Places = uint64(x.size), uint64(x.size), used
	x.stats(h)
	h.Rotation = of
	for from, n := uint32(0), uintptr(layout.SampleHeaderSize); ; {
		if n > 0 {
			errno = x.files.Write(segment.Samples, x.buffer, uint64(n))
		}
		if errno != 0 || from >= x.n {
			return errno
		}
		if !x.files.Rest() {
			return segment.Left
		}
		n = x.fill(from, x.buffer)
		from += sampledPart
	}
}

// What is known of a node, instead of its place in the segment. The root is node 0 there as well.
const (
	placeUnknown uint32 = 1<<32 - 1 - iota
	placeLost           // it does not hang below the root
	placeWanted         // it has no place yet
)

// place returns what is known of a node. Memory of zeros knows nothing, so this is kept the other way round.
func (x *Part) place(i uint32) uint32 {
	return ^*(*uint32)(unsafe.Add(x.Places, uintptr(i)*unsafe.Sizeof(i)))
}

func (x *Part) setPlace(i, place uint32) {
	*(*uint32)(unsafe.Add(x.Places, uintptr(i)*unsafe.Sizeof(i))) = ^place
}

// weightsOf returns the weights of a node in sums.
func weightsOf(sums unsafe.Pointer, i uint32) *[2]layout.Weight {
	return (*[2]layout.Weight)(unsafe.Add(sums, layout.EarlierSamplesSize+uintptr(i)*weightsSize))
}

// grew returns by how much the weights of a node have grown. What is less than it was is on a page that was lost.
func (x *Part) grew(i uint32) (w [2]layout.Weight) {
	after := weightsOf(x.after, i)
	var before [2]layout.Weight
	if uint64(i) < (*layout.EarlierSamples)(x.before).Nodes {
		before = *weightsOf(x.before, i)
	}
	for kind := range w {
		w[kind].Time = after[kind].Time - min(after[kind].Time, before[kind].Time)
		w[kind].Samples = after[kind].Samples - min(after[kind].Samples, before[kind].Samples)
	}
	return w
}

// up returns the parent of a node; ok is false of one that is not complete.
func (x *Part) up(i uint32) (parent uint32, ok bool) {
	p := memory.Load32(&x.s.node(i).Parent)
	return p - 1, p != 0 && p-1 < x.n
}

// Plan says which nodes the segment has, and where, and wants the contexts that these stand for in the tree. It reports
// false if the program ends meanwhile.
func (x *Part) Plan() bool {
	x.setPlace(0, placeWanted)
	for i := uint32(1); i < x.n; i++ {
		if i%sampledPart == 0 && !x.files.Rest() {
			return false
		}
		w := x.grew(i)
		if w == [2]layout.Weight{} {
			continue
		}
		place, ok := x.want(i)
		if !ok {
			return false
		}
		if place == placeLost {
			x.lost += w[layout.WeightCPU].Samples + w[layout.WeightWait].Samples
		}
	}
	for i := range x.n {
		if i%sampledPart == 0 && !x.files.Rest() {
			return false
		}
		if x.place(i) == placeWanted {
			x.setPlace(i, x.size)
			x.size++
			if context := x.context(memory.Load64(&x.s.node(i).PC)); context != nil {
				*context = segment.Wanted
			}
		}
	}
	return true
}

// context returns the place of the node of the tree that an address stands for, nil if it stands for none.
func (x *Part) context(pc uint64) *uint32 {
	off := uint32(pc)
	if pc&layout.PCNode == 0 || off >= x.ContextsEnd || off%layout.CounterSize != 0 {
		return nil
	}
	return segment.Place(x.Contexts, off)
}

// want makes a node and all that lead to it wanted, if the root is among these; else they are lost. Each node is passed
// twice at most, and then never more. ok is false if the program ends meanwhile.
func (x *Part) want(i uint32) (is uint32, ok bool) {
	is = placeUnknown
	steps := uint32(0)
	for at, up := i, true; is == placeUnknown; {
		if is = x.place(at); is != placeUnknown {
			break
		}
		if at, up = x.up(at); !up || steps > x.n {
			is = placeLost
		}
		if steps++; steps%sampledPart == 0 && !x.files.Rest() {
			return is, false
		}
	}
	for at, up := i, true; up && x.place(at) == placeUnknown; at, up = x.up(at) {
		x.setPlace(at, is)
		if steps++; steps%sampledPart == 0 && !x.files.Rest() {
			return is, false
		}
	}
	return is, true
}

// fill writes the segment's nodes of a part to buf, and returns how many bytes these have.
func (x *Part) fill(from uint32, buf unsafe.Pointer) (n uintptr) {
	for i := from; i < min(from+sampledPart, x.n); i++ {
		place := x.place(i)
		if place >= placeWanted {
			continue
		}
		node := (*layout.SampleNode)(unsafe.Add(buf, n))
		*node = layout.SampleNode{PC: memory.Load64(&x.s.node(i).PC), Weights: x.grew(i), Parent: 1}
		if up, ok := x.up(i); i > 0 && ok && x.place(up) < placeWanted {
			node.Key = x.place(up)
			node.Parent = node.Key + 1
		} else if i > 0 { // its page was lost since plan looked at it
			node.PC = layout.PCOverflow
		}
		if context := x.context(node.PC); context != nil {
			node.PC = layout.PCNode | uint64(*context)
		}
		n += SampleNodeSize
	}
	return n
}

// stats makes what a header counts what was counted between the sums.
func (x *Part) stats(h *layout.SampleHeader) {
	before, after := (*layout.EarlierSamples)(x.before), (*layout.EarlierSamples)(x.after)
	for i := range h.Stats {
		h.Stats[i] = after.Stats[i] - min(after.Stats[i], before.Stats[i])
	}
	for i := range h.Latency {
		h.Latency[i] = after.Latency[i] - min(after.Latency[i], before.Latency[i])
	}
	h.Stats[layout.StatNodes] += x.lost
}
