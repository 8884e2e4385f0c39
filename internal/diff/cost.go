package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/profile"
)

// Costs.
//
// What a function costs is what it has of a value with all that it calls. A limit on each function's own calls punishes
// whoever makes a function cheaper by calling another one, and a helper that is new. A limit with the scope cost
// does not. It goes down from the roots, on both sides at once, along paths of functions:
//
//   - Functions that only one side has do not count, and are no part of a path: what they call is called by
//     who called them. So it does not matter whether a piece of code is a function of its own, nor what it is called.
//     Functions of the standard library always count, and types that are allocated, unless the release of Go is
//     another one. What seems to have another name, and is called more or less often, does not: that is a guess.
//   - Where a function makes the calls that it made, each of them is looked at alone. Where it makes others,
//     or another number of them, what these cost counts together: it may call one thing more and another less. If
//     they cost less than before, the function may cost as much as it did, wherever.
//   - What has grown, or become less, is held against what became of the callee in all: work that is done elsewhere
//     now, or was, is neither more work nor less. A caller is not blamed for more than its own calls have grown by.
//   - An entry point is a function of the program's own that others call: main, the handler of a request, a test, a
//     callback. One that costs less than before may do so as it likes.
//
// Package testing, with what it calls of Go, does not count, nor is it a part of a path: tests stand side by side. One
// that only one side has is left out.
//
// What is left of a function's calls, in all contexts, is held against the limit. It may be as much more as 1/20,000 of
// what the base costs in all: nobody would notice.

// goRow stands for the goroutines that a function starts, among the rows of functions.
const goRow = 0

// unnoticed is the part of all costs that no function is blamed for.
const unnoticed = 20_000

// A step is a path of functions that count, by its last one.
type step struct {
	parent  int
	row     uint32 // of functions
	isEntry bool
	entry   int // the innermost entry point on the path
	kids    []int
	own     [2]uint64 // what the function itself has
	calls   [2]uint64 // how often it is called there
	all     [2]uint64 // own, with what it calls
	gos     [2]uint64 // goroutines that it starts
	goNode  uint32    // of the new side, one of these
	goMost  uint64
	node    uint32 // of the new side, the one with most
	most    uint64
}

// A charge is what a function, or goRow, that another one calls has grown by.
type charge struct {
	base, grown int64
	node        uint32 // of the new side
	most        int64  // how much there
}

// costs is the state of a walk.
type costs struct {
	v       Value
	kinds   []kind
	steps   []step
	index   map[stepKey]int
	charges map[uint32]map[uint32]*charge // by caller and callee
	totals  map[uint32]*[2]int64          // by function: what it costs in all
	entries map[uint32]*[2]int64          // by entry point, likewise
}

type stepKey struct {
	parent int
	row    uint32
}

// newCosts puts both trees on one tree of steps. Roots limits them to what lies below functions for which it is set,
// by row; nil is everything.
func (g *group) newCosts(v Value, roots []bool) *costs {
	c := &costs{v: v, kinds: g.kinds(), steps: make([]step, 1), index: make(map[stepKey]int),
		charges: make(map[uint32]map[uint32]*charge), totals: make(map[uint32]*[2]int64),
		entries: make(map[uint32]*[2]int64)}
	for side := range g.trees {
		c.addSide(g, side, roots)
	}
	c.add()
	return c
}

// addSide adds the nodes of one side.
func (c *costs) addSide(g *group, side int, roots []bool) {
	t, rows, counts := g.trees[side], g.match.Functions(side), g.counts[c.v.index][side]
	calls, isCalls := g.callsOf(side), c.v.Name == profile.Calls.Name
	n := len(t.Nodes)
	at, inside, inGo, in := make([]int, n), make([]bool, n), make([]bool, n), make([]region, n)
	inside[0] = roots == nil
	for i, n := range t.Nodes[1:] {
		i, row, upRow := i+1, rows[n.Func], rows[t.Nodes[n.Parent].Func]
		k, up := c.kinds[row], at[n.Parent]
		at[i], inside[i] = up, inside[n.Parent] || roots != nil && roots[row]
		in[i] = in[n.Parent].enter(k)
		if inGo[i] = inGo[n.Parent] && k.runtime || k.standard && !k.runtime; !inside[i] || in[i] != ordinary {
			continue
		}
		if isCalls && !g.loose && t.Sites[n.Site].Via == cct.ViaGo {
			c.steps[up].addGo(side, uint32(i), counts[i])
		}
		// Of another release of Go only what others call counts.
		byGo := c.kinds[upRow].standard || c.kinds[upRow].pseudo
		hidden := g.otherGo && (k.standard && byGo || k.runtime || k.isType && inGo[n.Parent])
		if k.counts && !hidden {
			at[i] = c.step(up, row)
		} else if isCalls || hidden {
			continue
		}
		s := &c.steps[at[i]]
		if s.own[side] += counts[i]; at[i] != up {
			s.calls[side] += calls[i]
			s.isEntry = s.isEntry || k.own && !c.kinds[upRow].own
		}
		if side == 1 && (s.node == 0 || counts[i] > s.most) {
			s.node, s.most = uint32(i), counts[i]
		}
	}
}

