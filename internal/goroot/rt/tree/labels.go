package tree

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
)

// Labels of goroutines are nodes, so that what runs with them has contexts of its own. A node stands for a set: all
// labels that a goroutine has of those keys that the build names. It lies between a call site and the outermost
// function that runs with the labels there: caller, labels, function. That function has another node without the
// labels, or with other ones, below the same call site.
//
// When labels are set the functions that go on with them are running already. Their frames get the nodes that they have
// below the labels ([Tree.Relabel]), and nothing is counted there a second time. Whatever these functions call from now
// on finds its context in the usual way.
//
// Recursion is not folded across labels, since below other labels the costs are those of another request. Where the
// same set is on the path already, with other labels in between, its node is that of a back edge.

// Labels are the values and sets that the program has had of the labels that the build names. They are under the lock
// of the tree. The strings of the program are copied.
type Labels struct {
	keys   [layout.MaxLabels]string
	number int // of keys
	values *[valuePlaces]labelValue
	sets   *[setPlaces]uint64
	known  [layout.MaxLabels]uint16 // values of each key
	made   uint32                   // sets
	bound  uint16                   // of values of each key
}

const (
	// LabelValues is how many values of each key have nodes of their own; the others share one.
	LabelValues = 1000

	// maxLabelValue is how many bytes of a value are looked at.
	maxLabelValue = 112

	valuePlaces = 1 << 13
	setPlaces   = 1 << 16
	maxSets     = 1 << 15

	// LabelsMemory is how many bytes of memory Labels takes.
	LabelsMemory = valuePlaces*unsafe.Sizeof(labelValue{}) + setPlaces*8

	moreValues = 1<<valueBits - 1 // the number of the value that stands for those beyond the bound
	valueBits  = 16
)

// A table must be found with room in it.
const (
	_ = uint(valuePlaces - 2*layout.MaxLabels*LabelValues + layout.MaxLabels*LabelValues/2)
	_ = uint(setPlaces - 2*maxSets)
)

// A labelValue is a value of a key.
type labelValue struct {
	number uint16 // from 1 on; 0 is a free place
	key    uint16
	len    uint32
	hash   uint64
	text   [maxLabelValue]byte
}

// NoLabels is the set without labels.
const NoLabels = setPlaces

// InitLabels makes t know labels with the given keys, which have '+' between them. mem is LabelsMemory bytes of zeros.
func (t *Tree) InitLabels(mem unsafe.Pointer, keys string) {
	l := &t.labels
	l.values = (*[valuePlaces]labelValue)(mem)
	l.sets = (*[setPlaces]uint64)(unsafe.Add(mem, unsafe.Sizeof(*l.values)))
	l.bound = LabelValues
	for l.number = 0; keys != "" && l.number < layout.MaxLabels; l.number++ {
		end := 0
		for end < len(keys) && keys[end] != '+' {
			end++
		}
		l.keys[l.number] = keys[:end]
		keys = keys[min(end+1, len(keys)):]
	}
}

// A LabelSet is the numbers of the values of all keys, 16 bits each.
type LabelSet uint64

// Add adds a label to a set, if it is one that the build names. A label without a value is none.
func (t *Tree) Add(set LabelSet, key, value string) LabelSet {
	for k := range t.labels.number {
		if t.labels.keys[k] == key && value != "" {
			n := t.labels.value(k, cutValue(value))
			if n == moreValues {
				t.rec.Lost(layout.LostLabels)
			}
			set = set&^(moreValues<<(valueBits*k)) | LabelSet(n)<<(valueBits*k)
		}
	}
	return set
}

// cutValue returns what is kept of a value: at most maxLabelValue bytes, and no part of a character.
func cutValue(s string) string {
	if len(s) <= maxLabelValue {
		return s
	}
	end := maxLabelValue
	for end > maxLabelValue-4 && s[end]&0xc0 == 0x80 {
		end--
	}
	return s[:end]
}

// value returns the number of a value of key k, and keeps it if it is new.
func (l *Labels) value(k int, s string) uint16 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	hash := uint64(offset) + uint64(k)
	for i := range len(s) {
		hash = (hash ^ uint64(s[i])) * prime
	}
	for i := hash; ; i++ {
		v := &l.values[i%valuePlaces]
		switch {
		case v.number == 0 && l.known[k] == l.bound:
			return moreValues
		case v.number == 0:
			l.known[k]++
			*v = labelValue{number: l.known[k], key: uint16(k), len: uint32(len(s)), hash: hash}
			copy(v.text[:], s)
			return v.number
		case v.hash == hash && v.key == uint16(k) && v.string() == s:
			return v.number
		}
	}
}

func (v *labelValue) string() string { return unsafe.String(&v.text[0], int(v.len)) }

// ID returns the function ID of a set. When there are too many sets, each value of a new one is [layout.MoreValues].
func (t *Tree) ID(set LabelSet) uint64 {
	l := &t.labels
	if set == 0 {
		return layout.LabelsID(NoLabels)
	}
	if place, ok := l.find(set); ok {
		return layout.LabelsID(place)
	}
	if l.made >= maxSets {
		for k := range l.number {
			if more := LabelSet(moreValues) << (valueBits * k); set&more != 0 {
				set |= more
			}
		}
		t.rec.Lost(layout.LostLabels)
	}
	place, ok := l.find(set)
	if !ok {
		l.made++
		l.sets[place] = uint64(set)
	}
	return layout.LabelsID(place)
}

