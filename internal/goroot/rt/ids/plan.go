package ids

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// A plan is an encoding of the call graph in the making.
//
// The graph's vertices are functions and groups. A group is a set of sites that may
// call several functions, with these functions: sites that share a target are in
// one group. An edge leads from a caller to the function that a static site
// calls, or to the group of a dynamic site; and from a group to its functions. So
// one addition value serves all targets of a site, and the caller need not know
// which it will be: the intervals of a group's sites are disjoint. A function
// that is not in the group has another key, by which it finds out.
//
// Edges are taken in the order of their weight, heaviest first, as long as the
// graph stays acyclic; those that would close a cycle are the back edges. Then
// each vertex gets the sum of its callers' numCC (Ball and Larus, MICRO'96; DACCE,
// section 4). What would make ids too large is left out, lightest first. An edge may also be left out before that, so
// that its caller's ids are free for what is heavier: see prices.
//
// # Loops
//
// The heaviest back edge into a vertex may have ids as well: those from numCC of the
// others, n, on, up to a limit that is a multiple of n. A function that calls itself has
// in context i the id i+n one level further in, i+2n in the next, and so on. At the
// limit the callee finds out, as it finds out about any word that is not for it, and pushes.
//
//   - No id is in two intervals: the loop's is the last one, and what is beyond
//     the limit has no id.
//   - A function of a group has the group's limit for its own, so that no edge into
//     it may have ids behind the group's: if there is one, the group has no loop.
//   - A path ends where the id is 0 and the function is the one that the path begins
//     with. It is so only there: ids never get smaller on a path, every cycle has a
//     loop in it, and a loop adds at least 1.
//   - A word that is passed on must not reach its key: what a loop adds and numCC
//     of its caller must be below maxNum, or the loop is pushed.
type plan struct {
	c *Dacce

	// By function or site: the classes of the union-find that makes groups.
	class []uint32
	// By function: the next in its group, the group's vertex + 1 (0 for none), and
	// the key.
	next, group, key []uint32
	// By vertex, functions and then groups: the place in a topological order, edges
	// out and in (index + 1), the last of them, the one that closes a loop (index + 1), and numCC.
	place, out, in, last, loop, num []uint32
	members, keys                   []uint32 // by group: the first function, and the key
	order                           []uint32 // by place: the vertex
	// By site: its weight, and what the plan gives it.
	weight              []uint64
	add                 []uint32
	edges               []planEdge
	sorted              []uint32 // edges by weight
	taken               []uint32 // by key: the group
	mark                []uint32 // by vertex: when it was visited last
	visit               uint32
	ahead, behind       []uint32 // what a search found
	pool                []uint32 // their places
	numVertices, groups uint32
	numEdges            uint32
	ordered, numOrdered uint32 // functions and vertices that stand in order
	level, price        int    // of loopLevels and prices, that the plan has
	turn                int    // which of the other settings is looked at next, see refine
	numFuncs            uint32 // when the plan was begun, as those below
	numSites            uint32
	numSeen             uint32
	began, halved       uint64 // when, and when weights were halved last: nanoseconds
	passed              uint64 // since the plan before
	back, left          uint64
	loopWeight          uint64 // of the heaviest loop
	maxID               uint32
	changed             uint32
	Cost                uint64 // calls a second that take an edge which is not encoded

	// Limits, which tests make smaller: ids are below maxNum; softNum is the numCC
	// from which on edges that carry less than a thousandth of a vertex's calls are
	// left out; keys are below numKeys.
	maxNum, softNum uint64
	numKeys         uint32

	mem [numPlanMems]planMem // of all the slices above
}

// A planMem is the memory of a slice of a plan. Each function, site or vertex takes size bytes of it.
type planMem struct {
	memory.Span
	by   planBy
	size uint64
}

type planBy uint8

const (
	byFunc planBy = iota
	bySite
	byClass // functions and sites
	byVertex
	byKey // all keys at once

	numPlanMems = 22
)

