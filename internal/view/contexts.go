package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/ids"
	"github.com/stemma-go/stemma/profile"
)

// A stackFrame is a frame of a decoded context with the name of what called it, if that is no call.
type stackFrame struct {
	fn   cct.Func
	site cct.Site // where it was called
}

// framesOf returns the frames of a context, outermost first, as the nodes of a tree are: each with
// the place where it is called.
func framesOf(s decode.Stack) []stackFrame {
	var list []stackFrame // innermost first
	add := func(g *decode.Group) {
		for i, f := range g.Frames {
			if len(list) > 0 {
				at := &list[len(list)-1].site
				at.File, at.Line = f.File, f.Line
				if i > 0 && g.Frames[i-1].Inlined {
					at.Via = cct.ViaInlined
				}
			}
			list = append(list, stackFrame{fn: cct.Func{Name: f.Func, File: f.File}})
		}
	}
	add(s.Group)
	end := ""
	for l := s.Up; ; l = l.Up {
		if len(list) > 0 {
			switch l.Via {
			case decode.ViaGo:
				list[len(list)-1].site.Via = cct.ViaGo
			case decode.ViaFault:
				list[len(list)-1].site.Via = cct.ViaFault
			}
		}
		if l.Up == nil {
			end = l.End
			break
		}
		add(l.Group)
	}
	list = append(list, stackFrame{fn: cct.Func{Name: "[" + strings.Trim(end, "[]") + "]", Pseudo: true}})
	slices.Reverse(list)
	return list
}

// A stackTree makes a tree from stacks.
type stackTree struct {
	g      *cct.Grower
	funcs  map[cct.Func]uint32
	sites  map[cct.Site]uint32
	values *cct.Values
	byName map[string]int // index in values.Types
}

func newStackTree() *stackTree {
	t := &stackTree{g: cct.NewGrower(), byName: make(map[string]int)}
	t.funcs, t.sites = make(map[cct.Func]uint32), make(map[cct.Site]uint32)
	t.values = &cct.Values{Tree: t.g.Tree()}
	t.Site(cct.Site{})
	t.Func(cct.Func{Name: "[root]", Pseudo: true})
	return t
}

// Func and Site return the numbers of a function and of a place.
func (t *stackTree) Func(f cct.Func) uint32 {
	i, ok := t.funcs[f]
	if !ok {
		i = uint32(len(t.values.Funcs))
		t.funcs[f], t.values.Funcs = i, append(t.values.Funcs, f)
	}
	return i
}

func (t *stackTree) Site(s cct.Site) uint32 {
	i, ok := t.sites[s]
	if !ok {
		i = uint32(len(t.values.Sites))
		t.sites[s], t.values.Sites = i, append(t.values.Sites, s)
	}
	return i
}

// enter returns the node of a stack.
func (t *stackTree) enter(frames []stackFrame) uint32 {
	at := uint32(0)
	for _, f := range frames {
		at = t.g.Enter(at, t.Site(f.site), t.Func(f.fn))
	}
	return at
}

