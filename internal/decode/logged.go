package decode

import (
	"fmt"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/ids"
)

// Engine lucce. A state is a function with its pair: the id takes the place of epoch and
// id, and node is the version. The log shows how the function was entered, or that the
// path began there; then the version's entry tells.

// longID returns the id of a state of engine lucce. As long as the node is the same, it can also tell which of two
// ids of another engine is smaller.
func (s state) longID() uint64 { return uint64(s.epoch)<<32 | uint64(s.id) }

func (s *state) setID(id uint64) { s.epoch, s.id = uint32(id>>32), uint32(id) }

// enteredLogged is entered for engine lucce.
func (d *Decoder) enteredLogged(s state) (l *Link, next state, err error) {
	n, ok := d.c.Node(s.node)
	if !ok {
		return nil, s, fmt.Errorf("node %d is not one of %d", s.node, len(d.c.Interned))
	}
	c, ok := d.c.Log.Entered(d.p, s.fn, s.longID())
	switch {
	case n.Kind == layout.InternCut && (!ok || c.Begins):
		return &Link{Via: ViaCut, End: cutReason(n)}, s, nil
	case !ok:
		return nil, s, fmt.Errorf("version %d: no edge into %s has id %d", s.node, d.name(s.fn), s.longID())
	case !c.Begins:
		next = state{fn: c.Caller, node: s.node}
		next.setID(c.ID)
		return &Link{Via: ViaCall, Group: d.group(c.Caller, c.Site)}, next, nil
	case n.Kind == layout.InternAt || n.Target != s.fn && n.Target != ids.NoFunc:
		return nil, s, fmt.Errorf("version %d does not begin in %s", s.node, d.name(s.fn))
	}
	return d.pop(n)
}
