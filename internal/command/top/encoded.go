package top

import (
	"cmp"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/profile"
)

// encoding is the value that stands for what the encoder of context IDs does.
var encoding = profile.Metric{Name: "encoding", Unit: "count", About: "what the encoder does"}

// EncodedMetrics are the names of the values that a record of context IDs may have.
func EncodedMetrics() (names []string) {
	for _, kind := range layout.EventKinds {
		if kind.Name == "" {
			continue
		}
		names = append(names, kind.Name)
		if kind.Unit != "" {
			names = append(names, kind.Name+" "+kind.Unit)
		}
	}
	return append(names, encoding.Name)
}

// encoded makes the tree of a value of a record of context IDs: the first kind of events, if there
// are some and no other value is asked for.
func (r *Reader) encoded(got *Reading) error {
	if r.events == nil {
		r.events = decode.NewEventTree()
	}
	v, err := r.events.Read(r.rec, decode.New(r.rec))
	if err != nil {
		return err
	}
	got.Values = append(slices.Clone(v.Types), encoding)
	all := EncodedMetrics()
	slices.SortFunc(got.Values, func(a, b profile.Metric) int {
		return cmp.Compare(slices.Index(all, a.Name), slices.Index(all, b.Name))
	})
	name := cmp.Or(r.metric, got.Values[0].Name)
	i := slices.IndexFunc(v.Types, func(t profile.Metric) bool { return t.Name == name })
	switch {
	case name == encoding.Name:
		got.Tree, got.Note = encoderTree(r.rec.IDs), encoderNote(v)
		return nil
	case i < 0:
		var have []string
		for _, t := range got.Values {
			have = append(have, t.Name)
		}
		return base.Usagef("no %s in this record (have %s); events are there if the program was built with -events, "+
			"and has met one", name, strings.Join(have, ", "))
	}
	got.Tree = &cct.Tree{Nodes: slices.Clone(v.Nodes), Funcs: v.Funcs, Sites: v.Sites, Type: v.Types[i]}
	for k := range got.Tree.Nodes {
		got.Tree.Nodes[k].Count = v.Counts[i][k]
	}
	return nil
}

// encoderNote says why there are no calls, and how to see more.
func encoderNote(events *cct.Values) string {
	note := "a record of context IDs has no counts of calls; this is what the encoder does"
	if len(events.Types) == 0 {
		note += "; build with -events=alloc,block,go to see events by context"
	}
	return note
}

// encoderTree returns what the encoder has counted as a tree, with a node for each.
func encoderTree(c *ids.Encoding) *cct.Tree {
	t := &cct.Tree{Nodes: make([]cct.Node, 1), Sites: make([]cct.Site, 1), Type: encoding,
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}}}
	s, interned := c.Stats, "ccStack entries interned"
	if c.Log != nil {
		interned = "versions of captured contexts and roots"
	}
	for _, row := range []struct {
		name  string
		count uint64
	}{
		{interned, uint64(max(1, len(c.Interned)) - 1)}, {"functions seen", s.Functions}, {"edges seen", s.Edges},
		{"slow entries", s.Slow}, {"ccStack pushes", s.Pushes}, {"re-encodings", s.Reencodings},
		{"goroutines rewritten", s.Rewrites}, {"contexts truncated", s.Truncated},
	} {
		t.Nodes = append(t.Nodes, cct.Node{Func: uint32(len(t.Funcs)), Count: row.count})
		t.Funcs = append(t.Funcs, cct.Func{Name: row.name, Pseudo: true})
	}
	return t
}
