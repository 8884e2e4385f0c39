package similarity

// A Match tells what is the same in two trees, of two builds of one program.
type Match struct {
	n     *naming
	funcs map[string]uint32
}

// NewMatch compares two trees. With renames set, functions that have another name in the
// second are looked for, see renames. With loose set, call sites do not count, because one
// of the trees does not know any.
func NewMatch(a, b Tree, renames, loose bool) *Match {
	var renamed map[string]string
	if renames {
		renamed = findRenames(a, b)
	}
	return &Match{nameTrees([]Tree{a, b}, renamed, loose), make(map[string]uint32)}
}

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
