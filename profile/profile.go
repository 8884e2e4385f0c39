// Package profile reads, writes, merges and checks the calling context trees
// that an instrumented program recorded.
//
// # Terminology
//
// A [Profile] holds the tree as it was recorded: physical nodes, one for each
// context of a compiled function. The calls that the compiler inlined and the
// natives that a function called are no nodes: the function's record describes
// them, and counters of its node count them. Package internal/cct expands nodes
// into logical contexts, as a stack trace shows them.
//
// A metric is one number for each node or counter, and a column has those of all nodes.
//
// A cell is one place of a function through which control may enter another
// node; a node is identified by its parent, its parent's cell and its function.
//
// # Formats
//
// A profile comes from a sealed file ([Read], [Profile.Write]), from the text form
// ([ParseText], [Profile.WriteText]), or from a live directory, which package
// internal/record reads. FORMAT.md specifies all three. No reader panics on any input.
// What a reader accepts satisfies [Profile.CheckValid].
package profile

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/internal/homes"
)

// None marks the absence of an inlined call, cell or counter.
const None = -1

// A Profile is the calling context tree of one process, or the sum of several, with
// any number of values for each node.
// Several goroutines may read it at once as long as none changes it.
// Its tables refer to each other by index, never by pointer, so that reading,
// merging and writing ten million nodes costs a few large allocations.
type Profile struct {
	Processes []Process
	Strings   []string // Strings[0] is ""
	Funcs     []Func   // Funcs[0] is the root's
	Nodes     []Node   // Nodes[0] is the root; a parent comes before its children
	Columns   []Column // the values of the nodes; no two have one name
	Requests  []Request
}

// A Process is where a profile comes from, and what it lacks.
type Process struct {
	Args      []string  // command line; Args[0] is the program
	Run       uint64    // run number: random, different for every start of a process; 0 if not known
	PID       int       // process ID
	Start     time.Time // start of the program
	GoVersion string
	Engine    string // how contexts were tracked, "cct"
	Full      bool   // recursion was not folded
	Checked   bool   // the program was built with the checker
	Losses    []Loss // what the program could not record, without zero entries
	Notes     []string
	Sampling  *Sampling // how it was sampled; nil if it was not
	Segment   *Segment  // which part of the run was read; nil if the program does not end segments
}

// A Segment is what a process recorded in a while, or all that it recorded, if it ends segments (STEMMA_ROTATE).
// Counts of different segments of a run add up.
type Segment struct {
	Number  uint64 // from 1 on; 0 if this is the whole run, with segments that were dropped
	Closed  uint64 // how many segments of the run had ended
	Dropped uint64 // how many of them the program had removed
	Failed  uint64 // how often it could not write one, and went on with it
	Began   time.Time
	Ended   time.Time // zero if it had not ended
}

// A Loss counts what was not recorded, by kind.
type Loss struct {
	Kind  string // one of the Loss constants, or that of LossWithout
	Count uint64
}

// Kinds of loss. The first thirteen are counted by the program, in the order of
// the Lost constants of package layout, the others by the reader of the live directory.
const (
	LossNodes       = "nodes"       // node creations past the node budget
	LossFuncs       = "funcs"       // functions without a record
	LossPages       = "pages"       // pages that the disk could not hold
	LossShards      = "shards"      // Ps whose counts have no file of their own, or have lost it
	LossTables      = "tables"      // targets of a call site that found no room in its table
	LossChecks      = "checks"      // records of the checker that were not written
	LossPaths       = "paths"       // searches for recursion that a lost page has cut short
	LossEdges       = "edges"       // back edges without a node: their calls count at the function's first node
	LossDeep        = "deep"        // checks that were left out because the stack was deep
	LossFaults      = "faults"      // faults, of debug.SetPanicOnFault, behind which inlined calls may be counted
	LossLabels      = "labels"      // labels that were set with a value beyond the bound of their key
	LossMetrics     = "metrics"     // metrics that the program made when it had as many as there may be
	LossNegative    = "negative"    // negative numbers that the program wanted added to a metric
	LossWaits       = "waits"       // goroutines whose last wait and run are not in the record
	LossIncomplete  = "incomplete"  // nodes that were being created
	LossUnread      = "unread"      // bytes of the tree behind an unknown function
	LossSampleNodes = "sampleNodes" // samples whose context had no room in the tree
	LossPlaces      = "places"      // addresses without a description
	LossTruncated   = "truncated"   // samples whose outermost frames were not found
	LossTraces      = "traces"      // samples lost because memory for a trace ran out
	LossMismatches  = "mismatches"  // incremental traces that differed from a full walk
	LossUnreadable  = "unreadable"  // nodes whose function or parent was on a lost page
	LossRequests    = "requests"    // samples that the program asked for, and that have given way to newer ones
)

