package ssa

import (
	"cmd/compile/internal/base"
	"cmd/compile/internal/ir"
	"cmd/compile/internal/types"
	"cmd/internal/src"
	"container/heap"
	rec "internal/runtime/stemma/layout"
	"slices"
	"strings"
)

// Operations are counted instead of bytecodes (CCCP, section 5.1).
// What a block executes of them is known early, where it is the same for all machines (stemmaCounted). How often it
// runs follows from counters on some of the edges of the flow graph: those that a spanning tree leaves out (Knuth and
// Stevenson, 1973; Ball and Larus, 1994). The tree leads from each block to the function's exit, so that an invocation
// that never comes to an end, or is left by a panic, counts as if it had gone on along the tree: no count is negative.
// An edge need not have a counter of its own where those behind its block count each execution (stemmaFlow.passes).
// The compiler solves the equations. What the reader gets is a weight for each counter:
// operations, in an inlined call, each time.
//
// What a block costs is known when its generic SSA is final: before write barriers, which depend on the collector, and
// before the back end. Blocks have been joined then, and some are gone; none is new but those that have counters.

// A StemmaWeight says what an increment of a counter stands for. N is negative where the edge that the counter is
// on is cheaper than the way that the tree knows.
type StemmaWeight struct {
	Counter int
	StemmaOps
	N int
}

// StemmaOps are operations of one class, in an inlined call: an index in the inlining tree, or -1.
type StemmaOps struct {
	Inlined int
	Class   rec.OpClass
}

// stemmaCountOps adds the counters that tell how often each block is executed. It runs before arguments of calls are
// those of a machine.
func stemmaCountOps(f *Func) {
	if !f.Stemma.Ops {
		return
	}
	node := stemmaNodeOf(f)
	if node == nil && !f.Stemma.Plain {
		return
	}
	stemmaDropCounts(f)
	stemmaSettle(f)
	f.invalidateCFG()
	g := newStemmaFlow(f, node)
	f.Stemma.First = f.Stemma.Number
	if f.Stemma.Each {
		g.each()
	} else {
		g.grow()
		g.choose()
	}
	f.Stemma.Flow = g
	if len(g.counts) > 0 && !f.Stemma.Plain {
		f.invalidateCFG()
		stemmaIncrement(f, node, g.counts)
		copyelim(f)
		deadcode(f) // the next passes take what is left of memory for something that is done
	}
}

// stemmaSettle makes the flow graph what it is without counters. Blocks may have been there for these alone, and what
// was known to come from them without being evaluated.
func stemmaSettle(f *Func) {
	for settled := false; !settled; {
		deadcode(f)
		fuseEarly(f)
		deadcode(f)
		settled = true
		for _, b := range f.Blocks {
			if b.Kind != BlockIf || b.Controls[0].Op != OpConstBool {
				continue
			}
			if b.Controls[0].AuxInt == 0 {
				b.swapSuccessors()
			}
			b.Kind, b.Likely, settled = BlockFirst, BranchUnknown, false
			b.ResetControls()
		}
	}
}

// stemmaWeigh says what the counters of operations stand for, when it is known what blocks cost.
func stemmaWeigh(f *Func) {
	g, node := f.Stemma.Flow, stemmaNodeOf(f)
	if g == nil || node == nil {
		return
	}
	deadcode(f) // of what passes have put together there are the parts
	own := stemmaOwn(f, node)
	c := newStemmaCosts(f, own)
	for _, b := range f.Blocks {
		g.costs[b.ID] = g.costsOf(b, own, c)
	}
	clear(g.ways)
	for _, s := range g.stands {
		var weights []stemmaN
		if f.Stemma.Each {
			weights = g.of(s.from)
		} else {
			weights = g.between(s.from, s.to)
		}
		for _, counter := range s.counters {
			for _, w := range weights {
				f.Stemma.Weights = append(f.Stemma.Weights, StemmaWeight{counter, w.StemmaOps, w.n})
			}
		}
	}
}

// stemmaNodeOf returns the node at entry, which counter 0 is counted in.
func stemmaNodeOf(f *Func) *Value {
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if stemmaCounterOf(v) != 0 {
				continue
			}
			return v.Args[0]
		}
	}
	return nil
}