// addGo adds goroutines that begin with a node.
func (s *step) addGo(side int, node uint32, n uint64) {
	s.gos[side] += n
	if side == 1 && (s.goNode == 0 || n > s.goMost) {
		s.goNode, s.goMost = node, n
	}
}

// step returns a step below another one.
func (c *costs) step(parent int, row uint32) int {
	k := stepKey{parent, row}
	at, ok := c.index[k]
	if !ok {
		at = len(c.steps)
		c.index[k] = at
		c.steps = append(c.steps, step{parent: parent, row: row})
		c.steps[parent].kids = append(c.steps[parent].kids, at)
	}
	return at
}

// add adds up what steps cost, and what functions and entry points do in all. A function counts once on a path.
func (c *costs) add() {
	gos := new([2]int64)
	for i := len(c.steps) - 1; i >= 0; i-- {
		s := &c.steps[i]
		for side := range s.own {
			s.all[side] += s.own[side]
			gos[side] += int64(s.gos[side])
			if i > 0 {
				c.steps[s.parent].all[side] += s.all[side]
			}
		}
	}
	c.totals[goRow] = gos
	on := make(map[uint32]int) // how often a function is on the path
	todo := []int{0}           // steps to enter, or ^steps to leave
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if i < 0 {
			on[c.steps[^i].row]--
			continue
		}
		s := &c.steps[i]
		if s.entry = c.steps[s.parent].entry; s.isEntry {
			s.entry = i
		}
		if i > 0 && on[s.row] == 0 {
			addTo(c.totals, s)
			if s.isEntry {
				addTo(c.entries, s)
			}
		}
		on[s.row]++
		todo = append(append(todo, ^i), s.kids...)
	}
}

func addTo(of map[uint32]*[2]int64, s *step) {
	if of[s.row] == nil {
		of[s.row] = new([2]int64)
	}
	for side, n := range s.all {
		of[s.row][side] += int64(n)
	}
}

