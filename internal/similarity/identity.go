package similarity

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"

	"github.com/stemma-go/stemma/internal/cct"
)

// A Tree is a tree, with what is known of the code that it is from.
type Tree struct {
	*cct.Tree
	Calls []cct.Call // all calls in the code, or nil if only those are known that were met
}

// A naming knows what is the same in some trees.
//
//   - A function is known by its name. The numbers in names of closures, where one more
//     renumbers all that follow it, are replaced by ids that follow the order
//     of the closures in their function. Hashes that the go command puts into names
//     of plugins are left out.
//   - A call site is known by its function, its callee and its order among all call
//     sites of the function. If the callee is not known before the call is made, the order
//     among all such sites counts.
//   - Whether a call is inlined, or of a native, does not count, as that depends on
//     the compiler; whether it is a go statement, a deferred call or a fault, does.
//
// In trees of one build names and lines are what they say. Where a tree knows functions only, neither the order
// of closures is known nor whether there are others that never ran: all closures in a function are one.
type naming struct {
	trees  []Tree
	how    How
	names  []map[string]string // for each tree, of each function
	begins []map[string]int    // for each tree, the lines where functions begin
	met    []met
	sites  []map[site]int // for each tree, ids of call sites

	pathCalls map[pathCall]uint32 // index of each call of any tree, from 1 on
	paths     *paths              // contexts of all trees
}

// A site is the place of a call, as one tree has it.
type site struct {
	caller, callee string // by naming.names; callee is "" if it is not known beforehand
	line           int
}

// A pathCall is one more call of a path.
type pathCall struct {
	caller, callee string // by naming.names
	site           int
	via            cct.Via
}

// met are the distinct calls that a tree has nodes of.
type met struct {
	of    []uint32 // for each node the call that entered it; that of the root has no meaning
	sites []site
	vias  []cct.Via
	ids   []uint32 // what naming.calls returns, once it was asked
}

func newNaming(trees []Tree) *naming { return nameTrees(trees, How{}) }

func nameTrees(trees []Tree, how How) *naming {
	n := &naming{trees: trees, how: how, pathCalls: make(map[pathCall]uint32), paths: newPaths()}
	for range trees {
		n.names = append(n.names, make(map[string]string))
		n.sites = append(n.sites, make(map[site]int))
	}
	n.nameFunctions()
	for i, t := range trees {
		begins := make(map[string]int)
		for _, f := range t.Funcs {
			begins[n.names[i][f.Name]] = f.Line
		}
		n.begins = append(n.begins, begins)
		n.met = append(n.met, n.callsMet(i))
	}
	switch {
	case how.Loose:
	case how.Alike:
		n.keepSites()
	default:
		n.orderSites()
	}
	return n
}

// callsMet returns the calls that tree i has nodes of. A tree has many more nodes than calls:
// only these are compared by name.
func (n *naming) callsMet(i int) met {
	type call struct{ caller, site, callee uint32 }
	t := n.trees[i]
	m := met{of: make([]uint32, len(t.Nodes))}
	known := make(map[call]uint32)
	for k, node := range t.Nodes {
		if k == 0 {
			continue
		}
		c := call{t.Nodes[node.Parent].Func, node.Site, node.Func}
		id, ok := known[c]
		if !ok {
			id = uint32(len(m.sites))
			known[c] = id
			s := t.Sites[c.site]
			m.sites = append(m.sites,
				site{n.names[i][t.Funcs[c.caller].Name], n.names[i][t.Funcs[c.callee].Name], s.Line})
			m.vias = append(m.vias, s.Via)
		}
		m.of[k] = id
	}
	return m
}

// closure is what the compiler appends to the name of a function for one that is made in it.
var closure = regexp.MustCompile(`^(.+)([.-](?:func|gowrap|deferwrap|range)?)([0-9]+)$`)

// Unnumbered returns the name of a function with * for the numbers of closures in it.
func Unnumbered(name string) string {
	if m := closure.FindStringSubmatch(name); m != nil {
		return Unnumbered(m[1]) + m[2] + "*"
	}
	return name
}

// unnamed is the package of a plugin that was built from files, not by import path.
var unnamed = regexp.MustCompile(`^plugin/unnamed-[0-9a-f]+\.`)

// nameFunctions fills n.names: first functions that are in no other one, then those in
// them, and so on.
func (n *naming) nameFunctions() {
	levels := make([][][]string, len(n.trees)) // for each tree and depth, names
	deepest := 0
	for i := range n.trees {
		levels[i] = n.functions(i)
		deepest = max(deepest, len(levels[i]))
		for depth, names := range levels[i] {
			for _, name := range names {
				switch {
				case depth == 0 || n.how.Alike:
					n.names[i][name] = n.plain(i, name)
				case n.how.Loose:
					n.names[i][name] = n.plain(i, Unnumbered(name))
				}
			}
		}
	}
	if n.how.Alike || n.how.Loose {
		return
	}
	orders := make(map[string]*order)
	for depth := 1; depth < deepest; depth++ {
		for i := range n.trees {
			if depth < len(levels[i]) {
				n.nameClosures(i, levels[i][depth], orders)
			}
		}
	}
}

// plain returns what stands for the name of a function of tree i that is in no other one.
func (n *naming) plain(i int, name string) string {
	if was, ok := n.how.Renamed[name]; ok && i == len(n.trees)-1 {
		name = was
	}
	return unnamed.ReplaceAllString(name, "plugin/unnamed.")
}