// A stemmaFlow is the flow graph of a function with the tree of edges that are not counted. A block's counter
// lies at its beginning, so an operation is counted when its block is entered. Blocks are known by their IDs, since
// some go before weights are made.
type stemmaFlow struct {
	f      *Func
	next   map[ID]ID        // the tree: where each block leads; stemmaExit is the exit
	depth  map[ID]int       // of a block in the tree
	ops    map[ID][]stemmaN // what a block executes, by families
	costs  map[ID][]stemmaN // what it costs, by classes
	counts map[*Block]int   // the counters that are at the beginning of blocks
	stands []stemmaStands
	edges  map[ID][]stemmaWay // where each block led, see stemma_machine.go
	ways   map[ID][]stemmaN   // see way; forgotten when blocks have something else
}

// stemmaExit is where the tree ends.
const stemmaExit ID = -1

// A stemmaStands says what it stands for that an edge of block at is taken: the way of the tree from one block, less
// that from another one. One of its counters is incremented each time.
type stemmaStands struct {
	counters []int
	at       ID
	from, to ID
}

// A stemmaN is a number of operations.
type stemmaN struct {
	StemmaOps
	n int
}

func newStemmaFlow(f *Func, node *Value) *stemmaFlow {
	return &stemmaFlow{f: f, next: map[ID]ID{}, depth: map[ID]int{}, ops: stemmaCounted(f, stemmaOwn(f, node)),
		costs: map[ID][]stemmaN{}, counts: map[*Block]int{}, edges: map[ID][]stemmaWay{}, ways: map[ID][]stemmaN{}}
}

// stemmaSuccs calls do for the edges of b that programs have: not that to the slow path of function entry.
func stemmaSuccs(b *Block, do func(i int, to *Block)) {
	for i, e := range b.Succs {
		if len(b.Succs) == 1 || !stemmaIsSlowGeneric(e.b) {
			do(i, e.b)
		}
	}
}

// stemmaIsSlowGeneric is [stemmaIsSlow] before the back end.
func stemmaIsSlowGeneric(b *Block) bool {
	for _, v := range b.Values {
		if stemmaCallsSlow(v) {
			return true
		}
	}
	return false
}

// stemmaCallsSlow reports whether v calls the slow path, or finds the place of the context, before the back end.
func stemmaCallsSlow(v *Value) bool {
	return v.Op == OpStemmaEnter || v.Op == OpWB && v.AuxInt >= rec.EnterAux
}

// A stemmaEdge is an edge that the tree may get: from a block that is not in it to one that is.
type stemmaEdge struct {
	from, to *Block
	weight   float64 // how often it may be taken
	order    int     // among equal ones
}

type stemmaEdges []stemmaEdge

func (h stemmaEdges) Len() int { return len(h) }
func (h stemmaEdges) Less(i, k int) bool {
	if h[i].weight != h[k].weight {
		return h[i].weight > h[k].weight
	}
	return h[i].order < h[k].order
}
func (h stemmaEdges) Swap(i, k int) { h[i], h[k] = h[k], h[i] }
func (h *stemmaEdges) Push(x any)   { *h = append(*h, x.(stemmaEdge)) }
func (h *stemmaEdges) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// stemmaBlocks returns the blocks of f in an order that follows from the flow graph alone: a plain build has the same
// (stemma_machine.go), although it has made its blocks one after the other in another order.
func stemmaBlocks(f *Func) []*Block {
	list := slices.Clone(f.postorder())
	slices.Reverse(list)
	return list
}

// grow makes the tree, from the exit, along the edges that are most likely taken often. A loop without an exit
// gets an edge there that is never taken.
func (g *stemmaFlow) grow() {
	open := &stemmaEdges{}
	order := 0
	in := map[*Block][]stemmaEdge{}
	for _, b := range stemmaBlocks(g.f) {
		stemmaSuccs(b, func(i int, to *Block) {
			in[to] = append(in[to], stemmaEdge{b, to, g.weight(b, i, to), order})
			order++
		})
		if len(b.Succs) == 0 {
			e := stemmaEdge{from: b, order: order}
			if b.Kind != BlockExit { // where the tree leads to panics, each check on the way has a counter behind it
				e.weight = 1
			}
			heap.Push(open, e)
			order++
		}
	}
	add := func(e stemmaEdge) {
		if _, done := g.next[e.from.ID]; done {
			return
		}
		g.next[e.from.ID], g.depth[e.from.ID] = stemmaExit, 1
		if e.to != nil {
			g.next[e.from.ID] = e.to.ID
			g.depth[e.from.ID] += g.depth[e.to.ID]
		}
		for _, before := range in[e.from] {
			heap.Push(open, before)
		}
	}
	for {
		for open.Len() > 0 {
			add(heap.Pop(open).(stemmaEdge))
		}
		latch := g.left()
		if latch == nil {
			return
		}
		add(stemmaEdge{from: latch})
	}
}

