package tree

import "github.com/stemma-go/stemma/internal/goroot/layout"

// A path is what the builder remembers of a node, so that few new nodes below it need a walk to the root: most
// functions are not on the path that they are called on, which a set shows that has a few functions more. Offsets of
// nodes are never used again, and neither the path of a node nor its home changes, unless a page is lost: then what was
// remembered goes on for a while. It is under the lock.
type path struct {
	node  uint32
	home  uint32  // see [Tree.Home]
	funcs funcSet // of node, and of what is further out, as [Tree.Up] leads there
}

// remembered is how many paths are remembered; a newer one takes the place of an older one.
const remembered = 256

// path returns the path of node n. What it points to is valid until another path is remembered.
func (t *Tree) path(n uint32) *path {
	p := t.remember(n)
	if p.node == n {
		return p
	}
	up, ok := t.Up(n)
	funcs := funcSet{}
	if ok {
		funcs = t.funcsFrom(up)
	} else {
		up = t.node(n).Parent // of labels: their home may be further out
	}
	return t.rememberPath(n, t.homeAmong(&funcs, up, t.node(n).Func, t.meta(n)), &funcs)
}

// homeAmong is homeAbove, where funcs are the functions of parent and of what is further out, if it is asked of a
// function.
func (t *Tree) homeAmong(funcs *funcSet, parent uint32, id uint64, meta *layout.Meta) uint32 {
	if meta != nil && !funcs.mayHave(id) {
		return 0
	}
	return t.homeAbove(parent, id, meta)
}

// rememberPath makes the path of node n one that is remembered. Its home is 0 if it is no back edge; funcs are the
// functions further out.
func (t *Tree) rememberPath(n, home uint32, funcs *funcSet) *path {
	if home == 0 {
		home = n
	}
	p := t.remember(n)
	*p = path{n, home, *funcs}
	p.funcs.add(t.node(n).Func)
	return p
}

// remember returns where the path of node n is remembered, if it is.
func (t *Tree) remember(n uint32) *path { return &t.paths[n/16%remembered] }

// funcsFrom returns the functions of node n and of what is further out.
func (t *Tree) funcsFrom(n uint32) (s funcSet) {
	for ok := true; ok; n, ok = t.Up(n) {
		if p := t.remember(n); p.node == n {
			s.join(&p.funcs)
			break
		}
		s.add(t.node(n).Func)
	}
	return s
}

// A funcSet is a set of functions, a Bloom filter with one hash: it may have more than was added.
type funcSet [4]uint64

func (s *funcSet) place(id uint64) (word *uint64, bit uint64) {
	h := layout.Hash(id) % (64 * uint32(len(s)))
	return &s[h/64], 1 << (h % 64)
}

func (s *funcSet) add(id uint64) {
	word, bit := s.place(id)
	*word |= bit
}

func (s *funcSet) mayHave(id uint64) bool {
	word, bit := s.place(id)
	return *word&bit != 0
}

func (s *funcSet) join(other *funcSet) {
	for i := range s {
		s[i] |= other[i]
	}
}
