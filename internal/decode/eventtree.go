package decode

import (
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/profile"
)

// A TreeFrame is a frame of a decoded context as the nodes of a tree are: with the place where
// it is called, and how.
type TreeFrame struct {
	Func cct.Func
	Site cct.Site // where it was called
}

// TreeFrames returns the frames of s, outermost first.
func (s Stack) TreeFrames() []TreeFrame {
	var list []TreeFrame // innermost first
	add := func(g *Group) {
		for i, f := range g.Frames {
			if len(list) > 0 {
				at := &list[len(list)-1].Site
				at.File, at.Line = f.File, f.Line
				if i > 0 && g.Frames[i-1].Inlined {
					at.Via = cct.ViaInlined
				}
			}
			list = append(list, TreeFrame{Func: cct.Func{Name: f.Func, File: f.File}})
		}
	}
	add(s.Group)
	end := ""
	for l := s.Up; ; l = l.Up {
		if len(list) > 0 {
			switch l.Via {
			case ViaGo:
				list[len(list)-1].Site.Via = cct.ViaGo
			case ViaFault:
				list[len(list)-1].Site.Via = cct.ViaFault
			}
		}
		if l.Up == nil {
			end = l.End
			break
		}
		add(l.Group)
	}
	list = append(list, TreeFrame{Func: cct.Func{Name: "[" + strings.Trim(end, "[]") + "]", Pseudo: true}})
	slices.Reverse(list)
	return list
}

// An EventTree makes a tree of the events of a record of context IDs. It may read the record of
// a running program again and again: nodes keep their numbers, and new ones come behind them.
type EventTree struct {
	g      *cct.Grower
	funcs  map[cct.Func]uint32
	sites  map[cct.Site]uint32
	nodes  map[ctxid.ID]uint32
	values *cct.Values
	byName map[string]int // index in values.Types
}

// NewEventTree returns a tree without events.
func NewEventTree() *EventTree {
	t := &EventTree{g: cct.NewGrower(), byName: make(map[string]int)}
	t.funcs, t.sites = make(map[cct.Func]uint32), make(map[cct.Site]uint32)
	t.nodes, t.values = make(map[ctxid.ID]uint32), &cct.Values{Tree: t.g.Tree()}
	t.site(cct.Site{})
	t.function(cct.Func{Name: "[root]", Pseudo: true})
	return t
}

// Read returns the events of rec, which d decodes, as values of a tree: of each kind their number
// and, if they have some, the sum of their values. Events whose context is not known are below
// a function of that name, so that the sums are those of stemma events. What was returned
// before does not hold any more.
func (t *EventTree) Read(rec *record.Record, d *Decoder) (*cct.Values, error) {
	for _, c := range t.values.Counts {
		clear(c)
	}
	err := rec.IDs.EventCounts(func(e *ids.EventCount) error {
		at, ok := t.nodes[e.ID]
		if !ok {
			frames, known := framesOf(d, e.ID)
			if at = t.enter(frames); known {
				t.nodes[e.ID] = at // else it may be known later
			}
		}
		kind, unit := ids.EventKind(e.Kind), ids.EventUnit(e.Kind)
		t.add(profile.Metric{Name: kind, Unit: "count", About: "the events of kind " + kind}, at, e.Count)
		if unit != "" {
			t.add(profile.Metric{Name: kind + " " + unit, Unit: unit, About: "the " + unit + " of " + kind}, at,
				e.Sum)
		}
		return nil
	})
	for i, c := range t.values.Counts {
		t.values.Counts[i] = append(c, make([]uint64, len(t.values.Nodes)-len(c))...)
	}
	return t.values, err
}

// framesOf returns the frames of an ID, or a name if it cannot be decoded.
func framesOf(d *Decoder, id ctxid.ID) (frames []TreeFrame, known bool) {
	name := "[no context]"
	if id != (ctxid.ID{}) {
		stack, err := d.Decode(id)
		if err == nil {
			return stack.Trim().TreeFrames(), true
		}
		name = "[unknown]"
	}
	return []TreeFrame{{Func: cct.Func{Name: name, Pseudo: true}}}, false
}

// function and site return the numbers of a function and of a place.
func (t *EventTree) function(f cct.Func) uint32 {
	i, ok := t.funcs[f]
	if !ok {
		i = uint32(len(t.values.Funcs))
		t.funcs[f], t.values.Funcs = i, append(t.values.Funcs, f)
	}
	return i
}

func (t *EventTree) site(s cct.Site) uint32 {
	i, ok := t.sites[s]
	if !ok {
		i = uint32(len(t.values.Sites))
		t.sites[s], t.values.Sites = i, append(t.values.Sites, s)
	}
	return i
}

// enter returns the node of a stack.
func (t *EventTree) enter(frames []TreeFrame) uint32 {
	at := uint32(0)
	for _, f := range frames {
		at = t.g.Enter(at, t.site(f.Site), t.function(f.Func))
	}
	return at
}

// add adds to a value of a node.
func (t *EventTree) add(typ profile.Metric, at uint32, n uint64) {
	v := t.values
	i, ok := t.byName[typ.Name]
	if !ok {
		i = len(v.Types)
		t.byName[typ.Name] = i
		v.Types, v.Counts = append(v.Types, typ), append(v.Counts, nil)
	}
	if more := int(at) + 1 - len(v.Counts[i]); more > 0 {
		v.Counts[i] = append(v.Counts[i], make([]uint64, more)...)
	}
	v.Counts[i][at] += n
}