// A planEdge leads from the caller of a site to a vertex.
type planEdge struct {
	site, from, to  uint32
	outNext, inNext uint32 // index + 1
	taken, barred   bool
	loop            bool // closes a loop
}

const maxGroups = layout.NumKeys

const halfLife = 8e9 // nanoseconds, see Snapshot

func (p *plan) init(c *Dacce) {
	p.c, p.maxNum, p.softNum, p.numKeys = c, layout.MaxNum, 1<<22, layout.NumKeys
	p.numFuncs, p.level = 1, -1
	planSlice(p, &p.class, byClass)
	for _, s := range [...]*[]uint32{&p.next, &p.group, &p.key} {
		planSlice(p, s, byFunc)
	}
	for _, s := range [...]*[]uint32{&p.place, &p.out, &p.in, &p.last, &p.loop, &p.num, &p.order, &p.mark, &p.ahead,
		&p.behind, &p.pool} {
		planSlice(p, s, byVertex)
	}
	for _, s := range [...]*[]uint32{&p.members, &p.keys, &p.taken} {
		planSlice(p, s, byKey)
	}
	planSlice(p, &p.weight, bySite)
	planSlice(p, &p.add, bySite)
	planSlice(p, &p.sorted, bySite)
	planSlice(p, &p.edges, bySite)
	p.room(1, 0)
}

// planSlice gives a slice of a plan its memory. None of it can be used yet.
func planSlice[T any](p *plan, s *[]T, by planBy) {
	n := p.entries(by, p.c.max.funcs, p.c.max.sites)
	m := &p.mem[0]
	for i := range p.mem {
		if m = &p.mem[i]; m.size == 0 {
			break
		}
	}
	m.by, m.size = by, uint64(unsafe.Sizeof((*s)[0]))
	m.Span = p.c.mem.Array(uintptr(n), uintptr(m.size))
	*s = unsafe.Slice((*T)(m.At(0)), n)
}

// entries returns how many entries a slice has for so many functions and sites.
func (p *plan) entries(by planBy, funcs, sites uint32) uint32 {
	switch by {
	case byFunc:
		return funcs
	case bySite:
		return sites
	case byClass:
		return p.c.max.funcs + sites
	case byVertex:
		return funcs + min(funcs, maxGroups)
	}
	return layout.NumKeys
}

// room makes room for a plan for so many functions and sites.
func (p *plan) room(funcs, sites uint32) bool {
	for i := range p.mem {
		m := &p.mem[i]
		if !m.Need(uint64(p.entries(m.by, funcs, sites)) * m.size) {
			return false
		}
	}
	return true
}

// Snapshot begins a plan, at a time in nanoseconds: what is seen from here on is
// not in it, and without memory for more what was not in the plan before is not either.
// It and Write need the lock; Plan, between them, does not.
//
// It makes the weights of edges, in calls a second, of what the slow path and pushes
// have counted since the last plan. An edge that had nothing counted, as it is encoded
// or not used any more, keeps its weight, half of which is forgotten every halfLife. So
// where hot paths change, what is pushed now gets heavier in time than what was hot once.
func (c *Dacce) Snapshot(now uint64) {
	p := &c.plan
	if p.room(c.numFuncs, c.numSites) {
		p.numFuncs, p.numSites, p.numSeen = c.numFuncs, c.numSites, c.numEdges
	}
	c.missed = 0
	passed := max(now-p.began, 1000)
	p.began, p.passed = now, passed
	if p.halved == 0 {
		p.halved = now
	}
	halves := (now - p.halved) / halfLife
	p.halved += halves * halfLife
	clear(p.weight[:p.numSites])
	for i := uint32(1); i <= p.numSeen; i++ {
		e := &c.edges[i]
		weight := max(e.Weight>>halves, min(e.Weight, 1))
		hits := memory.Load64(&e.Hits) // assembly goes on counting
		if seen := hits - e.Planned; seen != 0 {
			// A product of more than 64 bits is as good as infinite.
			rate := min(seen, 1<<33) * 1e9 / passed
			if c.calls[e.Site].add == layout.NoAddition {
				weight /= 2 // of an edge that is encoded, a loop, only what goes beyond its ids was counted
			}
			weight = max(rate, weight, 1)
			e.Planned = hits
		}
		e.Weight = weight
		p.weight[e.Site] += e.Weight
	}
}

