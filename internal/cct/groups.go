package cct

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/profile"
)

// Groupings are the ways to add up contexts, see [Tree.By], beside label:KEY.
var Groupings = []string{"function", "package", "file", "line", "goroutine", "reason", "type"}

// Kind returns, for a grouping by what the runtime did for a function, the values that have it, the usual one first;
// nil for another grouping.
func Kind(grouping string) []profile.Metric {
	switch grouping {
	case "type":
		return []profile.Metric{profile.AllocSpace, profile.AllocObjects, profile.InuseSpace, profile.InuseObjects}
	case "reason":
		return []profile.Metric{profile.Wait, profile.Waits, profile.Delay, profile.Contentions,
			profile.Existing, profile.Idle}
	}
	return nil
}

// A Group sums up the contexts that belong to one function, package, file, line or kind of
// goroutine.
type Group struct {
	// of the function or package; the function that a goroutine began with, or that has the line; "" for files
	Name string
	File string
	Line int
	Via  Via    // how a goroutine began
	Why  string // of functions: the reasons for which sampled goroutines wait, as far as they are known

	Self     uint64 // the values of the group's own contexts
	Total    uint64 // with those of all contexts below them, each once
	Contexts uint64 // contexts of its own that have a value; none of the truncated ones
}

// By adds up the contexts of t in one of the Groupings. A context is
//
//   - in the group of its function, or of that function's package or file; allocations and waits
//     are in that of the function that asked for them, waits in that of the innermost function outside
//     of the runtime and of package sync,
//   - by type, in that of the type that was allocated; by reason, in that of the reason to wait,
//   - by line: in that of the line that makes the call; in a tree of [OfLines], in that of the
//     line itself,
//   - by label:KEY, in that of the innermost value of the label around it,
//   - by goroutine: in that of the go statement, or of the pseudo-function, that its goroutine
//     began with. Goroutines that it started are below it.
//
// Groups without a value, and the root's, are left out. Those with the largest value of
// their own come first.
func (t *Tree) By(grouping string) ([]Group, error) {
	key := map[string]func(n uint32) (groupKey, bool){
		"function": t.functionKey, "package": t.functionKey, "file": t.functionKey, "line": t.lineKey,
		"goroutine": t.goroutineKey,
	}[grouping]
	if Kind(grouping) != nil {
		key = t.typeKey
	}
	if label, ok := LabelOf(grouping); ok {
		key = t.labelKey(label)
	}
	if key == nil {
		return nil, fmt.Errorf("unknown grouping %q (want %s)", grouping, strings.Join(Groupings, ", "))
	}
	groups, of := t.group(grouping, key)
	lost := t.Truncated()
	for i, n := range t.Nodes {
		g := &groups[of[i]]
		g.Self += n.Count
		if n.Count > 0 && !lost[i] {
			g.Contexts++
		}
	}
	for i, total := range t.totals(of, len(groups)) {
		groups[i].Total = total
	}
	if grouping == "function" {
		t.addReasons(groups, of)
	}
	groups = slices.DeleteFunc(groups[1:],
		func(g Group) bool { return g.Self == 0 && (g.Total == 0 || strings.HasPrefix(g.Name, "[")) })
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Via, b.Via))
	})
	return groups, nil
}

// A groupKey is a function and a site, each 0 where it does not count.
type groupKey struct{ fn, site uint32 }

// functionKey, lineKey and goroutineKey return the key of a node's group, or that it is in
// that of its parent.
func (t *Tree) functionKey(n uint32) (groupKey, bool) {
	_, n = t.Allocator(n)
	return groupKey{fn: t.Nodes[n].Func}, true
}

// HasTypes reports whether t counts allocations, which can be added up by type, or waits, by reason.
func (t *Tree) HasTypes() bool {
	return slices.ContainsFunc(t.Funcs, func(f Func) bool { return f.Type })
}

// typeKey is that of the function, if it stands for a type.
func (t *Tree) typeKey(n uint32) (groupKey, bool) {
	fn := t.Nodes[n].Func
	return groupKey{fn: fn}, t.Funcs[fn].Type
}