// left returns a block that the tree does not have, nil if it has all. The first one in postorder leads only to blocks
// that lead to it: it is in a loop without an exit, and never before the node is known.
func (g *stemmaFlow) left() *Block {
	for _, b := range g.f.postorder() {
		if _, done := g.next[b.ID]; !done {
			return b
		}
	}
	return nil
}

// weight guesses what a counter of edge i of b would cost: how often it is taken, and more where it needs a block with
// a jump. A loop runs ten times, a likely branch is taken in nine of ten, and two values are equal in one of five.
func (g *stemmaFlow) weight(b *Block, i int, to *Block) float64 {
	if to.Kind == BlockExit {
		return 0
	}
	loops := g.f.loopnest()
	depth := min(loops.depth(b.ID), loops.depth(to.ID))
	w := 1.0
	for range min(depth, 12) {
		w *= 10
	}
	if len(b.Succs) > 1 && len(to.Preds) > 1 {
		w *= 1.5
	}
	switch {
	case b.Kind == BlockDefer && i == 1:
		return 0
	case b.Likely == BranchLikely && i == 0, b.Likely == BranchUnlikely && i == 1:
		return w * 0.9
	case b.Likely != BranchUnknown:
		return w * 0.1
	case b.Kind == BlockIf:
		if yes, ok := stemmaComparesEqual(b.Controls[0]); ok && yes == (i == 0) {
			return w * 0.2
		} else if ok {
			return w * 0.8
		}
	}
	return w / float64(len(b.Succs))
}

// stemmaComparesEqual reports whether c is true where two integers, or pointers, are equal; ok is false if that is not
// what it tells.
func stemmaComparesEqual(c *Value) (yes, ok bool) {
	yes = true
	for c.Op == OpNot {
		c, yes = c.Args[0], !yes
	}
	switch c.Op {
	case OpEq8, OpEq16, OpEq32, OpEq64, OpEqPtr:
		return yes, true
	case OpNeq8, OpNeq16, OpNeq32, OpNeq64, OpNeqPtr:
		return !yes, true
	}
	return false, false
}

// each gives a counter to each block that executes anything.
func (g *stemmaFlow) each() {
	for _, b := range g.f.Blocks {
		switch {
		case b == g.f.Entry: // there the node is not known yet
			g.stands = append(g.stands, stemmaStands{[]int{0}, stemmaExit, b.ID, stemmaExit})
		case stemmaCounts(g.ops[b.ID]):
			g.stands = append(g.stands, stemmaStands{[]int{g.counterOf(b)}, stemmaExit, b.ID, stemmaExit})
		}
	}
}

// choose gives counters to the edges that the tree leaves out, where they make a difference, or to those behind them.
func (g *stemmaFlow) choose() {
	g.stands = append(g.stands, stemmaStands{[]int{0}, stemmaExit, g.f.Entry.ID, stemmaExit})
	// By block, the edges whose counters are on the edges out of it, as indexes of stands; and whether it may be so.
	passed, passes := map[*Block][]int{}, map[*Block]bool{}
	for _, b := range stemmaBlocks(g.f) { // without those that are made here
		rest := g.next[b.ID]
		first := true // two edges of a block may lead to one other block
		stemmaSuccs(b, func(i int, to *Block) {
			counted := slices.Clip(passed[b])
			own := -1
			switch {
			case to.ID == rest && first:
				first = false
				g.leads(b, to, stemmaTreeEdge)
			case !stemmaCounts(g.between(to.ID, rest)):
				g.leads(b, to, stemmaNoEdge)
			default:
				own = len(g.stands)
				g.leads(b, to, own)
				g.stands = append(g.stands, stemmaStands{at: b.ID, from: to.ID, to: rest})
				counted = append(counted, own)
			}
			if len(counted) == 0 {
				return
			}
			if b == g.f.Entry && len(b.Succs) > 1 && !g.f.Stemma.Plain {
				g.f.Fatalf("stemma: an edge before the node is known has a counter")
			}
			if len(counted) < stemmaPassed && g.passes(to, passes) {
				passed[to] = counted
				return
			}
			counter, from := g.counterAt(b, i)
			if own >= 0 {
				g.stands[own].from = from
			}
			for _, s := range counted {
				g.stands[s].counters = append(g.stands[s].counters, counter)
			}
		})
	}
}

