package encoder

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// A Word is the state of a frame as the injected code keeps it; package layout has the
// layout. The key of a group is in it only on the way from a caller to a callee.
type Word uint64

const (
	// MaxDepth is the depth at which a ccStack is full.
	MaxDepth = layout.MaxDeep
	// MaxNumCC bounds numCC, so that an addition does not reach the key.
	MaxNumCC = layout.MaxNum - 1
)

// MakeWord puts a word together.
func MakeWord(depth uint32, id uint64, key uint16) Word {
	return Word(depth) | Word(id)<<layout.WordID | Word(key)<<layout.WordKey
}

// Depth returns the depth of the ccStack.
func (w Word) Depth() uint32 { return uint32(w & MaxDepth) }

// ID returns the id.
func (w Word) ID() uint64 { return uint64(w>>layout.WordID) % layout.MaxNum }

// Key returns the key.
func (w Word) Key() uint16 { return uint16(w >> layout.WordKey) }

// SiteTables hold one addition value for each site, whatever the target, so that
// a caller has nothing to compare.
//
// Dynamic sites and the targets that were seen at them form groups: two sites
// belong to one group if a chain of common targets joins them. In its group each
// site has an interval of ids for itself, [av, av+numCC(caller)), which is good
// for every target of the group, also for those that this site has not had yet.
// The ids of a target begin with those of its group; its static in-edges come
// above. What is left to find out is whether a target belongs to the site's group
// at all. That is what keys are for: a site adds its group's key, and the callee
// takes its own away. Functions that are in no group have key 0.
//
// A group is a node between its sites and its targets. A site can be left out,
// when it would close a cycle; a target cannot.
type SiteTables struct {
	Add     []uint64 // for each site: what to add to the caller's word, an id and a key
	Key     []uint16 // for each function
	NumCC   []uint32 // for each function; 0 accepts nothing
	GroupCC []uint32 // for each key: the end of its sites' ids; 0 for key 0

	static  [][]interval // of each function
	grouped [][]interval // for each key
	values  []SiteValue
	leftOut int
}

// NumberSites numbers a graph by weight. Ids stay below limit, at most [MaxNumCC];
// for that, the coldest in-edges of a function are left out.
func NumberSites(g *Graph, limit uint64) *SiteTables {
	keys, groups := groupKeys(g)
	// Nodes: a group has the number of its key, with nothing at 0; the functions
	// come behind.
	n := newNumbering(groups + g.p.Funcs)
	for f, key := range keys {
		if key != 0 {
			n.base[groups+f], n.least[key] = int(key), 0
		}
	}
	n.links = siteLinks(g, keys, groups)
	n.number(n.chooseHot(), min(limit, MaxNumCC))
	t := newSiteTables(g.p, n, keys, groups)
	t.leftOut = n.leftOut
	return t
}