// Plan makes the plan that Snapshot began. It calls pause between its steps, which are short but for large graphs.
func (c *Dacce) Plan(pause func()) {
	p := &c.plan
	p.makeGroups()
	p.giveKeys()
	pause()
	p.placeVertices()
	p.collectEdges()
	pause()
	p.takeEdges(pause)
	p.chooseLoops()
	p.number(pause)
}

// find returns the class of a function, or of max.funcs + a site.
func (p *plan) find(x uint32) uint32 {
	for p.class[x] != x {
		p.class[x] = p.class[p.class[x]]
		x = p.class[x]
	}
	return x
}

// makeGroups unites dynamic sites with their targets, and makes a group of each
// class that has a site.
func (p *plan) makeGroups() {
	for f := range p.numFuncs {
		p.class[f], p.next[f], p.group[f], p.key[f] = f, 0, 0, 0
	}
	site0 := p.c.max.funcs
	for s := range p.numSites {
		p.class[site0+s] = site0 + s
	}
	for i := uint32(1); i <= p.numSeen; i++ {
		if e := &p.c.edges[i]; p.c.calls[e.Site].dynamic && e.Target < p.numFuncs && e.Site < p.numSites {
			p.class[p.find(site0+e.Site)] = p.find(e.Target)
			p.group[e.Target] = 1 // some group
		}
	}
	p.groups = 0
	clear(p.num[:p.numFuncs])
	for f := p.numFuncs - 1; f > 0; f-- { // so that lists of members are ascending
		if p.group[f] == 0 {
			continue
		}
		root := p.find(f)
		g := p.num[root] // by root, for now: the group + 1
		if g == 0 {
			if p.groups == maxGroups {
				p.group[f] = 0
				continue
			}
			p.groups++
			g = p.groups
			p.num[root] = g
			p.members[g-1], p.keys[g-1] = 0, 0
		}
		p.group[f] = p.numFuncs + g - 1 + 1
		p.next[f] = p.members[g-1]
		p.members[g-1] = f
	}
	p.numVertices = p.numFuncs + p.groups
}

// giveKeys gives each group a key, if possible one that a member had before, so
// that little changes from epoch to epoch.
func (p *plan) giveKeys() {
	clear(p.taken)
	for g := range p.groups {
		for f := p.members[g]; f != 0; f = p.next[f] {
			if k := p.c.codes[f].key; k != 0 && p.taken[k] == 0 {
				p.taken[k], p.keys[g] = g+1, k
				break
			}
		}
	}
	fresh := uint32(1)
	for g := range p.groups {
		for p.keys[g] == 0 && fresh < p.numKeys {
			if p.taken[fresh] == 0 {
				p.keys[g] = fresh
			}
			fresh++
		}
		for f := p.members[g]; f != 0; f = p.next[f] {
			p.key[f] = p.keys[g]
		}
	}
}

// placeVertices puts the vertices in an order: functions as the last plan has left them, since nearly all of its edges
// are in this one as well; those that are new behind their callers. For the first plan they stand as they were entered,
// which is nearly topological. Each group comes before its first member.
func (p *plan) placeVertices() {
	following, last := p.pool, uint32(0) // by function: the next one
	stand := func(f uint32) { following[last], last = f, f }
	for _, f := range p.order[:p.numOrdered] {
		if f != 0 && f < p.ordered {
			stand(f)
		}
	}
	if p.ordered == 0 {
		for f := uint32(1); f < p.numFuncs; f++ {
			stand(f)
		}
	}
	following[last] = 0
	if p.ordered != 0 {
		p.insertNew(following)
	}
	const nowhere = ^uint32(0)
	for g := range p.groups {
		p.place[p.numFuncs+g] = nowhere
	}
	at := uint32(0)
	put := func(n uint32) {
		p.place[n], p.order[at] = at, n
		p.out[n], p.in[n], p.last[n], p.loop[n], p.mark[n] = 0, 0, 0, 0, 0
		at++
	}
	p.visit = 0
	put(0)
	for f := following[0]; f != 0; f = following[f] {
		if g := p.group[f]; g != 0 && p.place[g-1] == nowhere {
			put(g - 1)
		}
		put(f)
	}
	p.ordered, p.numOrdered = p.numFuncs, p.numVertices
}