// find returns the place of a set, or the free one where it belongs.
func (l *Labels) find(set LabelSet) (place uint32, ok bool) {
	h := uint64(set) * 0x9e3779b97f4a7c15
	for i := uint32(h >> 48); ; i++ {
		switch l.sets[i%setPlaces] {
		case uint64(set):
			return i % setPlaces, true
		case 0:
			return i % setPlaces, false
		}
	}
}

// recordLabels writes the record of a set of labels.
func (t *Tree) recordLabels(id uint64) bool {
	l := &t.labels
	var words [2 * (layout.MaxLabels + 1)]string
	n := 0
	if depth := layout.LaneDepth(id); depth != 0 {
		words[0], words[1] = layout.LaneLabel, depthNames[depth]
		n = 2
	}
	set := uint64(0)
	if place := layout.LabelsOf(id); place != NoLabels {
		set = l.sets[place]
	}
	for k := range l.number {
		if v := uint16(set >> (valueBits * k)); v != 0 {
			words[n], words[n+1] = l.keys[k], l.text(k, v)
			n += 2
		}
	}
	return t.rec.RecordLabels(id, words[:n])
}

// depthNames are numbers as text: nothing here may allocate.
var depthNames = [layout.MaxDepth + 1]string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13",
	"14", "15"}

// text returns value number n of key k. It is for records, each of which is written once.
func (l *Labels) text(k int, n uint16) string {
	if n == moreValues {
		return layout.MoreValues
	}
	for i := range l.values {
		if v := &l.values[i]; v.number == n && v.key == uint16(k) {
			return v.string()
		}
	}
	return ""
}

// sameLabels returns the node of the same labels nearest to node n, outwards, or 0. Whether a measurement begins there
// makes no difference: for readers it is one set.
func (t *Tree) sameLabels(n uint32, id uint64) uint32 {
	for ; n != RootNode; n = t.outwards(n) {
		if f := t.node(n).Func; layout.IsLabels(f) && layout.WithoutBegin(f) == layout.WithoutBegin(id) {
			return n
		}
	}
	return 0
}

// LabelsAt returns the function ID of the labels that node n has, in the lane that it is in.
func (t *Tree) LabelsAt(n uint32) uint64 {
	for ; n != RootNode; n = t.outwards(n) {
		if id := t.node(n).Func; layout.IsLabels(id) {
			return layout.WithoutBegin(id)
		}
	}
	return layout.LabelsID(NoLabels)
}

// IsLabelled reports whether node n is of a function that is the outermost one below labels.
func (t *Tree) IsLabelled(n uint32) bool {
	up := t.node(n).Parent
	return t.isLabels(up) && !layout.BeginsLane(t.node(up).Func)
}

func (t *Tree) isLabels(n uint32) bool { return t.isNode(n) && layout.IsLabels(t.node(n).Func) }

// IsOf reports whether n, which may be any number, is a node of the function that begins at entry.
func (t *Tree) IsOf(n uint32, entry uint64) bool { return t.isNode(n) && t.ifEntry(n, entry) != 0 }

// Relabel returns the node that the function of node n has with other labels, in the same context. Labels is the node
// of these labels, 0 if the caller has them anyway. The function of a node below [overflow] stays there.
func (t *Tree) Relabel(n uint32, id uint64) (node, labels uint32) {
	m := t.meta(n)
	parent, k := t.callSite(n)
	if m == nil || k == layout.NoCell || parent < RootNode || parent >= n || parent == overflowNode {
		return n, 0
	}
	cell := CellOf(parent, int(k))
	if t.LabelsAt(parent) != id {
		labels = t.enter(cell, target{id: id, size: layout.LabelsSize, kind: layout.RecLabels})
		if t.inSink(labels) {
			return n, 0
		}
		cell = CellOf(labels, 0)
	}
	node = t.enter(cell, target{id: recorder.FuncID(m), size: m.NodeSize, meta: m})
	if t.inSink(node) {
		return n, 0
	}
	return node, labels
}

// RelabelBelow returns the node that the function of node n has when its caller, which has node caller, is at node now.
// It returns 0 if that is not its caller.
func (t *Tree) RelabelBelow(n, caller, now uint32) uint32 {
	m := t.meta(n)
	parent, k := t.callSite(n)
	if m == nil || k == layout.NoCell || parent != t.Home(caller) {
		return 0
	}
	node := t.enter(CellOf(now, int(k)), target{id: recorder.FuncID(m), size: m.NodeSize, meta: m})
	if t.inSink(node) {
		return 0
	}
	return node
}

// callSite returns the node that node n was called from, through which of its cells, whatever labels lie between. What
// is measured was called from where that begins.
func (t *Tree) callSite(n uint32) (parent, k uint32) {
	parent, k = t.node(n).Parent, t.node(n).Cell
	for parent > RootNode && parent < n && layout.IsLabels(t.node(parent).Func) &&
		!layout.BeginsLane(t.node(parent).Func) {
		n = parent
		parent, k = t.node(n).Parent, t.node(n).Cell
	}
	return parent, k
}
