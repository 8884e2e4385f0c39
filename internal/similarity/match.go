package similarity

import "strings"

// A Match is what is the same in two trees, of two builds of one program.
type Match struct {
	n     *naming
	funcs map[string]uint32
}

// How says how two trees are compared.
type How struct {
	Alike   bool              // they are of one build, see Alike
	Loose   bool              // only functions count, as a tree does not know its call sites
	Renamed map[string]string // names in the second tree, by which the first one has other names, see Renames
}

// NewMatch compares two trees.
func NewMatch(a, b Tree, how How) *Match {
	return &Match{nameTrees([]Tree{a, b}, how), make(map[string]uint32)}
}

// Renames returns the names of functions in a for those in b that seem to be the same.
func Renames(a, b Tree) map[string]string { return findRenames(a, b) }

// Functions returns for each function of tree i, 0 or 1, its index among those of both
// trees, from 1 on.
func (m *Match) Functions(i int) []uint32 {
	funcs := m.n.trees[i].Funcs
	list := make([]uint32, len(funcs))
	for k, f := range funcs {
		name := m.n.names[i][f.Name]
		if m.funcs[name] == 0 {
			m.funcs[name] = uint32(len(m.funcs) + 1)
		}
		list[k] = m.funcs[name]
	}
	return list
}

// Calls returns for each node of tree i the index of the call that entered it, among those of
// both trees, from 1 on. A call has a place in a function, and a callee.
func (m *Match) Calls(i int) []uint32 { return m.n.calls(i) }

// Contexts returns for each node of tree i the index of its context among those of both
// trees, from 1 on; that of the root is 0.
func (m *Match) Contexts(i int) []uint32 { return m.n.contexts(i) }

// A place is where a function begins. Of the file only the last part counts, as a checkout may be elsewhere.
type place struct {
	file string
	line int
}

// Alike reports whether two trees may be of one build: what both know is the same, that is where functions are
// and what they call, and no place has another function. Trees of one build are always alike. Those of two builds are
// if the change lies in what was not met.
func Alike(a, b Tree) bool {
	begins := make(map[string]place)
	names := make(map[place]string)
	for _, f := range a.Funcs {
		if f.File != "" && f.Line > 0 {
			at := place{lastPart(f.File), f.Line}
			begins[f.Name] = at
			names[at] = Outermost(f.Name)
		}
	}
	for _, f := range b.Funcs {
		if f.File == "" || f.Line <= 0 {
			continue
		}
		at := place{lastPart(f.File), f.Line}
		if was, ok := begins[f.Name]; ok && was != at {
			return false
		}
		name, ok := names[at]
		pkg, _ := split(f.Name)
		if wasPkg, _ := split(name); ok && wasPkg == pkg && name != Outermost(f.Name) && at.line > 1 {
			return false
		}
	}
	return sameCalls(a, b)
}

// sameCalls reports whether functions that both trees know have the same calls in their code. The instances of
// a generic function, which share a name, may have others each.
func sameCalls(a, b Tree) bool {
	type call struct {
		callee string
		line   int
	}
	calls := func(t Tree) map[string]map[call]bool {
		all := make(map[string]map[call]bool)
		for _, c := range t.Calls {
			if c.Copied || strings.Contains(c.Caller, "[") {
				continue
			}
			if all[c.Caller] == nil {
				all[c.Caller] = make(map[call]bool)
			}
			all[c.Caller][call{c.Callee, c.Line}] = true
		}
		return all
	}
	inA := calls(a)
	for caller, inB := range calls(b) {
		was, ok := inA[caller]
		if !ok {
			continue
		}
		if len(was) != len(inB) {
			return false
		}
		for c := range inB {
			if !was[c] {
				return false
			}
		}
	}
	return true
}

// lastPart is path.Base for files of any system.
func lastPart(file string) string { return file[strings.LastIndexAny(file, `/\`)+1:] }
