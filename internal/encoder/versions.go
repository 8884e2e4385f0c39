package encoder

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"unsafe"
)

// A LogKind is a kind of [LogEntry].
type LogKind uint8

// The kinds of log entries.
const (
	LogEdge   LogKind = iota // Call is an edge from now on
	LogNumCC                 // numCC of Func is Value
	LogCaller                // lv: what Func calls in this version, it calls from a frame of version Version
	LogRebase                // the path of this version begins with Call, whose caller has id Value and version Version
)

// A LogEntry is one change of Lucce's graph. Entry i makes version i+1.
type LogEntry struct {
	Kind    LogKind
	Func    Func
	Call    Call
	Value   uint64
	Version uint32
}

// size returns the bytes that e takes in a log of variable-length integers.
func (e LogEntry) size() uint64 {
	switch e.Kind {
	case LogEdge:
		return 1 + uvarint(uint64(e.Call.Site)) + uvarint(uint64(e.Call.Func))
	case LogNumCC:
		return 1 + uvarint(uint64(e.Func)) + uvarint(e.Value)
	case LogCaller:
		return 1 + uvarint(uint64(e.Func)) + uvarint(uint64(e.Version))
	}
	return 1 + uvarint(uint64(e.Call.Site)) + uvarint(uint64(e.Call.Func)) + uvarint(e.Value) +
		uvarint(uint64(e.Version))
}

// uvarint returns the length of x as encoding/binary writes it.
func uvarint(x uint64) uint64 { return uint64(bits.Len64(x|1)+6) / 7 }

// A versionedGraph answers for every version of Lucce's graph. It keeps the graph's
// log and, for each function, its history. A question costs a binary search.
type versionedGraph struct {
	p     *Program
	limit uint64 // sums stop here
	log   []LogEntry
	funcs []funcHistory
	edges int
	bytes uint64                   // of the log
	sums  map[funcVersion][]uint64 // see addValues
}

// A funcHistory is what the versions know of a function: in-edges and values of
// numCC in the order in which they came.
type funcHistory struct {
	in    []versionedEdge
	numCC []versionedNumCC
}

type versionedEdge struct {
	call  Call
	since uint32
}

type versionedNumCC struct {
	value uint64
	since uint32
}

type funcVersion struct {
	f Func
	v uint32
}

// maxSums bounds the addition values that are remembered.
const maxSums = 1 << 14

func newVersionedGraph(p *Program, limit uint64) *versionedGraph {
	return &versionedGraph{p: p, limit: limit, sums: make(map[funcVersion][]uint64)}
}

// version returns the newest version.
func (g *versionedGraph) version() uint32 { return uint32(len(g.log)) }

// record appends an entry. Without an error the new version can be decoded: what
// leads to a function first does not come from that function itself.
func (g *versionedGraph) record(e LogEntry) error {
	g.grow()
	v := g.version() + 1
	switch e.Kind {
	case LogEdge:
		if !g.isCall(e.Call) || !g.known(g.p.Sites[e.Call.Site].Caller) {
			return fmt.Errorf("log entry %d: no edge can lead from site %d to function %d", v-1, e.Call.Site,
				e.Call.Func)
		}
		h := &g.funcs[e.Call.Func]
		h.in = append(h.in, versionedEdge{e.Call, v})
		g.edges++
	case LogNumCC:
		if int(e.Func) >= len(g.funcs) || e.Func == Root || e.Value == 0 || e.Value != g.sum(e.Func) {
			return fmt.Errorf("log entry %d: numCC of function %d cannot be %d", v-1, e.Func, e.Value)
		}
		h := &g.funcs[e.Func]
		h.numCC = append(h.numCC, versionedNumCC{e.Value, v})
	default:
		if e.Version >= v || e.Kind == LogRebase && !g.isCall(e.Call) || e.Kind > LogRebase {
			return fmt.Errorf("log entry %d: version %d is not older, or there is no such call", v-1, e.Version)
		}
	}
	g.log = append(g.log, e)
	g.bytes += e.size()
	return nil
}

// grow makes room for functions that the program has got.
func (g *versionedGraph) grow() {
	if n := g.p.Funcs - len(g.funcs); n > 0 {
		g.funcs = append(g.funcs, make([]funcHistory, n)...)
	}
}

// isCall reports whether the program has the two ends of c.
func (g *versionedGraph) isCall(c Call) bool {
	return int(c.Site) < len(g.p.Sites) && int(c.Func) < len(g.funcs) && c.Func != Root
}

// known reports whether f can be reached in the newest version.
func (g *versionedGraph) known(f Func) bool { return f == Root || len(g.funcs[f].in) > 0 }

// numCC returns numCC(f) in version v, 0 if f was not known.
func (g *versionedGraph) numCC(f Func, v uint32) uint64 {
	if f == Root {
		return 1
	}
	n, _ := g.numbered(f, v)
	return n.value
}

// numbered returns the last numbering of f's in-edges up to version v.
func (g *versionedGraph) numbered(f Func, v uint32) (versionedNumCC, bool) {
	list := g.funcs[f].numCC
	i, found := slices.BinarySearchFunc(list, v,
		func(n versionedNumCC, v uint32) int { return cmp.Compare(n.since, v) })
	if !found {
		i--
	}
	if i < 0 {
		return versionedNumCC{}, false
	}
	return list[i], true
}