// lossWithout begins the kind of a loss that a sum has where not all of its processes have a metric.
const lossWithout = "without "

// LossWithout returns the loss of a process that was recorded without a metric that others have in the same sum.
func LossWithout(metric string) Loss { return Loss{lossWithout + metric, 1} }

// Without returns the metric that processes were recorded without, if l is a loss of that kind; its count is that of
// processes.
func (l Loss) Without() (metric string, ok bool) { return strings.CutPrefix(l.Kind, lossWithout) }

// Spoils reports whether the loss makes a value less than it should be, or puts some of it elsewhere. A loss of an
// unknown kind does.
func (l Loss) Spoils(t Metric) bool {
	if metric, ok := l.Without(); ok {
		return t.Name == metric
	}
	switch l.Kind {
	case LossChecks, LossDeep, LossLabels, LossMetrics, LossIncomplete, LossPlaces, LossRequests:
		return false
	case LossNegative:
		return t.Own()
	case LossWaits:
		return t == Wait || t == Waits || t == Run || t == Goroutines
	case LossSampleNodes, LossTraces, LossMismatches:
		return t.Sampled
	case LossFaults:
		return t.PerCounter || t.Weighted // inlined calls, and what is computed from them
	case LossTruncated: // each sample is in the function that it belongs to, or was lost otherwise
		return false
	}
	return true
}

// A FuncKind is what a Func stands for.
type FuncKind uint8

// Kinds of functions.
const (
	FuncOrdinary FuncKind = iota // a compiled function
	FuncRoot                     // the root; its cells are the named roots
	FuncOverflow                 // the node under which contexts past the budget hang
	FuncFault                    // a place where a run-time error rose
	FuncPlace                    // an address at which a stack was sampled
	FuncAlloc                    // the allocations of a type; its name is the type, "" for memory without a type
	FuncWait                     // the time that goroutines did not run; its name is the reason
	FuncDelay                    // the time that others waited for a lock; its name is the kind of lock
	FuncRun                      // the time that goroutines ran; its name is "goroutine"
	FuncExisting                 // goroutines that exist; its name is why they do not run
	FuncLabels                   // labels of a goroutine that runs what is below; see [Func.Frames]
	FuncMetric                   // a metric of the program's own; its name is the metric's, its file the unit
	numFuncKinds
)

// Amount reports whether functions of the kind stand for what the runtime counts for a call site, and call nothing.
func (k FuncKind) Amount() bool { return FuncAlloc <= k && k <= FuncExisting || k == FuncMetric }

// Flags of a Func.
const (
	FuncWrapper = 1 << 0 // compiler-generated; not part of contexts
	FuncAsm     = 1 << 1 // stands for a function in assembly
	FuncAdapter = 1 << 2 // only passes a call on, to its receiver, an argument or a variable that it captures
	FuncNew     = 1 << 3 // an adapter, or a wrapper with something inlined; older records lack it
	funcFlags   = FuncWrapper | FuncAsm | FuncAdapter | FuncNew
)