// Allocator returns, for the node of allocations, the call that asked for memory, which is a native or the node itself,
// and the node of the function that made it; for that of waits, those of the function that waits. For any other node
// it is the node itself, and its [Tree.Waiter].
func (t *Tree) Allocator(n uint32) (call, function uint32) {
	if !t.Funcs[t.Nodes[n].Func].Type {
		return n, t.Waiter(n)
	}
	call, function = n, t.Nodes[n].Parent
	if t.Sites[t.Nodes[function].Site].Via == ViaNative {
		call, function = function, t.Nodes[function].Parent
	}
	if t.countsWaits() {
		return t.outOfRuntime(call, function)
	}
	return call, function
}

func (t *Tree) lineKey(n uint32) (groupKey, bool) {
	if t.lines {
		return t.functionKey(n)
	}
	call, _ := t.Allocator(n)
	node := t.Nodes[call]
	return groupKey{t.Nodes[node.Parent].Func, node.Site}, true
}

func (t *Tree) goroutineKey(n uint32) (groupKey, bool) {
	node := t.Nodes[n]
	return groupKey{node.Func, node.Site}, node.Parent == 0 || t.Sites[node.Site].Via == ViaGo
}

// group returns the groups, without values, and that of each node. Group 0 is the root's.
func (t *Tree) group(grouping string, key func(n uint32) (groupKey, bool)) (groups []Group, of []uint32) {
	groups, of = make([]Group, 1), make([]uint32, len(t.Nodes))
	byKey, byGroup := make(map[groupKey]uint32), make(map[Group]uint32)
	for i := 1; i < len(t.Nodes); i++ {
		k, own := key(uint32(i))
		if !own {
			of[i] = of[t.Nodes[i].Parent]
			continue
		}
		at, ok := byKey[k]
		if !ok {
			g := t.describe(grouping, k)
			if at, ok = byGroup[g]; !ok {
				at = uint32(len(groups))
				groups = append(groups, g)
				byGroup[g] = at
			}
			byKey[k] = at
		}
		of[i] = at
	}
	return groups, of
}

// describe returns the group with this key, without values.
func (t *Tree) describe(grouping string, k groupKey) Group {
	f, s := t.Funcs[k.fn], t.Sites[k.site]
	if label, ok := LabelOf(grouping); ok {
		if f.Label.Value == "" {
			return Group{Name: pseudo("no " + label)}
		}
		return Group{Name: f.Name}
	}
	switch grouping {
	case "package":
		return Group{Name: Package(f.Name)}
	case "file":
		if f.Pseudo {
			return Group{Name: f.Name}
		} else if f.File == "" {
			return Group{Name: "[file not known]"}
		}
		return Group{File: f.File}
	case "line":
		if t.lines {
			return Group{Name: f.Name, File: f.File, Line: f.Line}
		}
		return Group{Name: f.Name, File: s.File, Line: s.Line}
	case "goroutine":
		if s.Via == ViaGo {
			return Group{Name: f.Name, File: s.File, Line: s.Line, Via: ViaGo}
		}
		return Group{Name: f.Name}
	}
	return Group{Name: f.Name, File: f.File, Line: f.Line}
}

// Package returns the import path in the display name of a function; of a name that has
// none, such as that of a C function or a pseudo-function, all of it.
func Package(name string) string {
	slash := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot <= 0 || strings.HasPrefix(name, "[") {
		return name
	}
	// The linker writes a dot in the last element of a path as %2e.
	return name[:slash] + strings.ReplaceAll(name[slash:slash+dot], "%2e", ".")
}

// totals returns for each of n groups the values of all contexts that it is in, each once,
// however often the group is in one. of is the group of each node.
func (t *Tree) totals(of []uint32, n int) []uint64 {
	sum := make([]uint64, n)
	below, kids := t.Inclusive(), t.Children()
	active := make([]int, n) // how often it is on the path to here
	type visit struct {
		node uint32
		done bool
	}
	for stack := []visit{{0, false}}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		g := of[v.node]
		if v.done {
			active[g]--
			continue
		}
		if active[g]++; active[g] == 1 && v.node != 0 {
			sum[g] += below[v.node]
		}
		stack = append(stack, visit{v.node, true})
		for _, k := range kids.Of(v.node) {
			stack = append(stack, visit{k, false})
		}
	}
	return sum
}

// InclusiveByFunction returns for each function the counts of all contexts
// that it is in, each once, however often it is in one.
func (t *Tree) InclusiveByFunction() []uint64 {
	of := make([]uint32, len(t.Nodes))
	for i, n := range t.Nodes {
		of[i] = n.Func
	}
	return t.totals(of, len(t.Funcs))
}
