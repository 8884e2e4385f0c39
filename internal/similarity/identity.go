package similarity

import (
	"cmp"
	"encoding/binary"
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

// Align returns the edges of trees of different builds. An edge is a path of functions and
// call sites; what is the same function and the same call site is found out by names and by
// the order in the code, so that lines may differ. See identity.
func Align(trees ...Tree) []Weights {
	n := newNaming(trees)
	list := make([]Weights, len(trees))
	for i := range trees {
		list[i] = n.edges(i)
	}
	return list
}

// A naming knows what is the same in some trees.
//
//   - A function is known by its name. The numbers in names of closures, of which one more
//     renumbers all that follow it, are replaced by ids that follow the order
//     of the closures in their function. Hashes that the go command puts into names
//     of plugins are left out.
//   - A call site is known by its function, its callee and its order among all call
//     sites of the function. If the callee is not known before the call is made, the order
//     among all such sites counts.
//   - Whether a call is inlined, or of a native, does not count, as that depends on
//     the compiler; whether it is a go statement, a deferred call or a fault, does.
type naming struct {
	trees  []Tree
	names  []map[string]string // for each tree, of each function
	begins []map[string]int    // for each tree, the lines where functions begin
	sites  []map[site]int      // for each tree, ids of call sites
	edge   map[edge]uint32     // index of each edge of any tree
}

// A site is the place of a call, as one tree has it.
type site struct {
	caller, callee string // by naming.names; callee is "" if it is not known beforehand
	line           int
}

// An edge is one more call of a path.
type edge struct {
	path   uint32
	callee string
	site   int
	via    cct.Via
}

func newNaming(trees []Tree) *naming {
	n := &naming{trees: trees, edge: make(map[edge]uint32)}
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
	}
	n.orderSites()
	return n
}

// closure is what the compiler appends to the name of a function for one that is made in it.
var closure = regexp.MustCompile(`^(.+)([.-](?:func|gowrap|deferwrap|range)?)([0-9]+)$`)

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
		for _, name := range levels[i][0] {
			n.names[i][name] = unnamed.ReplaceAllString(name, "plugin/unnamed.")
		}
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
			outer = m[1] // a function that was inlined wherever it is called
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

// sitesOf returns all call sites of tree i, by caller, each once.
func (n *naming) sitesOf(i int) map[string][]site {
	known := make(map[site]bool)
	for _, c := range n.trees[i].Calls {
		known[site{n.names[i][c.Caller], n.names[i][c.Callee], c.Line}] = true
	}
	for k := range n.trees[i].Nodes {
		if s := n.siteOf(i, k); k > 0 && !known[s] {
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

// siteOf returns where node k of tree i was entered.
func (n *naming) siteOf(i, k int) site {
	t := n.trees[i]
	node := t.Nodes[k]
	return site{n.names[i][t.Funcs[t.Nodes[node.Parent].Func].Name], n.names[i][t.Funcs[node.Func].Name], t.Sites[node.Site].Line}
}

// begin returns the line that those of call sites of a function are relative to: its own, or if
// that is not known, the first of them.
func (n *naming) begin(i int, caller string, list []site) int {
	if line := n.begins[i][caller]; line > 0 {
		return line
	}
	return list[0].line
}

// edges returns the edges of tree i with their weights.
func (n *naming) edges(i int) Weights {
	t, w := n.trees[i], make(Weights)
	paths := make([]uint32, len(t.Nodes))
	for k, node := range t.Nodes {
		if k == 0 {
			continue
		}
		s := n.siteOf(i, k)
		id, ok := n.sites[i][s]
		if !ok {
			id = n.sites[i][site{s.caller, "", s.line}]
		}
		e := edge{paths[node.Parent], s.callee, id, t.Sites[node.Site].Via}
		if e.via == cct.ViaInlined || e.via == cct.ViaNative {
			e.via = cct.ViaCall
		}
		if _, ok := n.edge[e]; !ok {
			n.edge[e] = uint32(len(n.edge) + 1)
		}
		paths[k] = n.edge[e]
		if node.Count > 0 {
			w[string(binary.LittleEndian.AppendUint32(nil, paths[k]))] += float64(node.Count)
		}
	}
	return w
}