// add adds to a value of a node.
func (t *stackTree) add(typ profile.ValueType, at uint32, n uint64) {
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

// done returns the values, with one for each node.
func (t *stackTree) done() *cct.Values {
	for i, c := range t.values.Counts {
		t.values.Counts[i] = append(c, make([]uint64, len(t.values.Nodes)-len(c))...)
	}
	return t.values
}

// eventValues returns the events of a record of context IDs as values of a tree: of each kind
// their number and, if they have some, the sum of their values. Events whose context is not known
// are below a function of that name, so that the sums are those of stemma events.
func (m *model) eventValues() (*cct.Values, error) {
	t := newStackTree()
	nodes := make(map[ctxid.ID]uint32)
	err := m.data.Record.IDs.EventCounts(func(e *ids.EventCount) error {
		at, ok := nodes[e.ID]
		if !ok {
			at = t.enter(m.stackOf(e.ID))
			nodes[e.ID] = at
		}
		kind, unit := ids.EventKind(e.Kind), ids.EventUnit(e.Kind)
		t.add(profile.ValueType{Name: kind, Unit: "count", About: "the events of kind " + kind}, at, e.Count)
		if unit != "" {
			t.add(profile.ValueType{Name: kind + " " + unit, Unit: unit, About: "the " + unit + " of " + kind}, at,
				e.Sum)
		}
		return nil
	})
	return t.done(), err
}

// stackOf returns the frames of an ID, or a name for those that cannot be decoded.
func (m *model) stackOf(id ctxid.ID) []stackFrame {
	name := "[no context]"
	if id != (ctxid.ID{}) {
		stack, err := m.decoder.Decode(id)
		if err == nil {
			return framesOf(stack.Trim())
		}
		name = "[unknown]"
	}
	return []stackFrame{{fn: cct.Func{Name: name, Pseudo: true}}}
}

// A contextAnswer is a decoded context ID, outermost frame first, and the box that it ends in, if
// the record has one.
type contextAnswer struct {
	Frames []frameInfo `json:"frames"`
	Node   string      `json:"node,omitempty"`
	Depth  int         `json:"depth"` // frames that the node's path has
}

type frameInfo struct {
	Func string `json:"func"`
	siteInfo
}

// context answers what an ID stands for. Arguments: id, value.
func (m *model) context(a Args) (*contextAnswer, error) {
	text := strings.TrimSpace(a.get("id"))
	hi, lo, run, err := ctxid.Parse(text)
	if err != nil {
		return nil, err
	}
	if m.o.Decode == nil {
		return nil, fmt.Errorf("no record of context IDs here; name one whose program was built with %s",
			engine.Giving(engine.IDs))
	}
	stack, err := m.o.Decode(ctxid.ID{Hi: hi, Lo: lo, Run: run})
	if err != nil {
		return nil, err
	}
	frames := framesOf(stack)
	ans := &contextAnswer{Frames: []frameInfo{}}
	for _, f := range frames {
		info := frameInfo{cut(f.fn.Name), siteInfo{File: cut(f.site.File), Line: f.site.Line}}
		if f.site.Via != cct.ViaCall {
			info.Via = f.site.Via.String()
		}
		ans.Frames = append(ans.Frames, info)
	}
	if p, err := m.plot(plotKey{value: a.get("value"), kind: kindContexts}); err == nil {
		ans.Node, ans.Depth = p.follow(frames)
	}
	return ans, nil
}

// follow returns the node of frames, or of as many outer ones as there are in the plot.
func (p *plot) follow(frames []stackFrame) (key string, depth int) {
	at := uint32(0)
	for _, f := range frames {
		k := slices.IndexFunc(p.kids.Of(at), func(kid uint32) bool {
			n := p.nodes[kid]
			s := p.sites[n.Site]
			return p.funcs[n.Func].Name == f.fn.Name && s.File == f.site.File && s.Line == f.site.Line
		})
		if k < 0 {
			break
		}
		at, depth = p.kids.Of(at)[k], depth+1
	}
	if at == 0 {
		return "", 0
	}
	return hex(p.prints[at]), depth
}

// An epochsAnswer is the timeline of an encoding: when it was made anew, and how large its ids
// became. Of many epochs a point stands for several that follow each other.
type epochsAnswer struct {
	Points []epochPoint `json:"points"`
	All    int          `json:"all"`
	Stats  []statInfo   `json:"stats"`
}

type epochPoint struct {
	Epochs  int     `json:"epochs"` // that the point stands for
	First   int     `json:"first"`
	Seconds float64 `json:"seconds"`           // since the first epoch, of the last of them
	MaxID   uint32  `json:"maxID"`             // the largest of them
	Unknown int     `json:"unknown,omitempty"` // of which a page of the record was lost
}

type statInfo struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// maxPoints is how many points a timeline has at most.
const maxPoints = 600

func (m *model) epochs() *epochsAnswer {
	ans := &epochsAnswer{Points: []epochPoint{}, Stats: []statInfo{}}
	c := m.data.Record.IDs
	if c == nil {
		return ans
	}
	ans.Stats = encoderStats(c)
	if len(c.Dict.Epochs) < 2 {
		return ans
	}
	list := c.Dict.Epochs[1:] // the first one encodes nothing
	ans.All = len(list)
	each := (len(list) + maxPoints - 1) / maxPoints
	for i := 0; i < len(list); i += each {
		part := list[i:min(len(list), i+each)]
		p := epochPoint{Epochs: len(part), First: i + 1, Seconds: part[len(part)-1].Time.Sub(list[0].Time).Seconds()}
		for _, e := range part {
			p.MaxID = max(p.MaxID, e.MaxID)
			if !e.Known {
				p.Unknown++
			}
		}
		ans.Points = append(ans.Points, p)
	}
	return ans
}

// encoderStats are what the encoder says about itself.
func encoderStats(c *ids.Record) (list []statInfo) {
	s := c.Stats
	for _, n := range []struct {
		name  string
		value any
	}{
		{"functions", s.Functions}, {"edges", s.Edges}, {"edges encoded", s.Encoded}, {"back edges", s.BackEdges},
		{"largest id", s.MaxID}, {"re-encodings", s.Reencodings}, {"time of re-encodings", s.ReencodeTime},
		{"longest pause", s.MaxPause}, {"slow entries", s.Slow}, {"entries pushed", s.Pushes},
		{"deepest ccStack", s.MaxDepth}, {"contexts truncated", s.Truncated}, {"ran for", s.Elapsed},
	} {
		list = append(list, statInfo{n.name, fmt.Sprint(n.value)})
	}
	return list
}