// insertNew puts each function that the last plan did not have behind that of its callers which is last, or behind the
// first one, if that is new as well. What nobody is known to call comes first.
func (p *plan) insertNew(following []uint32) {
	callers := p.ahead
	clear(callers[p.ordered:p.numFuncs])
	for i := uint32(1); i <= p.numSeen; i++ {
		e := &p.c.edges[i]
		if e.Target < p.ordered || e.Target >= p.numFuncs {
			continue
		}
		caller, best := p.c.sites[e.Site].caller, &callers[e.Target]
		switch {
		case *best == 0 && caller < e.Target: // it was entered before
			*best = caller
		case *best != 0 && caller < p.ordered && (*best >= p.ordered || p.place[caller] > p.place[*best]):
			*best = caller
		}
	}
	for f := p.ordered; f < p.numFuncs; f++ {
		c := callers[f]
		following[f], following[c] = following[c], f
	}
}

// collectEdges makes an edge for each site that was seen, and sorts them by the
// logarithm of their weight, so that small changes change nothing.
func (p *plan) collectEdges() {
	p.numEdges = 0
	var count [66]uint32
	for s := range p.numSites {
		p.add[s] = layout.NoAddition
		st := &p.c.calls[s]
		if st.first == 0 || st.first >= p.numFuncs {
			continue
		}
		e := planEdge{site: s, from: p.c.sites[s].caller, to: st.first}
		if st.dynamic {
			if e.barred = p.key[e.to] == 0; !e.barred { // else there are no keys left
				e.to = p.group[e.to] - 1
			}
		}
		p.edges[p.numEdges] = e
		p.numEdges++
		count[65-memory.Len64(p.weight[s])]++
	}
	for i := 1; i < len(count); i++ {
		count[i] += count[i-1]
	}
	for i := p.numEdges; i > 0; i-- {
		b := 65 - memory.Len64(p.weight[p.edges[i-1].site])
		count[b]--
		p.sorted[count[b]] = i - 1
	}
}

// takeEdges adds edges to the graph, heaviest first.
func (p *plan) takeEdges(pause func()) {
	for i := range p.numEdges {
		p.take(p.sorted[i])
		if i%256 == 255 {
			pause()
		}
	}
}

// take adds edge i to the graph unless that closes a cycle. The order is kept
// topological (Pearce and Kelly, JEA 2006).
func (p *plan) take(i uint32) {
	e := &p.edges[i]
	if e.from == e.to || e.barred {
		return
	}
	if low, high := p.place[e.to], p.place[e.from]; low < high {
		numAhead, cycle := p.searchAhead(e.to, e.from, high)
		if cycle {
			return
		}
		p.reorder(p.ahead[:numAhead], p.behind[:p.searchBehind(e.from, low)])
	}
	e.taken = true
	e.outNext, p.out[e.from] = p.out[e.from], i+1
	if last := p.last[e.to]; last != 0 {
		p.edges[last-1].inNext = i + 1
	} else {
		p.in[e.to] = i + 1
	}
	p.last[e.to] = i + 1
}