// groupKeys returns the key of each function, and the number of keys with 0. If
// there are more groups than keys, the coldest have none: their functions have
// key 0, and their sites are not encoded.
func groupKeys(g *Graph) ([]uint16, int) {
	sets := newUnionFind(g.p.Funcs + len(g.p.Sites))
	weight := make(map[int]uint64)
	dynamic := func(do func(Edge)) {
		for _, e := range g.Edges {
			if g.p.Sites[e.Site].Kind == Dynamic {
				do(e)
			}
		}
	}
	dynamic(func(e Edge) { sets.join(int(e.Func), g.p.Funcs+int(e.Site)) })
	var roots []int
	dynamic(func(e Edge) {
		set := sets.find(int(e.Func))
		if _, ok := weight[set]; !ok {
			roots = append(roots, set)
		}
		weight[set] += e.Weight
	})
	slices.SortStableFunc(roots, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	roots = roots[:min(len(roots), layout.NumKeys-1)]
	key := make(map[int]uint16)
	for i, set := range roots {
		key[set] = uint16(i + 1)
	}
	keys := make([]uint16, g.p.Funcs)
	for f := range keys {
		keys[f] = key[sets.find(f)]
	}
	return keys, len(roots) + 1
}

// siteLinks makes each static edge a link, and each dynamic site one to its group.
func siteLinks(g *Graph, keys []uint16, groups int) []link {
	var links []link
	place := make(map[Site]int) // of a dynamic site's link
	for _, e := range g.Edges {
		info := g.p.Sites[e.Site]
		to := groups + int(e.Func)
		if info.Kind == Dynamic {
			if to = int(keys[e.Func]); to == 0 {
				continue
			}
			if i, ok := place[e.Site]; ok {
				links[i].weight += e.Weight
				continue
			}
			place[e.Site] = len(links)
		}
		links = append(links, link{from: groups + int(info.Caller), to: to, call: e.Call, weight: e.Weight})
	}
	return links
}

// newSiteTables makes tables of a numbering.
func newSiteTables(p *Program, n *numbering, keys []uint16, groups int) *SiteTables {
	numCC := make([]uint32, len(n.numCC)-groups)
	for f := range numCC {
		numCC[f] = uint32(n.numCC[groups+f])
	}
	var values []SiteValue
	for _, l := range n.links {
		if l.encoded {
			values = append(values, SiteValue{l.call, uint32(l.av)})
		}
	}
	return makeSiteTables(p, keys, numCC, values)
}

// A SiteValue is the addition value of a site, as a dictionary has it. The call is
// any one of the site: its target tells the group.
type SiteValue struct {
	Call  Call
	Value uint32
}

// Values returns what [ReadSiteTables] needs beside Key and NumCC.
func (t *SiteTables) Values() []SiteValue { return t.values }

// ReadSiteTables makes tables of a dictionary, for each function its key and numCC
// and for each encoded site its value, whoever has made it. It checks what decoding
// relies on: at each function the intervals of its static in-edges and of the sites
// of its group are disjoint and below numCC, but for loops, and no path but these leads back to where it came from.
func ReadSiteTables(p *Program, key []uint16, numCC []uint32, values []SiteValue) (*SiteTables, error) {
	if len(key) == 0 || len(key) > p.Funcs || len(numCC) != len(key) {
		return nil, fmt.Errorf("%d keys and %d numCC for %d functions", len(key), len(numCC), p.Funcs)
	}
	for _, v := range values {
		switch {
		case int(v.Call.Site) >= len(p.Sites) || int(v.Call.Func) >= len(key) ||
			int(p.Sites[v.Call.Site].Caller) >= len(key):
			return nil, fmt.Errorf("value of site %d: there is no such call", v.Call.Site)
		case p.Sites[v.Call.Site].Kind == Dynamic && key[v.Call.Func] == 0:
			return nil, fmt.Errorf("value of site %d: its target is in no group", v.Call.Site)
		}
	}
	t := makeSiteTables(p, key, numCC, values)
	return t, t.check(p)
}

// makeSiteTables makes tables of a dictionary.
func makeSiteTables(p *Program, key []uint16, numCC []uint32, values []SiteValue) *SiteTables {
	groups := int(slices.Max(key)) + 1
	t := &SiteTables{
		Add: make([]uint64, len(p.Sites)), Key: key, NumCC: numCC, GroupCC: make([]uint32, groups),
		static: make([][]interval, len(key)), grouped: make([][]interval, groups), values: values,
	}
	for s := range t.Add {
		t.Add[s] = uint64(MakeWord(0, 0, layout.KeyPush))
	}
	for _, v := range values {
		k, site := key[v.Call.Func], p.Sites[v.Call.Site]
		in := interval{uint64(v.Value), uint64(numCC[site.Caller]), v.Call.Site}
		t.Add[v.Call.Site] = uint64(MakeWord(0, in.av, k))
		if site.Kind == Dynamic {
			t.grouped[k] = append(t.grouped[k], in)
			t.GroupCC[k] = max(t.GroupCC[k], uint32(in.av+in.width))
		} else {
			t.static[v.Call.Func] = append(t.static[v.Call.Func], in)
		}
	}
	for _, list := range slices.Concat(t.static, t.grouped) {
		slices.SortFunc(list, byValue)
	}
	return t
}

// check returns what makes tables unfit for decoding. A site may have more ids than its targets have room for: its ids
// are the highest there, the callee does not take those from numCC on, and only such a site may close a cycle.
func (t *SiteTables) check(p *Program) error {
	order, loops := inOrder(len(t.GroupCC)+len(t.Key)), make(map[Site]bool)
	for f, key := range t.Key {
		end, num := uint64(0), uint64(t.NumCC[f])
		for _, in := range t.intervals(Func(f)) {
			if in.av < end {
				return fmt.Errorf("function %d: site %d has ids of another site", f, in.site)
			}
			end = in.av + in.width
			loops[in.site] = loops[in.site] || end > num
			if end > num && (in.av == 0 || in.av >= num || end >= MaxNumCC) {
				return fmt.Errorf("function %d: ids go up to %d, but numCC is %d", f, end, num)
			}
		}
		if key != 0 {
			order.Add(int(key), len(t.GroupCC)+f)
		}
	}
	for _, v := range t.values {
		site, to := p.Sites[v.Call.Site], len(t.GroupCC)+int(v.Call.Func)
		if site.Kind == Dynamic {
			to = int(t.Key[v.Call.Func])
		}
		if !loops[v.Call.Site] && !order.Add(len(t.GroupCC)+int(site.Caller), to) {
			return fmt.Errorf("site %d closes a cycle", v.Call.Site)
		}
	}
	return nil
}

// intervals returns those of a function, its group's among them, in order.
func (t *SiteTables) intervals(f Func) []interval {
	list := t.static[f]
	if key := t.Key[f]; key != 0 {
		list = slices.Concat(list, t.grouped[key])
		slices.SortFunc(list, byValue)
	}
	return list
}

// ID implements [Tables].
func (t *SiteTables) ID(state uint64) uint64 { return Word(state).ID() }

// Enter implements [Tables]. It is what the injected code does: the caller adds,
// the callee takes its key away, and what is left must be an id of its own.
func (t *SiteTables) Enter(state uint64, c Call) (uint64, bool) {
	if int(c.Site) >= len(t.Add) || int(c.Func) >= len(t.Key) {
		return 0, false
	}
	state += t.Add[c.Site] - uint64(MakeWord(0, 0, t.Key[c.Func]))
	return state, state < uint64(MakeWord(0, uint64(t.NumCC[c.Func]), 0))
}

// Caller implements [Tables].
func (t *SiteTables) Caller(f Func, id uint64) (Site, uint64, error) {
	if int(f) >= len(t.static) {
		return 0, 0, unknownID(f, id)
	}
	in, ok := findInterval(t.static[f], id)
	if key := t.Key[f]; !ok && key != 0 {
		in, ok = findInterval(t.grouped[key], id)
	}
	if !ok {
		return 0, 0, unknownID(f, id)
	}
	return in.site, id - in.av, nil
}

// Compares implements [Tables]: that nothing has to be is what sites are for.
func (t *SiteTables) Compares(Site) bool { return false }

// Sizes implements [Tables]. An encoded edge is a site here.
func (t *SiteTables) Sizes() TableSizes {
	s := TableSizes{Encoded: len(t.values), LeftOut: t.leftOut,
		Bytes: uint64(8*len(t.Add) + 6*len(t.Key) + 4*len(t.GroupCC))}
	s.numCCs(len(t.NumCC), func(f int) uint64 { return uint64(t.NumCC[f]) })
	return s
}