// edge returns the place of c among the in-edges of its callee.
func (g *versionedGraph) edge(c Call) (int, bool) {
	for i, e := range g.funcs[c.Func].in {
		if e.call == c {
			return i, true
		}
	}
	return 0, false
}

// addValues returns the addition values that f's in-edges have in version v, and
// behind them numCC(f): those that they got when f was numbered last, by what numCC
// of the callers was before that. "Before" matters if f calls itself: an edge
// behind the recursive one could never have an id below numCC(f) otherwise.
func (g *versionedGraph) addValues(f Func, v uint32) []uint64 {
	n, ok := g.numbered(f, v)
	if !ok {
		return []uint64{0}
	}
	key := funcVersion{f, n.since}
	sums, ok := g.sums[key]
	if !ok {
		if len(g.sums) >= maxSums {
			clear(g.sums)
		}
		sums = g.compute(f, n.since-1)
		g.sums[key] = sums
	}
	return sums
}

// compute adds up numCC of f's callers in version v.
func (g *versionedGraph) compute(f Func, v uint32) []uint64 {
	sums := []uint64{0}
	var total uint64
	for _, e := range g.funcs[f].in {
		if e.since > v {
			break
		}
		total = g.add(total, g.numCC(g.p.Sites[e.call.Site].Caller, v))
		sums = append(sums, total)
	}
	return sums
}

// sum returns what numCC(f) is if f is numbered now.
func (g *versionedGraph) sum(f Func) uint64 {
	sums := g.compute(f, g.version())
	return sums[len(sums)-1]
}

// interval returns the ids that the callee of c has in version v, from av up to
// but not including end, if it is entered by c.
func (g *versionedGraph) interval(c Call, v uint32) (av, end uint64, ok bool) {
	sums := g.addValues(c.Func, v)
	i, ok := g.edge(c)
	if !ok || i+1 >= len(sums) {
		return 0, 0, false
	}
	return sums[i], sums[i+1], true
}

// add returns a+b, but at most the limit.
func (g *versionedGraph) add(a, b uint64) uint64 {
	if b > g.limit-a {
		return g.limit
	}
	return a + b
}

// next returns the interval that c gets when its callee is numbered now.
func (g *versionedGraph) next(c Call) (av, end uint64) {
	sums := g.compute(c.Func, g.version())
	i, _ := g.edge(c)
	return sums[i], sums[i+1]
}

// prev returns the in-edge of n from which id c comes in version v, and its
// addition value: the last one whose value is not greater (section 2).
func (g *versionedGraph) prev(n Func, c uint64, v uint32) (Call, uint64, error) {
	if int(n) >= len(g.funcs) || c >= g.numCC(n, v) {
		return Call{}, 0, fmt.Errorf("version %d: %w", v, unknownID(n, c))
	}
	sums := g.addValues(n, v)
	// The last element is numCC. Values are equal only at the limit, above all ids.
	i, _ := slices.BinarySearchFunc(sums[:len(sums)-1], c, func(av, c uint64) int {
		if av <= c {
			return -1
		}
		return 1
	})
	return g.funcs[n].in[i-1].call, sums[i-1], nil
}

// maxPath bounds the calls of a context, which only one that was never handed out
// can pass: recursion can lead from it through as many calls as it has ids.
const maxPath = 1 << 24

// decode returns the calls that led to n with id c in version v, outermost first:
// De in section 5.
func (g *versionedGraph) decode(n Func, c uint64, v uint32) ([]Call, error) {
	if v > g.version() {
		return nil, fmt.Errorf("there is no version %d", v)
	}
	var calls []Call
	for n != Root {
		if len(calls) == maxPath {
			return nil, fmt.Errorf("version %d: more than %d calls lead to function %d", v, maxPath, n)
		}
		var last LogEntry
		if v > 0 {
			last = g.log[v-1]
		}
		if g.begins(v, n, c) {
			calls = append(calls, last.Call)
			n, c, v = g.p.Sites[last.Call.Site].Caller, last.Value, last.Version
			continue
		}
		call, av, err := g.prev(n, c, v)
		if err != nil {
			return nil, err
		}
		calls = append(calls, call)
		n, c = g.p.Sites[call.Site].Caller, c-av
		if last.Kind == LogCaller && last.Func == n && v > 0 {
			v = last.Version
		}
	}
	if c != 0 {
		return nil, fmt.Errorf("id %d is left at the root", c)
	}
	return reversed(calls), nil
}

// begins reports whether n with id c is where version v was rebased.
func (g *versionedGraph) begins(v uint32, n Func, c uint64) bool {
	if v == 0 || c != 0 {
		return false
	}
	last := g.log[v-1]
	return last.Kind == LogRebase && last.Call.Func == n
}

// memory estimates the bytes of the graph and its log.
func (g *versionedGraph) memory() uint64 {
	sum := uint64(len(g.log)) * uint64(unsafe.Sizeof(LogEntry{}))
	for _, h := range g.funcs {
		sum += uint64(unsafe.Sizeof(h)) + uint64(len(h.in))*uint64(unsafe.Sizeof(versionedEdge{})) +
			uint64(len(h.numCC))*uint64(unsafe.Sizeof(versionedNumCC{}))
	}
	return sum
}