// functions returns the names of all functions that tree i speaks of, by how many functions
// they are in.
func (n *naming) functions(i int) [][]string {
	all := make(map[string]bool)
	for _, f := range n.trees[i].Funcs {
		all[f.Name] = true
	}
	for _, c := range n.trees[i].Calls {
		all[c.Caller] = true
		all[c.Callee] = true
	}
	levels := make([][]string, 1)
	for name := range all {
		depth := 0
		for m := closure.FindStringSubmatch(name); m != nil; m = closure.FindStringSubmatch(m[1]) {
			depth++
		}
		for len(levels) <= depth {
			levels = append(levels, nil)
		}
		levels[depth] = append(levels[depth], name)
	}
	return levels
}

// A numbered is a function in another one.
type numbered struct {
	name        string
	number, pos int
}

// nameClosures names functions of tree i that are in others, which have their names.
func (n *naming) nameClosures(i int, names []string, orders map[string]*order) {
	lines := make(map[string]int)
	for _, f := range n.trees[i].Funcs {
		lines[f.Name] = f.Line
	}
	kinds := make(map[string][]numbered)
	for _, name := range names {
		m := closure.FindStringSubmatch(name)
		outer, ok := n.names[i][m[1]]
		if !ok {
			outer = n.plain(i, m[1]) // a function that was inlined wherever it is called
		}
		f := numbered{name: name, pos: -1}
		f.number, _ = strconv.Atoi(m[3])
		if lines[name] > 0 && lines[m[1]] > 0 {
			f.pos = lines[name] - lines[m[1]]
		}
		kinds[outer+m[2]] = append(kinds[outer+m[2]], f)
	}
	for kind, list := range kinds {
		if orders[kind] == nil {
			orders[kind] = new(order)
		}
		marks := marksOf(list)
		orders[kind].add(marks, n.trees[i].Calls != nil)
		for k, f := range list {
			n.names[i][f.name] = kind + "#" + strconv.Itoa(marks[k].id)
		}
	}
}

// marksOf sorts closures of one function as the compiler has numbered them. If their lines
// are in another order (func init, in several files) or not all known, their numbers
// stand for them.
func marksOf(list []numbered) []mark {
	slices.SortFunc(list, func(a, b numbered) int { return a.number - b.number })
	lines := list[0].pos >= 0 && slices.IsSortedFunc(list, func(a, b numbered) int { return a.pos - b.pos })
	marks := make([]mark, len(list))
	for k, f := range list {
		if marks[k].pos = f.pos; !lines {
			marks[k].pos = f.number
		}
	}
	return marks
}

// orderSites fills n.sites.
func (n *naming) orderSites() {
	orders := make(map[string]*order)
	for i, t := range n.trees {
		for caller, list := range n.sitesOf(i) {
			slices.SortFunc(list, func(a, b site) int { return cmp.Or(a.line-b.line, cmp.Compare(a.callee, b.callee)) })
			if orders[caller] == nil {
				orders[caller] = new(order)
			}
			begin := n.begin(i, caller, list)
			marks := make([]mark, len(list))
			for k, s := range list {
				marks[k] = mark{name: s.callee, pos: s.line - begin}
			}
			orders[caller].add(marks, t.Calls != nil)
			for k, s := range list {
				n.sites[i][s] = marks[k].id
			}
		}
	}
}

// keepSites fills n.sites with lines.
func (n *naming) keepSites() {
	for i := range n.trees {
		for _, list := range n.sitesOf(i) {
			for _, s := range list {
				n.sites[i][s] = s.line
			}
		}
	}
}

// sitesOf returns all call sites of tree i, by caller, each once.
func (n *naming) sitesOf(i int) map[string][]site {
	known := make(map[site]bool)
	for _, c := range n.trees[i].Calls {
		known[site{n.names[i][c.Caller], n.names[i][c.Callee], c.Line}] = true
	}
	for _, s := range n.met[i].sites {
		if !known[s] {
			if beforehand := (site{s.caller, "", s.line}); known[beforehand] {
				s = beforehand
			}
			known[s] = true
		}
	}
	list := make(map[string][]site)
	for s := range known {
		list[s.caller] = append(list[s.caller], s)
	}
	return list
}

// begin returns the line that those of call sites of a function are relative to: its own, or if
// that is not known, the first of them.
func (n *naming) begin(i int, caller string, list []site) int {
	if line := n.begins[i][caller]; line > 0 {
		return line
	}
	return list[0].line
}

// calls returns for each node of tree i the index of the call that entered it, from 1 on.
func (n *naming) calls(i int) []uint32 {
	m := &n.met[i]
	if m.ids != nil {
		return m.ids
	}
	ids := make([]uint32, len(m.sites))
	for c, s := range m.sites {
		e := pathCall{caller: s.caller, callee: s.callee}
		if !n.how.Loose {
			e.site, e.via = n.siteID(i, s), m.vias[c]
		}
		if e.via == cct.ViaInlined || e.via == cct.ViaNative {
			e.via = cct.ViaCall
		}
		if n.pathCalls[e] == 0 {
			n.pathCalls[e] = uint32(len(n.pathCalls) + 1)
		}
		ids[c] = n.pathCalls[e]
	}
	list := make([]uint32, len(m.of))
	for k := range m.of {
		if k > 0 {
			list[k] = ids[m.of[k]]
		}
	}
	m.ids = list
	return list
}

// siteID returns the id of a call site of tree i, among those of its caller and callee.
func (n *naming) siteID(i int, s site) int {
	id, ok := n.sites[i][s]
	if !ok {
		id = n.sites[i][site{s.caller, "", s.line}]
	}
	return id
}

// contexts returns for each node of tree i the index of its context, from 1 on; 0 for the root.
func (n *naming) contexts(i int) []uint32 {
	return n.paths.of(n.trees[i].Tree, slices.Clone(n.calls(i)))
}
