package ids

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// A Dacce encodes calling contexts: it knows the edges <p,n,l> that were seen, and the ids that
// the current epoch gives them. It is an adaption of DACCE (Li et al., CGO'14) in which the
// callee, not the caller, finds out that an edge is not encoded; see Plan for the encoding.
//
// Its methods must be called under the lock of the Contexts, unless they say otherwise.
type Dacce struct {
	*Contexts
	epoch, epochsUsed uint64      // as in the header, which may be lost
	epochs            memory.Span // the dictionaries
	codes             []code      // by function
	calls             []call      // by site
	edges             []layout.SeenEdge
	codeMem           memory.Span // of the three
	callMem, edgeMem  memory.Span
	numEdges, maxEdge uint32
	targets           index  // edges by site and target
	internals         index  // interned entries by contents
	begunEpochs       uint64 // bytes of dictionaries that the segment began with
	pushed            uint64 // pushes that were counted in segments that have ended
	rewritten         uint64 // frames that Rewrite has seen, since the program began
	missed            uint64 // what another encoding would have spared since the last snapshot, see Missed
	plan              plan
	fixed             bool // see Fix
}

// A code is what the current epoch gives a function.
type code struct{ key, num uint32 }

// A call is what is known of a call site, and what the current epoch gives it.
type call struct {
	add     uint32 // or NoAddition
	target  uint32 // the function that a static site calls, the key for a dynamic one
	first   uint32 // the first function that it called, 0 if it was not seen
	dynamic bool
	keyed   bool // target is a key
}

// Sizes of the memory that Init needs.
const (
	EpochsSize = 1 << 30 // bytes of the dictionaries, a span
	maxEdges   = 1 << 20
)

// Init makes d an encoder on top of c, which is initialised, that writes its dictionaries to
// epochs, of EpochsSize>>shift zero bytes.
func (d *Dacce) Init(c *Contexts, epochs unsafe.Pointer, shift uint) {
	*d = Dacce{Contexts: c, epochs: memory.NewSpan(epochs, EpochsSize>>shift), maxEdge: scaled(maxEdges, shift)}
	d.codes = tableOf[code](&c.mem, &d.codeMem, c.max.funcs)
	d.calls = tableOf[call](&c.mem, &d.callMem, c.max.sites)
	d.edges = tableOf[layout.SeenEdge](&c.mem, &d.edgeMem, d.maxEdge)
	needs(&d.codeMem, d.codes, 1)
	d.plan.init(d)
}

// Stats returns what only this engine counts.
func (c *Dacce) Stats() *layout.DacceHeader { return &c.Header().Dacce }

// Epoch returns the current epoch.
//
//go:nosplit
func (c *Dacce) Epoch() uint64 { return c.epoch }

// UsedEpochs returns the bytes of epochs that are in use.
func (c *Dacce) UsedEpochs() uint64 { return c.epochsUsed }

// NearlyFull is that of the Contexts, or of the memory of dictionaries. It may be called without the lock.
func (c *Dacce) NearlyFull() bool {
	return c.Contexts.NearlyFull() || nearlyFull(c.epochsUsed, c.begunEpochs, c.epochs.Size())
}

// Begun notes that the segment has all that it has of the one before.
func (c *Dacce) Begun() {
	c.Contexts.Begun()
	c.begunEpochs = c.epochsUsed
}

// Enter makes the function with the given data known, if it is not. It returns
// its index, or 0 if there are too many functions. isNew tells that the record
// of its return addresses is to be written, behind its own.
func (c *Dacce) Enter(data uintptr) (f uint32, isNew bool) {
	if f = uint32(dataAt(data).Index); f != 0 {
		return f, false
	}
	first, cells := c.numSites, metaAt(dataAt(data).Func).Cells
	if !needs(&c.codeMem, c.codes, c.numFuncs+1) || !needs(&c.callMem, c.calls, first+cells) {
		return c.refuse()
	}
	if f, isNew = c.enter(data); f == 0 {
		return 0, false
	}
	for k := range cells {
		c.calls[first+k] = call{add: layout.NoAddition, dynamic: *word(avOf(data, k))&layout.Dynamic != 0}
		if c.fixed {
			c.fixSite(first + k)
		}
	}
	return f, isNew
}