// stemmaPassed is the largest number of edges that one counter counts: each has weights for each of its counters.
const stemmaPassed = 8

// passes reports whether the edges out of b are to count the only one into it as well. That takes fewer increments
// where one of them has a counter: one for each execution of b, and not another one for some. Known are the blocks of
// which it is known.
func (g *stemmaFlow) passes(b *Block, known map[*Block]bool) bool {
	if does, ok := known[b]; ok {
		return does
	}
	rest, first := g.next[b.ID], true
	ways, gains := 0, false
	ok := len(b.Preds) == 1 && b.Kind != BlockDefer && !slices.ContainsFunc(b.Values, stemmaStays)
	stemmaSuccs(b, func(i int, to *Block) {
		ways++
		switch {
		case !ok || gains:
		case to.ID == rest && first:
			gains = g.passes(to, known)
		case g.weight(b, i, to) > 0:
			gains = stemmaCounts(g.between(to.ID, rest))
		}
		if to.ID == rest && first {
			first = false
			ok = ok && len(to.Preds) == 1
		}
	})
	known[b] = ok && gains && ways > 1
	return known[b]
}

// stemmaStays reports whether the block of v is counted where it begins: v may leave the function, or begins an inlined
// call, which has an increment there that others can share.
func stemmaStays(v *Value) bool {
	return v.Op == OpInlMark || StemmaMayLeave(v) && !stemmaCallsSlow(v)
}

// counterAt returns the counter of edge i of a block, which is that of one of its ends, or of a block on its way; and
// where the way of the tree begins that it stands for.
func (g *stemmaFlow) counterAt(from *Block, i int) (counter int, begin ID) {
	e := from.Succs[i]
	switch {
	case len(e.b.Preds) == 1:
		return g.counterOf(e.b), e.b.ID
	case len(from.Succs) == 1:
		return g.counterOf(from), e.b.ID
	}
	if g.f.Stemma.Plain {
		counter = g.f.Stemma.Number
		g.f.Stemma.Number++
		return counter, e.b.ID
	}
	between := g.f.NewBlock(BlockPlain)
	between.Pos = from.Pos
	between.Preds = append(between.Preds, Edge{from, i})
	between.Succs = append(between.Succs, e)
	from.Succs[i], e.b.Preds[e.i] = Edge{between, 0}, Edge{between, 0}
	g.next[between.ID], g.depth[between.ID] = e.b.ID, g.depth[e.b.ID]+1
	return g.counterOf(between), between.ID
}

// counterOf returns the counter at the beginning of b.
func (g *stemmaFlow) counterOf(b *Block) int {
	c, ok := g.counts[b]
	if !ok {
		c = g.f.Stemma.Number
		g.f.Stemma.Number++
		g.counts[b] = c
	}
	return c
}

// stemmaCounts reports whether these differ from nothing in operations, by families: what only costs has no counters.
func stemmaCounts(list []stemmaN) bool {
	return slices.ContainsFunc(list, func(o stemmaN) bool { return o.n != 0 })
}

// stemmaWalk is how many blocks of the tree are looked at one by one: a way to the exit may have all blocks of a
// function, and as many edges ask for it.
const stemmaWalk = 64

// between returns what is on the tree's way from block a to the exit, less what is on that from b.
func (g *stemmaFlow) between(a, b ID) []stemmaN {
	sum := stemmaSum{at: map[StemmaOps]int{}}
	for n := 0; a != b; n++ {
		switch {
		case n == stemmaWalk:
			sum.add(g.way(a), 1)
			sum.add(g.way(b), -1)
			b = a
		case g.depth[a] >= g.depth[b]: // 0 for the exit
			sum.add(g.of(a), 1)
			a = g.next[a]
		default:
			sum.add(g.of(b), -1)
			b = g.next[b]
		}
	}
	return slices.DeleteFunc(sum.list, func(o stemmaN) bool { return o.n == 0 })
}