// A Func describes a compiled function. Names and files are indexes into
// Profile.Strings. Two functions of a profile may have the same name.
type Func struct {
	Name     uint32 // symbol name, as the linker knows it
	File     uint32
	Line     uint32 // of the func keyword, 0 if not known
	Cells    uint32 // number of cells
	Counters uint32 // number of counters, at least 1: counter 0 counts invocations; 0 for a FuncPlace
	Kind     FuncKind
	Flags    uint8
	Inlined  []Inlined
	Sites    []Site
	Weights  []Weight
	// Placed has for each counter of operations, in the order in which the compiler has placed them, the counter that
	// it has become, or None. A build for another machine places the same (package costmodel).
	Placed []int32
	// Of a FuncFault or FuncPlace only, innermost first. The frames of a FuncLabels are its labels: Func is a key,
	// File its value.
	Frames []Frame
}

// A Weight converts a counter to operations: each count stands for N operations of a class in an inlined call. A
// negative N takes away from other weights.
type Weight struct {
	Counter uint32
	Inlined int32  // an index into the function's Inlined, or None
	Class   uint32 // an index into [OpClasses]
	N       int32
}

// OpClasses are the words for classes of operations.
func OpClasses() []string { return layout.OpClassNames[:] }

// IsOperation reports whether a class is one of operations. Only tables of costs need the others, and class counted,
// which has all operations once more, as they are the same on all machines.
func IsOperation(class uint32) bool { return layout.OpClass(class).IsOperation() }

// CountedClass returns the class of the operations that count in the function, or [AnyClass] in a record of stemma 0.1,
// where those of any class count that are operations.
func (f *Func) CountedClass() uint32 {
	for _, w := range f.Weights {
		if layout.OpClass(w.Class) == layout.OpCounted {
			return w.Class
		}
	}
	return AnyClass
}

// AnyClass is no class of operations, see [Func.CountedClass].
const AnyClass = ^uint32(0)

// An Inlined is a call that the compiler inlined into a function.
type Inlined struct {
	Parent  int32  // the inlined call around it, less than its own index; or None
	Callee  uint32 // symbol name
	File    uint32 // where the call is
	Line    uint32
	Counter int32 // or None

	CalleeFile uint32 // 0 if not known
	CalleeLine uint32 // of the callee's func keyword, 0 if not known
}

// A SiteKind is how a call site calls.
type SiteKind uint8

// Kinds of call sites; the numbers are those of package layout.
const (
	SiteCall        SiteKind = iota + 1 // a call of a function that counts itself
	SiteGo                              // a go statement
	SiteDefer                           // a deferred call, made at the function's exit
	SiteNative                          // a call of a native, counted at the site
	SitePanic                           // panic or Goexit: deferred calls run below it
	SiteDeferReturn                     // runtime.deferreturn: deferred calls run below it
	SiteUnknown                         // counted at the site, and by the callee if it counts itself
	numSiteKinds
)

// A Site is a call site of a compiled function.
type Site struct {
	Kind    SiteKind
	Inlined int32 // the innermost inlined call that it is in, or None
	File    uint32
	Line    uint32
	Callee  uint32 // symbol name, 0 if not known statically
	Cell    int32  // or None
	Counter int32  // or None
}

// A Frame is one line of a stack trace. The name of a function in brackets, as
// [truncated], stands for frames that are not known.
type Frame struct {
	Func, File uint32
	Line       uint32
	Start      uint32 // line of the func keyword, 0 if not known
}

// A Node is one physical context.
type Node struct {
	Func   uint32 // index into Funcs
	Parent uint32 // index into Nodes, less than the node's own; the root's is 0
	Cell   uint32 // of the parent
	First  uint32 // index of counter 0 in columns that have a value for each counter
}