// walk makes the charges.
func (c *costs) walk() {
	todo := []int{0}
	for len(todo) > 0 {
		s := &c.steps[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		if s.gos[0] != s.gos[1] {
			c.charge(s, goRow, s.gos, s.goNode)
		}
		var same []int
		var others [2]int64 // of what is not as it was
		if s.own[0] != s.own[1] && c.v.Name != profile.Calls.Name {
			// Code that is written otherwise is compiled otherwise: that is held against all that it does.
			others = [2]int64{int64(s.own[0]), int64(s.own[1])}
			c.charge(s, s.row, [2]uint64{s.all[0], s.all[0] - s.own[0] + s.own[1]}, s.node)
		}
		for _, k := range s.kids {
			kid := &c.steps[k]
			if kid.calls[0] == kid.calls[1] && (kid.own[0] == kid.own[1] || !c.kinds[kid.row].isType) {
				same = append(same, k)
				continue
			}
			others[0], others[1] = others[0]+int64(kid.all[0]), others[1]+int64(kid.all[1])
			c.charge(s, kid.row, kid.all, kid.node)
		}
		if others[1] >= others[0] || s.all[1] > s.all[0] {
			todo = append(todo, same...)
		}
	}
}

// charge adds what a call cost in one context.
func (c *costs) charge(s *step, callee uint32, all [2]uint64, node uint32) {
	if e := c.entries[c.steps[s.entry].row]; s.entry > 0 && e != nil && e[1] < e[0] && callee != goRow {
		return
	}
	of := c.charges[s.row]
	if of == nil {
		of = make(map[uint32]*charge)
		c.charges[s.row] = of
	}
	if of[callee] == nil {
		of[callee] = new(charge)
	}
	ch, grown := of[callee], int64(all[1])-int64(all[0])
	ch.base, ch.grown = ch.base+int64(all[0]), ch.grown+grown
	if node != 0 && (ch.node == 0 || grown > ch.most) {
		ch.node, ch.most = node, grown
	}
}

// A cost is a function whose calls cost more.
type cost struct {
	caller, callee uint32 // rows; of the callee that has grown most
	base, new      uint64 // of all calls of the caller that are not as they were
	node           uint32 // of the new side: where the callee has grown most
}

// over returns the costs that a limit does not allow, the largest growth first, and what is charged in all.
func (c *costs) over(l *Limit) (list []cost) {
	for _, caller := range slices.Sorted(maps.Keys(c.charges)) {
		var base, here, grown, most int64
		x := cost{caller: caller}
		for _, callee := range slices.Sorted(maps.Keys(c.charges[caller])) {
			ch := c.charges[caller][callee]
			by, total := ch.grown, c.totals[callee]
			if total != nil {
				in := total[1] - total[0]
				by = max(min(by, max(0, in)), min(0, in))
			}
			if callee == goRow {
				if float64(by) > l.Percent/100*float64(ch.base) {
					list = append(list, cost{caller, goRow, uint64(ch.base), uint64(ch.base + by), ch.node})
				}
				continue
			}
			if base, here, grown = base+ch.base, here+ch.grown, grown+by; by > most {
				most, x.callee, x.node = by, callee, ch.node
			}
		}
		x.base, x.new = uint64(base), uint64(max(0, base+min(here, grown)))
		if most > 0 && !l.allows(x.base, x.new-min(x.new, c.steps[0].all[0]/unnoticed)) {
			list = append(list, x)
		}
	}
	slices.SortStableFunc(list, func(a, b cost) int { return cmp.Compare(b.new-b.base, a.new-a.base) })
	return list
}

// A kind says what a row of functions is.
type kind struct {
	counts   bool // see Costs
	own      bool // of the program itself
	standard bool // of the standard library
	runtime  bool // of the runtime, which is a part of it
	testing  bool // of package testing
	isType   bool
	pseudo   bool
	in       [2]bool
}

// A region is whose code a node is.
type region uint8

const (
	ordinary region = iota // all other
	tests                  // package testing, and what it calls of Go
	newTest                // a test that only one side has
)

// enter returns the region of a function that is called in one.
func (r region) enter(k kind) region {
	switch {
	case r == newTest:
		return newTest
	case k.testing || r == tests && (k.standard || k.isType):
		return tests
	case r == tests && !k.counts:
		return newTest
	}
	return ordinary
}

// kinds returns the kind of each row of functions.
func (g *group) kinds() []kind {
	list := make([]kind, g.numRows())
	for side, t := range g.trees {
		rows, own, standard := g.match.Functions(side), cct.Application(t), cct.Standard(t)
		for _, n := range t.Nodes[1:] {
			list[rows[n.Func]].in[side] = true
		}
		for i, f := range t.Funcs {
			k := &list[rows[i]]
			k.isType, k.pseudo = k.isType || f.Type || strings.HasPrefix(f.Name, "new("), k.pseudo || f.Pseudo
			// A baseline has no files, by which that is known.
			if f.File == "" && k.own {
				continue
			}
			k.own = !k.pseudo && !k.isType && own(uint32(i))
			k.standard = !k.pseudo && !k.isType && standard(uint32(i))
		}
		for i, f := range t.Funcs {
			pkg := cct.Package(f.Name) // that of a module may begin as theirs: testing.example.com/app
			list[rows[i]].runtime = pkg == "runtime" || strings.HasPrefix(pkg, "internal/runtime/")
			list[rows[i]].testing = pkg == "testing"
		}
	}
	guessed := g.guessed()
	for row := range list {
		k := &list[row]
		k.counts = k.pseudo || k.isType || k.standard || k.in[0] && k.in[1] && !guessed[uint32(row)]
	}
	return list
}

// guessed returns the rows of functions that seem to have another name, and are not called as often as before: one may
// have gone, and another one, which looks like it, is new.
func (g *group) guessed() map[uint32]bool {
	rows := make(map[uint32]bool)
	if len(g.renamed) == 0 {
		return rows
	}
	calls := make(map[uint32]*[2]uint64)
	for side, t := range g.trees {
		of, counts := g.match.Functions(side), g.callsOf(side)
		for i, n := range t.Nodes {
			row := of[n.Func]
			if calls[row] == nil {
				calls[row] = new([2]uint64)
			}
			calls[row][side] += counts[i]
		}
	}
	for i, row := range g.match.Functions(1) {
		was, ok := g.renamed[similarity.Outermost(g.trees[1].Funcs[i].Name)]
		_, last := similarity.Package(was)
		_, now := similarity.Package(similarity.Outermost(g.trees[1].Funcs[i].Name))
		if c := calls[row]; ok && last != now && c != nil && c[0] != c[1] {
			rows[row] = true
		}
	}
	return rows
}

// numRows returns how many rows of functions there are, with row 0.
func (g *group) numRows() int {
	n := uint32(1)
	for side := range g.trees {
		for _, row := range g.match.Functions(side) {
			n = max(n, row+1)
		}
	}
	return int(n)
}

// callsOf returns the calls of the nodes of one side, zeros if they are not known.
func (g *group) callsOf(side int) []uint64 {
	for i, t := range g.types {
		if t.Name == profile.Calls.Name {
			return g.counts[i][side]
		}
	}
	return make([]uint64, len(g.trees[side].Nodes))
}