// way returns what is on the tree's way from block a to the exit. Blocks whose depth is a multiple of stemmaWalk
// remember that.
func (g *stemmaFlow) way(a ID) []stemmaN {
	var marks []ID // a, and those on its way that remember nothing yet
	x := a
	for ; x != stemmaExit && g.ways[x] == nil; x = g.next[x] {
		if x == a || g.depth[x]%stemmaWalk == 0 {
			marks = append(marks, x)
		}
	}
	list := g.ways[x]
	for _, mark := range slices.Backward(marks) {
		sum := stemmaSum{at: map[StemmaOps]int{}}
		for x := mark; ; {
			sum.add(g.of(x), 1)
			if x = g.next[x]; x == stemmaExit || g.depth[x]%stemmaWalk == 0 {
				break
			}
		}
		sum.add(list, 1) // from there on
		if list = sum.list; g.depth[mark]%stemmaWalk == 0 {
			g.ways[mark] = list
		}
	}
	return list
}

// A stemmaSum is a sum of operations.
type stemmaSum struct {
	list []stemmaN
	at   map[StemmaOps]int // where in list
}

func (s *stemmaSum) add(list []stemmaN, sign int) {
	for _, o := range list {
		i, ok := s.at[o.StemmaOps]
		if !ok {
			i = len(s.list)
			s.at[o.StemmaOps] = i
			s.list = append(s.list, stemmaN{StemmaOps: o.StemmaOps})
		}
		s.list[i].n += sign * o.n
	}
}

// of returns what a block executes: by families while counters are chosen, and together with its costs afterwards.
func (g *stemmaFlow) of(id ID) []stemmaN {
	if len(g.costs) == 0 {
		return g.ops[id]
	}
	var list stemmaList
	for _, o := range g.ops[id] {
		list.add(o.Inlined, rec.OpCounted, o.n)
	}
	return append(list, g.costs[id]...)
}

// A stemmaList is operations of several classes and inlined calls.
type stemmaList []stemmaN

func (l *stemmaList) add(inlined int, class rec.OpClass, n int) {
	o := StemmaOps{inlined, class}
	for i := range *l {
		if (*l)[i].StemmaOps == o {
			(*l)[i].n += n
			return
		}
	}
	if n != 0 {
		*l = append(*l, stemmaN{o, n})
	}
}

// costsOf returns what b costs.
func (g *stemmaFlow) costsOf(b *Block, own map[*Value]bool, c *stemmaCosts) []stemmaN {
	var list stemmaList
	add := func(pos src.XPos, class rec.OpClass, n int) { list.add(stemmaInlinedAt(pos), class, n) }
	for _, v := range b.Values {
		if own[v] {
			continue
		}
		if class, n := stemmaClassOf(v); n != 0 {
			add(v.Pos, c.refine(v, class), n)
		}
		c.of(v, func(class rec.OpClass, n int) { add(v.Pos, class, n) })
	}
	switch b.Kind {
	case BlockIf:
		n := 0
		stemmaSuccs(b, func(int, *Block) { n++ })
		if n > 1 {
			add(b.Pos, rec.OpBranch, 1)
		}
	case BlockJumpTable:
		add(b.Pos, rec.OpTable, 1)
	case BlockDefer:
		add(b.Pos, rec.OpBranch, 1)
	case BlockRet, BlockRetJmp:
		add(b.Pos, c.leave(), 1)
	}
	c.ofBlock(b, func(class rec.OpClass, n int) { add(b.Pos, class, n) })
	return list
}

// stemmaInlinedAt returns the innermost inlined call that a position is in, or -1.
func stemmaInlinedAt(pos src.XPos) int { return base.Ctxt.InnermostPos(pos).Base().InliningIndex() }