// Refused returns the word of a function whose context is cut: the ccStack is full, or there was no room for the
// function. No entry of a ccStack belongs to it.
func (c *Dacce) Refused() uint64 {
	c.Header().Truncated++
	return layout.MaxDeep
}

// Called returns the word of the function with the data target, called from the frame f, whose own
// word is w: if the edge is encoded, by addition, else by a push. through says that
// other functions lie between the two. It counts the edge hits times, so that a
// later plan may encode it.
func (c *Dacce) Called(st *Stack, w uint64, f *Frame, target uintptr, through bool, hits uint64) uint64 {
	s, ok := c.cell(f)
	if ok {
		r := w + c.addition(s) - dataAt(target).Key
		if r < dataAt(target).Limit {
			return r
		}
		if t := uint32(dataAt(target).Index); hits != 0 && t != 0 {
			c.count(s, t, f.PC, r>>layout.WordKey == 0 && dataAt(target).Limit != 0, through, hits)
		}
	}
	kind := uint32(layout.InternCall)
	if f.Site < 0 {
		kind = layout.InternFault
	}
	return c.Push(st, w, uint64(f.PC), dataAt(target).Func, kind)
}

// count counts calls from site s, with the return address pc, to function target that are pushed. over says that it
// is a loop which has no more ids: no epoch would spare that, so one call is not counted, but what stands for many.
func (c *Dacce) count(s, target uint32, pc uintptr, over, through bool, hits uint64) {
	pushed := c.addition(s)>>layout.WordKey == layout.KeyPush
	switch {
	case over && hits == 1, !over && !pushed && hits != 1: // such calls are counted each, none stands for others
		return
	case over || pushed:
		c.missed += hits & 1 // pushes are counted on their own
		c.saw(s, target, hits)
	default:
		c.missEdge(s, target, pc)
	}
	c.calls[s].dynamic = c.calls[s].dynamic || through
}

// missEdge counts a call from site s, with the return address pc, to function target, which the current epoch does not
// encode. From the first time on assembly counts it there and pushes it without the lock. Each SeenEdgeStep-th comes
// here, and is counted already.
func (c *Dacce) missEdge(s, target uint32, pc uintptr) {
	c.missed++
	e := c.saw(s, target, 0)
	if e == nil {
		return
	}
	at, here := c.learnt(pc), uint64(uintptr(unsafe.Pointer(e)))
	if at != nil && at.Edge == here && e.Hits%layout.SeenEdgeStep == 0 {
		c.missed += stepMisses - 1
		return
	}
	e.Hits++
	if at != nil {
		memory.StoreRel64(&at.Edge, here)
	}
}

// Left returns the word that the call in the frame f leaves for its callee. ok is false if the frame has no word, or
// the call no cell.
func (c *Dacce) Left(f *Frame) (w uint64, ok bool) {
	s, ok := c.cell(f)
	if !ok || f.Slot == 0 {
		return 0, false
	}
	return *word(f.Slot) + c.addition(s), true
}

// addition returns the addition value of site s.
func (c *Dacce) addition(s uint32) uint64 { return *word(c.av(s)) }

// saw counts the edge from site s to function target, and returns it, or nil if there is no room for it.
func (c *Dacce) saw(s, target uint32, hits uint64) *layout.SeenEdge {
	hash := func(e uint32) uint32 { return mix(uint64(c.edges[e].Site), uint64(c.edges[e].Target)) }
	if !c.targets.grow(&c.mem, hash) {
		return nil
	}
	h := mix(uint64(s), uint64(target))
	for ; ; h++ {
		i := *c.targets.at(h)
		if i == 0 {
			break
		}
		if e := &c.edges[i]; e.Site == s && e.Target == target {
			e.Hits += hits
			return e
		}
	}
	if c.numEdges+1 >= c.maxEdge || !needs(&c.edgeMem, c.edges, c.numEdges+2) {
		return nil
	}
	c.numEdges++
	c.edges[c.numEdges] = layout.SeenEdge{Site: s, Target: target, Hits: hits}
	*c.targets.at(h) = c.numEdges
	c.targets.num++
	if c.calls[s].first == 0 {
		c.calls[s].first = target
	} else {
		c.calls[s].dynamic = true // whatever the compiler thought
	}
	c.Header().Edges = uint64(c.numEdges)
	return &c.edges[c.numEdges]
}
