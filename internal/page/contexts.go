package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/record/ids"
)

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
	id, err := ctxid.Parse(text)
	if err != nil {
		return nil, err
	}
	if m.o.Decode == nil {
		return nil, fmt.Errorf("no record of context IDs here; name one whose program was built with %s",
			engine.Giving(engine.IDs))
	}
	stack, err := m.o.Decode(id)
	if err != nil {
		return nil, err
	}
	frames := stack.TreeFrames()
	ans := &contextAnswer{Frames: []frameInfo{}}
	for _, f := range frames {
		info := frameInfo{cut(f.Func.Name), siteInfo{File: cut(f.Site.File), Line: f.Site.Line}}
		if f.Site.Via != cct.ViaCall {
			info.Via = f.Site.Via.String()
		}
		ans.Frames = append(ans.Frames, info)
	}
	if p, err := m.plot(plotKey{value: a.get("metric"), kind: kindContexts}); err == nil {
		ans.Node, ans.Depth = p.follow(frames)
	}
	return ans, nil
}

// follow returns the node of frames, or of as many outer ones as there are in the plot.
func (p *plot) follow(frames []decode.TreeFrame) (key string, depth int) {
	at := uint32(0)
	for _, f := range frames {
		k := slices.IndexFunc(p.kids.Of(at), func(kid uint32) bool {
			n := p.nodes[kid]
			s := p.sites[n.Site]
			return p.funcs[n.Func].Name == f.Func.Name && s.File == f.Site.File && s.Line == f.Site.Line
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
	Unknown int     `json:"unknown,omitempty"` // those whose page of the record was lost
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
func encoderStats(c *ids.Encoding) (list []statInfo) {
	s := c.Stats
	for _, n := range []struct {
		name  string
		value any
	}{
		{"functions", s.Functions}, {"edges", s.Edges}, {"edges encoded", s.Encoded}, {"back edges", s.BackEdges},
		{"largest id", s.MaxID}, {"re-encodings", s.Reencodings}, {"time of re-encodings", s.ReencodeTime},
		{"longest pause", s.MaxPause}, {"slow entries", s.Slow}, {"entries pushed", s.Pushes},
		{"deepest ccStack", s.MaxDepth}, {"contexts truncated", s.Truncated},
	} {
		list = append(list, statInfo{n.name, fmt.Sprint(n.value)})
	}
	if s.Elapsed > 0 { // it is known
		list = append(list, statInfo{"ran for", s.Elapsed.String()})
	}
	return list
}