// searchAhead finds the vertices that can be reached from n up to a place. It stops
// at the vertex wanted, and reports that there is a way to it.
func (p *plan) searchAhead(n, wanted, high uint32) (num uint32, found bool) {
	p.visit++
	p.ahead[0], p.mark[n] = n, p.visit
	num = 1
	meet := func(m uint32) {
		if p.mark[m] != p.visit && p.place[m] <= high {
			p.mark[m] = p.visit
			p.ahead[num] = m
			num++
			found = found || m == wanted
		}
	}
	for i := uint32(0); i < num && !found; i++ {
		n := p.ahead[i]
		if n >= p.numFuncs {
			for f := p.members[n-p.numFuncs]; f != 0; f = p.next[f] {
				meet(f)
			}
			continue
		}
		for e := p.out[n]; e != 0; e = p.edges[e-1].outNext {
			meet(p.edges[e-1].to)
		}
	}
	return num, found
}

// searchBehind finds the vertices that reach n, down to a place.
func (p *plan) searchBehind(n, low uint32) (num uint32) {
	p.visit++
	p.behind[0], p.mark[n] = n, p.visit
	num = 1
	meet := func(m uint32) {
		if p.mark[m] != p.visit && p.place[m] >= low {
			p.mark[m] = p.visit
			p.behind[num] = m
			num++
		}
	}
	for i := uint32(0); i < num; i++ {
		n := p.behind[i]
		for e := p.in[n]; e != 0; e = p.edges[e-1].inNext {
			meet(p.edges[e-1].from)
		}
		if n < p.numFuncs && p.group[n] != 0 {
			meet(p.group[n] - 1)
		}
	}
	return num
}

// reorder puts the vertices behind before those ahead, into the places that both
// have.
func (p *plan) reorder(ahead, behind []uint32) {
	for _, vertices := range [...][]uint32{ahead, behind} {
		for i, n := range vertices {
			vertices[i] = p.place[n]
		}
		sort(vertices)
	}
	// Merge the places into pool, and replace places by the vertices there.
	pool := p.pool[:0]
	a, b := ahead, behind
	for len(a)+len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && a[0] < b[0] {
			pool, a = append(pool, a[0]), a[1:]
		} else {
			pool, b = append(pool, b[0]), b[1:]
		}
	}
	for _, vertices := range [...][]uint32{ahead, behind} {
		for i, at := range vertices {
			vertices[i] = p.order[at]
		}
	}
	for i, at := range pool {
		n := uint32(0)
		if i < len(behind) {
			n = behind[i]
		} else {
			n = ahead[i-len(behind)]
		}
		p.order[at], p.place[n] = n, at
	}
}

// sort sorts a in place.
func sort(a []uint32) {
	if len(a) <= 16 {
		for i := 1; i < len(a); i++ {
			x, k := a[i], i
			for ; k > 0 && a[k-1] > x; k-- {
				a[k] = a[k-1]
			}
			a[k] = x
		}
		return
	}
	for i := len(a)/2 - 1; i >= 0; i-- {
		sift(a, i)
	}
	for n := len(a) - 1; n > 0; n-- {
		a[0], a[n] = a[n], a[0]
		sift(a[:n], 0)
	}
}

// sift restores the heap below i.
func sift(a []uint32, i int) {
	for {
		child := 2*i + 1
		if child >= len(a) {
			return
		}
		if child+1 < len(a) && a[child+1] > a[child] {
			child++
		}
		if a[i] >= a[child] {
			return
		}
		a[i], a[child] = a[child], a[i]
		i = child
	}
}

// chooseLoops makes loops of back edges, heaviest first.
func (p *plan) chooseLoops() {
	p.loopWeight = 1
	for _, i := range p.sorted[:p.numEdges] {
		if e := &p.edges[i]; !e.taken && !e.barred && p.mayLoop(e.to) {
			p.loop[e.to], e.loop = i+1, true
			p.loopWeight = max(p.loopWeight, p.weight[e.site])
		}
	}
}

// mayLoop reports whether a loop may be closed at vertex n.
func (p *plan) mayLoop(n uint32) bool {
	switch {
	case p.loop[n] != 0:
		return false
	case n < p.numFuncs:
		return p.group[n] == 0 || p.loop[p.group[n]-1] == 0
	}
	for f := p.members[n-p.numFuncs]; f != 0; f = p.next[f] {
		if p.in[f] != 0 || p.loop[f] != 0 {
			return false
		}
	}
	return true
}