// stemmaOwn returns the values that are there to count, and no operations: what stores contexts and counters, and what
// only such values use.
func stemmaOwn(f *Func, node *Value) map[*Value]bool {
	own := map[*Value]bool{}
	if node == nil {
		return own
	}
	own[node] = true
	uses := map[*Value]int{}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			for _, a := range v.Args {
				uses[a]++
			}
		}
		for _, c := range b.ControlValues() {
			uses[c]++
		}
	}
	work := []*Value{node}
	mark := func(v *Value) {
		if !own[v] && v.Op != OpPhi {
			own[v] = true
			work = append(work, v)
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Values {
			if stemmaCounterOf(v) >= 0 || stemmaTouches(v) || stemmaCallsSlow(v) {
				mark(v)
			}
		}
		if len(b.Succs) == 2 && (stemmaIsSlowGeneric(b.Succs[0].b) || stemmaIsSlowGeneric(b.Succs[1].b)) {
			for _, c := range b.ControlValues() {
				mark(c)
			}
		}
	}
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		for _, a := range v.Args {
			if uses[a]--; uses[a] == 0 && !a.Type.IsMemory() { // the program's own store may come before one of ours
				mark(a)
			}
		}
	}
	return own
}

// stemmaTouches reports whether v loads or stores a field of g, which only counting does, or the frame's slot.
func stemmaTouches(v *Value) bool {
	if v.Op != OpLoad && v.Op != OpStore && v.Op != OpVarLive {
		return false
	}
	if n, ok := v.Aux.(*ir.Name); ok && n.Sym().Name == stemmaSlot {
		return true
	}
	a := v.Args[0]
	for a.Op == OpOffPtr {
		a = a.Args[0]
	}
	n, ok := a.Aux.(*ir.Name)
	return a.Op == OpGetG || ok && a.Op == OpLocalAddr && n.Sym().Name == stemmaSlot
}

// stemmaSlot is the name of the slot in the frame, as ssagen has it.
const stemmaSlot = ".stemma"

// stemmaIncrement puts an increment of a counter at the beginning of each of these blocks, and mends the memory that
// values behind it see.
func stemmaIncrement(f *Func, node *Value, counts map[*Block]int) {
	stemmaSelectWhereMade(f)
	start := make([]*Value, f.NumBlocks())
	memState(f, start, make([]*Value, f.NumBlocks()))
	m := &stemmaMemory{f: f, node: node, start: start, out: make([]*Value, f.NumBlocks())}
	order := f.postorder()
	for i := len(order) - 1; i >= 0; i-- {
		c, ok := counts[order[i]]
		if !ok {
			c = -1
		}
		m.block(order[i], c)
	}
	for _, phi := range m.phis {
		for i, e := range phi.Block.Preds {
			if i < len(phi.Args) {
				phi.SetArg(i, m.out[e.b.ID])
			} else {
				phi.AddArg(m.out[e.b.ID])
			}
		}
	}
	phielim(f)
}

// stemmaSelectWhereMade puts the selections of results into the block of their call. Some calls end a block, and a
// selection in the next one would look like a use of the memory before the call.
func stemmaSelectWhereMade(f *Func) {
	for _, b := range f.Blocks {
		b.Values = slices.DeleteFunc(b.Values, func(v *Value) bool {
			switch v.Op {
			case OpSelect0, OpSelect1, OpSelectN, OpSelectNAddr:
			default:
				return false
			}
			made := v.Args[0].Block
			if made == b {
				return false
			}
			v.Block = made
			made.Values = append(made.Values, v)
			return true
		})
	}
}

// A stemmaMemory is the state of stemmaIncrement.
type stemmaMemory struct {
	f     *Func
	node  *Value
	start []*Value // by block, the memory at its beginning before anything is added
	out   []*Value // the memory at its end, now
	phis  []*Value // whose arguments are set when all is there
}

// block gives a block its memory and, if c is not negative, the increment of counter c. Blocks come before those that
// they dominate.
func (m *stemmaMemory) block(b *Block, c int) {
	before, last := m.start[b.ID], stemmaLastMemory(b)
	var in *Value
	switch {
	case b == m.f.Entry:
		in = before
	case before != nil && before.Block == b && before.Op == OpPhi:
		in = before
		m.phis = append(m.phis, in)
	case len(b.Preds) == 1:
		in = m.out[b.Preds[0].b.ID]
	default:
		in = b.NewValue0(src.NoXPos, OpPhi, types.TypeMem)
		m.phis = append(m.phis, in)
	}
	uses := b.Values
	now := in
	if c >= 0 {
		now = m.increment(b, in, c)
	}
	if before != nil {
		for _, v := range uses {
			if v.Op != OpPhi && v.MemoryArg() == before {
				v.SetArg(len(v.Args)-1, now)
			}
		}
		for i, control := range b.ControlValues() {
			if control == before {
				b.ReplaceControl(i, now)
			}
		}
	}
	m.out[b.ID] = now
	if last != nil && last.Op != OpPhi && last.Op != OpInitMem {
		m.out[b.ID] = last
	}
}