// Homes returns for each node the node under which its callees hang. That is the node
// itself, except for a back edge when recursion is folded: the function of a back edge is
// on the path already, and its home is the nearest node of that function there. The node of
// a function with FuncNew is a back edge only if nothing between is new to the path: a
// function that is no adapter or wrapper, or the first of one with FuncNew. That of another
// adapter or wrapper is one only if nothing but these lies between.
func (p *Profile) Homes() []uint32 {
	list := make([]uint32, len(p.Nodes))
	for i := range list {
		list[i] = uint32(i)
	}
	if p.Full() || len(p.Nodes) == 0 {
		return list
	}
	path := homes.New(len(p.Funcs))
	labels := make(map[uint32]uint32) // the nodes of labels on the way
	homes.Walk(len(p.Nodes)-1, func(n uint32) uint32 { return p.Nodes[n].Parent }, func(n uint32) {
		f := p.Nodes[n].Func
		list[n] = list[path.Enter(n, f, p.Funcs[f].recursion())]
		if p.Funcs[f].Kind != FuncLabels {
			return
		}
		if list[n] = cmp.Or(labels[f], n); list[n] == n {
			labels[f] = n
			path.Cut(n)
		}
	}, func(n uint32) {
		path.Leave()
		if f := p.Nodes[n].Func; p.Funcs[f].Kind == FuncLabels && labels[f] == n {
			delete(labels, f)
		}
	})
	return list
}

// recursion returns what f is to package fold.
func (f *Func) recursion() fold.Kind {
	if f.Kind != FuncOrdinary {
		return fold.None
	}
	return fold.KindOf(f.Flags&(FuncAdapter|FuncWrapper) != 0, f.Flags&FuncNew != 0)
}

// String returns string i of the table in a form that is safe to print, see [Printable],
// or "" if there is none.
func (p *Profile) String(i uint32) string {
	if uint64(i) < uint64(len(p.Strings)) {
		return Printable(p.Strings[i])
	}
	return ""
}

// Lost returns the losses of all processes, added up by kind, in the order in
// which the kinds first appear.
func (p *Profile) Lost() []Loss {
	var sum []Loss
	for _, proc := range p.Processes {
		for _, l := range proc.Losses {
			sum = AddLoss(sum, l)
		}
	}
	return sum
}

// AddLoss adds l to the entry of its kind. Kinds are strings rather than numbers,
// so that a reader keeps and shows those of a later version.
func AddLoss(losses []Loss, l Loss) []Loss {
	if l.Count == 0 {
		return losses
	}
	for i := range losses {
		if losses[i].Kind == l.Kind {
			losses[i].Count += l.Count
			return losses
		}
	}
	return append(losses, l)
}

// Full reports whether recursion was recorded at every level.
func (p *Profile) Full() bool {
	return len(p.Processes) > 0 && p.Processes[0].Full
}

// CellSites returns for each cell of f the index of the site that it belongs
// to, or None.
func (f *Func) CellSites() []int32 {
	sites := make([]int32, f.Cells)
	for c := range sites {
		sites[c] = None
	}
	for i, s := range f.Sites {
		if s.Cell >= 0 {
			sites[s.Cell] = int32(i)
		}
	}
	return sites
}

// funcKindNames and siteKindNames are the words that files have for kinds.
var (
	funcKindNames = []string{"ordinary", "root", "overflow", "fault", "place", "alloc", "wait", "delay", "run",
		"existing", "labels", "metric"}
	siteKindNames = []string{"none", "call", "go", "defer", "native", "panic", "deferreturn", "unknown"}
)

// String returns the word that the text form has for k.
func (k FuncKind) String() string {
	if k < numFuncKinds {
		return funcKindNames[k]
	}
	return fmt.Sprintf("FuncKind(%d)", uint8(k))
}

// String returns the word that the text form has for k.
func (k SiteKind) String() string {
	if k > 0 && k < numSiteKinds {
		return siteKindNames[k]
	}
	return fmt.Sprintf("SiteKind(%d)", uint8(k))
}