// loopLevels are how often the heaviest loop might go round before it is pushed, from what is best to none. None goes
// round more than maxLevels times: those that are lighter have the rest.
var loopLevels = [...]uint64{1 << 20, 1 << 16, 1 << 12, 256, 32, 4, 1}

const maxLevels = 256

// levels returns how often loop e may go round where the heaviest may go round so often. A loop of weight w with l
// levels makes w/l pushes, and numCC of what is called from there grows to l times of it. The sum of pushes is the
// smallest for the same product of levels if these are in proportion to the weights: here to powers of two, so
// that small changes change nothing.
func (p *plan) levels(e *planEdge, most uint64) uint64 {
	return min(max(most>>(memory.Len64(p.loopWeight)-memory.Len64(p.weight[e.site])), 1), maxLevels)
}

// prices are what an id may cost, as powers of two of ids for one call a second: an edge is left out if its
// caller's ids are more than its weight times that. The first leaves nothing out but what has no room.
var prices = [...]uint{30, 26, 22, 18, 14, 10, 6, 2}

// number gives ids to all edges, with the levels of loops and the price of ids that cost least. To number them takes
// most of the time of a plan. While plans come fast, each but the first looks at one setting besides what it has.
func (p *plan) number(pause func()) {
	first := p.level < 0
	p.level = max(p.level, 0)
	if !first && p.passed < slow {
		p.refine(pause)
		return
	}
	p.tune(&p.level, len(loopLevels), first, pause)
	if p.left != 0 || p.price != 0 {
		p.tune(&p.price, len(prices), first, pause)
		p.tune(&p.level, len(loopLevels), false, pause)
	}
}

// slow is the time, in nanoseconds, since the last plan from which on a plan looks at all settings near what it has.
const slow = 1e9

// refine numbers the edges with what the plan has, or with another setting if that costs less: in turn one next to what
// it has, and one of all.
func (p *plan) refine(pause func()) {
	level, price := p.level, p.price
	if level == 0 && price == 0 && p.left == 0 { // all edges had ids, and loops as many as may be
		if p.numberEdges(); p.left == 0 {
			return
		}
	}
	for p.level == level && p.price == price {
		p.look(level, price)
		p.turn++
	}
	p.numberEdges()
	otherLevel, otherPrice, left, cost := p.level, p.price, p.left, p.Cost
	pause()
	p.level, p.price = level, price
	p.numberEdges()
	if cost < p.Cost || cost == p.Cost && left < p.left {
		pause()
		p.level, p.price = otherLevel, otherPrice
		p.numberEdges()
	}
}

// look makes the setting the one whose turn it is, next to the given one or not. It may be the same.
func (p *plan) look(level, price int) {
	const levels, all = len(loopLevels), len(loopLevels) * len(prices)
	p.level, p.price = level, price
	switch turn := p.turn / 2; {
	case p.turn%2 != 0:
		p.level, p.price = turn%all%levels, turn%all/levels
	case turn%4 == 0:
		p.level = max(level-1, 0)
	case turn%4 == 1:
		p.price = max(price-1, 0)
	case turn%4 == 2:
		p.level = min(level+1, levels-1)
	default:
		p.price = min(price+1, len(prices)-1)
	}
}

// tune numbers the edges with the setting, of n, that costs least: of all, or of those next to what it is.
func (p *plan) tune(setting *int, n int, all bool, pause func()) {
	from, to := 0, n
	if !all {
		from, to = max(*setting-1, 0), min(*setting+2, n)
	}
	best, cost := from, uint64(0)
	for i := from; i < to; i++ {
		pause()
		*setting = i
		p.numberEdges()
		if i == from || p.left == 0 || p.Cost < cost {
			best, cost = i, p.Cost
		}
		if p.left == 0 {
			return
		}
	}
	if *setting != best {
		*setting = best
		p.numberEdges()
	}
}

