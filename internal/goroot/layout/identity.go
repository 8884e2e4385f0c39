package layout

// What is no function, and has a node anyway, has a function ID by which it is known: the place of a fault,
// the allocations of a type, the waits for a reason, the running of goroutines, a metric of the program's own, the
// labels of a goroutine.

// faultShift is where the mark of a fault's function ID lies: the ID is the
// address of the instruction, shifted to keep the low three bits 0.
const faultShift = 62

// FaultID returns the function ID of a fault at pc.
func FaultID(pc uint64) uint64 { return 1<<faultShift | pc<<3 }

// IsFault reports whether a function ID is that of a fault. It is not for those of labels.
func IsFault(id uint64) bool { return id>>faultShift&1 != 0 }

// IsMarked reports whether a function ID is that of a fault, of allocations, waits or labels: there is no metadata.
func IsMarked(id uint64) bool { return id>>amountShift != 0 }

// FaultSize is the size of a fault's node.
const FaultSize = (NodeSize + CellSize + 7) &^ 7

// labelsShift is where the mark of the function ID of labels lies. No other function has an ID with this bit.
const labelsShift = 63

// LabelsID returns the function ID of a set of labels, which is a small number.
func LabelsID(set uint32) uint64 { return 1<<labelsShift | uint64(set+1)<<3 }

// LabelsOf returns the set of labels that a function ID is of.
func LabelsOf(id uint64) uint32 { return uint32(id)>>3 - 1 }

// IsLabels reports whether a function ID is that of labels.
func IsLabels(id uint64) bool { return id>>labelsShift != 0 }

// A node of labels can be in a lane: then what is below it is measured. The ID has the number of the lane, and how many
// measurements lie further out, in its upper half, so that the lower half is that of the labels alone. The node where a
// measurement begins is marked.
const (
	laneShift  = 32
	laneBits   = 16
	depthShift = laneShift + laneBits
	depthBits  = 4
	beginShift = depthShift + depthBits

	laneMask = (1<<(laneBits+depthBits) - 1) << laneShift

	// MaxLane is the highest number of a lane. 0 is none.
	MaxLane = 1<<laneBits - 1
	// MaxDepth is how many measurements can be inside each other.
	MaxDepth = 1<<depthBits - 1
)

// BeginLane returns the function ID of the node where a measurement begins in a lane, inside of labels with an ID. It
// is 0 if too many are inside each other.
func BeginLane(around uint64, lane uint32) uint64 {
	depth := LaneDepth(around) + 1
	if depth > MaxDepth {
		return 0
	}
	return around&^laneMask | uint64(lane)<<laneShift | depth<<depthShift | 1<<beginShift
}

// InLane returns the function ID of labels in the lane of others.
func InLane(id, of uint64) uint64 { return id&^laneMask | of&laneMask }

// SameLane reports whether labels with two IDs are in one lane, or in none.
func SameLane(a, b uint64) bool { return (a^b)&laneMask == 0 }

// LaneDepth returns how many measurements labels are in.
func LaneDepth(id uint64) uint64 { return id >> depthShift & MaxDepth }

// BeginsLane reports whether a function ID is that of a node where a measurement begins.
func BeginsLane(id uint64) bool { return IsLabels(id) && id>>beginShift&1 != 0 }

// WithoutBegin returns the function ID of the same labels in the same lane at another place.
func WithoutBegin(id uint64) uint64 { return id &^ (1 << beginShift) }

// LaneLabel is the key of the label that reports have for what was measured. Its value is the depth.
const LaneLabel = "stemma.Measure"

// A Measured is a node of the tree as the program itself is told of it; it is in no file.
type Measured struct {
	Func   uint64 // as in the node
	Offset uint32 // of the node
	Size   uint32 // its bytes
	Parent uint32 // as in the node
	Cell   uint32 // as in the node
}

// LabelsSize is the size of a node of labels, which has one cell.
const LabelsSize = FaultSize

// MaxLabels is how many keys of labels a program may have nodes for.
const MaxLabels = 4

// MoreValues is the value of a label instead of those that come when a key has too many.
const MoreValues = "…"

// amountShift is where the mark of the function ID of allocations and waits lies, waitShift that of those of waits. No
// function, and no fault, has an ID with the first bit.
const (
	amountShift = 61
	waitShift   = 60

	// AmountSize is the size of a node of allocations or waits, which has no cells.
	AmountSize = NodeSize
	// AmountCounters is how many counters a node of allocations or waits has.
	AmountCounters = 2
)

// Such a node has room for its counters.
const _ = uint(AmountSize - CounterSize*AmountCounters)

// AllocID returns the function ID of allocations of the type at address typ, 0 for
// memory without a type. No type lies at address 8: the lower half of an ID is never
// 0, as that of a table is before it has its tag.
func AllocID(typ uint64) uint64 { return 1<<amountShift | max(typ, 8) }

// UnknownID is the function ID of objects whose allocation was not counted, since the program had not begun. No type
// lies at address 16 either.
const UnknownID = 1<<amountShift | 16

// WaitID returns the function ID of waits for a reason, which is a small number.
func WaitID(reason uint64) uint64 { return 1<<amountShift | 1<<waitShift | (reason+1)<<reasonShift }

// WhyStart is the reason of waits of new goroutines, which a go statement has begun, and no other wait there is.
const WhyStart = "start"

// HeldID returns the function ID of waits of others for a reason that is a lock.
func HeldID(reason uint64) uint64 { return WaitID(reason | 1<<heldShift) }

// RunID is the function ID of the running of goroutines.
const RunID = 1<<amountShift | 1<<waitShift | 1<<runShift

// MetricID returns the function ID of a metric of the program's own, less than MaxMetrics.
func MetricID(metric uint32) uint64 {
	return 1<<amountShift | 1<<waitShift | 1<<metricShift | uint64(metric+1)<<reasonShift
}

// AddFunc is the function of package stemma that compiled code replaces by a call of the runtime. The number is the
// version of its arguments, see stemmaMetric in package runtime.
const AddFunc = "github.com/stemma-go/stemma.add1"

// A reason begins at reasonShift; heldShift is more bits than it has, or than a metric has, runShift and metricShift
// more than all of these.
const (
	reasonShift = 4
	heldShift   = 8
	runShift    = reasonShift + heldShift + 2
	metricShift = runShift + 1
)

// Hash is where the probe for a function begins in a table, before the mask.
// The probe in assembly computes the same.
func Hash(id uint64) uint32 { return uint32(id) * HashMul >> HashBits }

// What Hash and the assembly compute with.
const (
	HashMul  = 0x9E3779B1
	HashBits = 16
)