// increment adds 1 to counter c at the beginning of b, where the memory is in.
func (m *stemmaMemory) increment(b *Block, in *Value, c int) *Value {
	return b.NewValue2I(src.NoXPos, OpStemmaCount, types.TypeMem, int64(c), m.node, in)
}

// stemmaLastMemory returns the last memory that b makes, or nil.
func stemmaLastMemory(b *Block) *Value {
	used := map[*Value]bool{}
	for _, v := range b.Values {
		if v.Op == OpPhi {
			continue
		}
		if m := v.MemoryArg(); m != nil && (v.Type.IsMemory() || v.Type.IsTuple() || v.Type.IsResults()) {
			used[m] = true
		}
	}
	var last *Value
	for _, v := range b.Values {
		if v.Type.IsMemory() && !used[v] && (last == nil || last.Op == OpPhi) {
			last = v
		}
	}
	return last
}

// stemmaClassOf returns the class of an operation, and how many of them v stands for: 0 if it is none.
func stemmaClassOf(v *Value) (rec.OpClass, int) {
	switch v.Op {
	case OpLoad, OpDereference:
		return rec.OpLoad, 1
	case OpStore:
		return rec.OpStore, 1
	case OpMove, OpZero:
		return rec.OpMove, int(v.AuxInt+7) / 8
	case OpNilCheck, OpIsInBounds, OpIsSliceInBounds:
		return rec.OpCheck, 1
	case OpDiv32F, OpDiv64F, OpSqrt, OpSqrt32:
		return rec.OpFloatDiv, 1
	case OpPhi, OpCopy, OpConvert, OpInitMem, OpArg, OpArgIntReg, OpArgFloatReg, OpAddr, OpLocalAddr, OpSP, OpSB,
		OpSPanchored, OpOffPtr, OpStoreReg, OpLoadReg, OpFwdRef, OpUnknown, OpVarDef, OpVarLive, OpKeepAlive, OpInlMark,
		OpSelect0, OpSelect1, OpMakeTuple, OpSelectN, OpSelectNAddr, OpMakeResult, OpGetG, OpGetClosurePtr,
		OpGetCallerPC, OpGetCallerSP, OpClobber, OpClobberReg, OpWBend, OpInvalid, OpHasCPUFeature:
		return 0, 0
	}
	name := v.Op.String()
	switch {
	case v.Op.IsCall():
		return rec.OpCall, 1
	case name == "Empty", // a value of no size; not in go1.26.0 and go1.26.1
		strings.HasPrefix(name, "Panic"), strings.HasPrefix(name, "Const"),
		strings.HasPrefix(name, "Trunc") && v.Op != OpTrunc: // a part of a register is no operation
		return 0, 0
	case strings.HasPrefix(name, "Atomic"):
		return rec.OpAtomic, 1
	case strings.Contains(name, "uhilo"), strings.Contains(name, "uover"), strings.Contains(name, "carry"),
		strings.HasSuffix(name, "borrow"), strings.HasPrefix(name, "Div128"):
		return rec.OpWide, 1
	case strings.HasPrefix(name, "Rotate"), strings.HasPrefix(name, "Ctz"), strings.HasPrefix(name, "Bswap"),
		strings.HasPrefix(name, "Bit"), strings.HasPrefix(name, "PopCount"):
		return rec.OpBits, 1
	case stemmaIsFloat(v), len(v.Args) > 0 && stemmaIsFloat(v.Args[0]):
		return rec.OpFloat, 1
	case strings.HasPrefix(name, "Div"), strings.HasPrefix(name, "Mod"):
		return rec.OpDiv, 1
	case strings.HasPrefix(name, "Mul"), strings.HasPrefix(name, "Hmul"):
		return rec.OpMul, 1
	}
	return rec.OpInt, 1
}

func stemmaIsFloat(v *Value) bool { return v.Type.IsFloat() }