// numberEdges gives ids to the edges that are taken, callers first, and to loops.
func (p *plan) numberEdges() {
	most := loopLevels[p.level]
	p.back, p.left, p.Cost, p.maxID = 0, 0, 0, 0
	for at := range p.numVertices {
		n := p.order[at]
		sum := uint64(0)
		if n < p.numFuncs && p.group[n] != 0 {
			sum = uint64(p.num[p.group[n]-1])
		}
		sum = p.numberLoop(n, p.numberVertex(n, sum), most)
		p.num[n] = uint32(sum)
		if n < p.numFuncs {
			p.num[n] = max(p.num[n], 1)
		}
		p.maxID = max(p.maxID, max(p.num[n], 1)-1)
	}
	for i := range p.numEdges {
		e := &p.edges[i]
		if e.loop && uint64(p.add[e.site])+uint64(p.num[e.from]) >= p.maxNum {
			p.add[e.site] = layout.NoAddition
		}
		switch {
		case p.add[e.site] == layout.NoAddition:
			p.back++
			p.Cost += p.weight[e.site]
		case e.loop:
			p.Cost += p.weight[e.site] / p.levels(e, most)
		}
	}
	p.back -= p.left
}

// numberVertex numbers the edges into vertex n from sum on and returns its numCC.
func (p *plan) numberVertex(n uint32, sum uint64) uint64 {
	const unknown = ^uint64(0)
	most, done, seen := unknown, uint64(0), uint64(0) // most is what edges may weigh before others are left out
	for i := p.in[n]; i != 0; i = p.edges[i-1].inNext {
		e := &p.edges[i-1]
		need := uint64(p.num[e.from])
		p.add[e.site] = layout.NoAddition
		if sum > p.softNum && most == unknown {
			total := seen
			for i := i; i != 0; i = p.edges[i-1].inNext {
				total += p.weight[p.edges[i-1].site]
			}
			most = total - total/1000
		}
		seen += p.weight[e.site]
		if sum+need >= p.maxNum || sum > p.softNum && done > most || need > max(p.weight[e.site], 1)<<prices[p.price] {
			p.left++
			continue
		}
		p.add[e.site] = uint32(sum)
		sum += need
		done += p.weight[e.site]
	}
	return sum
}

// numberLoop numbers the edge that closes a loop at vertex n, which has the ids below sum without it, and returns
// numCC.
func (p *plan) numberLoop(n uint32, sum, most uint64) uint64 {
	if p.loop[n] == 0 {
		return sum
	}
	e := &p.edges[p.loop[n]-1]
	p.add[e.site] = layout.NoAddition
	begin := max(sum, 1)
	end := min(begin*p.levels(e, most), p.maxNum-1)
	if end <= begin {
		return sum
	}
	p.add[e.site] = uint32(begin)
	return end
}

// target returns what a dictionary says about the callees of an edge.
func (p *plan) target(e *planEdge) uint32 {
	if e.to >= p.numFuncs {
		return p.keys[e.to-p.numFuncs]
	}
	return e.to
}

// Write appends the dictionary of the next epoch: what the plan changes. It
// reports false if there is no room for it, or no epoch left.
func (c *Dacce) Write(now uint64) bool {
	p := &c.plan
	if c.Epoch()+1 >= 1<<layout.IDEpochBits {
		return false
	}
	w := epochWriter{mem: &c.epochs, begin: c.epochsUsed}
	if rec := w.at(layout.EpochSize); rec != nil {
		*(*layout.Epoch)(rec) = layout.Epoch{Epoch: uint32(c.Epoch()) + 1, Time: now, MaxID: p.maxID}
	}
	var funcs, sites uint32
	for f := uint32(1); f < p.numFuncs; f++ {
		if now := (code{p.key[f], p.num[f]}); c.codes[f] != now {
			w.function(c, f, now)
			funcs++
		}
	}
	for i := range p.numEdges {
		e := &p.edges[i]
		old := &c.calls[e.site]
		if old.add == p.add[e.site] && (old.add == layout.NoAddition || old.target == p.target(e)) {
			continue
		}
		target := uint64(p.target(e))
		if e.to < p.numFuncs {
			target = c.ID(e.to)
		}
		w.site(c, e.site, p.add[e.site], target)
		sites++
	}
	p.changed = funcs + sites
	if !w.end(funcs, sites) {
		return false
	}
	c.epochsUsed = w.begin + w.off
	memory.StoreRel64(&c.Stats().EpochsUsed, c.epochsUsed)
	return true
}

// Publish makes the plan the encoding of a new epoch. Nothing that is
// instrumented may run.
func (c *Dacce) Publish() {
	p := &c.plan
	for f := uint32(1); f < p.numFuncs; f++ {
		c.codes[f] = code{p.key[f], p.num[f]}
		d := dataAt(c.funcs[f].data)
		d.Key, d.Limit = uint64(p.key[f])<<layout.WordKey, uint64(p.num[f])<<layout.WordID
	}
	encoded := uint64(0)
	for i := range p.numEdges {
		e := &p.edges[i]
		s := &c.calls[e.site]
		s.add, s.target, s.keyed = p.add[e.site], p.target(e), e.to >= p.numFuncs
		av := uint64(layout.KeyPush) << layout.WordKey
		if s.add != layout.NoAddition {
			encoded++
			key := s.target
			if e.to < p.numFuncs {
				key = p.key[e.to]
			}
			av = uint64(key)<<layout.WordKey | uint64(s.add)<<layout.WordID
		}
		*word(c.av(e.site)) = av
	}
	c.Header().MaxID = uint64(p.maxID)
	c.epoch++
	d := c.Stats()
	d.Encoded, d.Groups, d.Back, d.LeftOut = encoded, uint64(p.groups), p.back, p.left
	d.Epoch = c.epoch
	d.Encodes++
}

// Changed returns the number of functions and sites that the plan changes.
func (c *Dacce) Changed() uint32 { return c.plan.changed }

// Size returns the number of functions and edges that the last plan was made for.
func (c *Dacce) Size() uint32 { return c.plan.numFuncs + c.plan.numEdges }

// Missed returns how much was done since the last snapshot for edges that another encoding may have, in entries
// through the slow path in Go: layout.SeenEdgeStep calls that assembly pushes and counts are stepMisses of them.
func (c *Dacce) Missed() uint64 { return c.missed }

// Unplanned returns the number of edges that were seen since the last snapshot.
func (c *Dacce) Unplanned() uint32 { return c.numEdges - c.plan.numSeen }

// An epochWriter appends one record to epochs.
type epochWriter struct {
	mem        *memory.Span
	begin, off uint64
	full       bool
}

// at returns where the next n bytes go, or nil if they do not fit.
func (w *epochWriter) at(n uint64) unsafe.Pointer {
	if !w.mem.Need(w.begin + w.off + n + 8) {
		w.full = true
		return nil
	}
	p := w.mem.At(w.begin + w.off)
	w.off += n
	return p
}

// function writes what holds for function f.
func (w *epochWriter) function(c *Dacce, f uint32, is code) {
	if rec := w.at(layout.EpochFuncSize); rec != nil {
		*(*layout.EpochFunc)(rec) = layout.EpochFunc{Func: c.ID(f), Key: is.key, NumCC: is.num}
	}
}

// site writes what holds for site s.
func (w *epochWriter) site(c *Dacce, s, addition uint32, target uint64) {
	if rec := w.at(layout.EpochSiteSize); rec != nil {
		*(*layout.EpochSite)(rec) = layout.EpochSite{Func: c.ID(c.sites[s].caller), Cell: c.sites[s].cell,
			Addition: addition, Target: target}
	}
}

// end publishes the record.
func (w *epochWriter) end(funcs, sites uint32) bool {
	if w.full {
		return false
	}
	rec := (*layout.Epoch)(w.mem.At(w.begin))
	rec.Funcs, rec.Sites = funcs, sites
	memory.StoreRel32(&rec.Length, uint32(w.off))
	return true
}
