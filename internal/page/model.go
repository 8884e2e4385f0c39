package page

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/profile"
)

// A model is a record with its values, each expanded when it is asked for.
type model struct {
	generation int
	data       *Data
	o          *Options
	values     []value
	sets       map[setKey]*dataset // those used last
	plots      []*plot             // those used last, the newest first

	diff *diff.Diff // nil without a base
	work *work      // shows what takes long
}

// A setKey is the name of a value, and what of it was selected.
type setKey struct {
	name      string
	selection selectionKey
}

// A value can be chosen.
type value struct {
	profile.Metric
	expand func() (*cct.Tree, [2][]uint64) // the tree, and by side the counts of its nodes
	varies [2]uint64                       // of the base and of the record: what is not compared, as it varies
}

// The sides of a dataset. Without a base it has only one.
const (
	sideNew  = 0
	sideBase = 1
)

// A dataset is one value of all contexts.
type dataset struct {
	typ   profile.Metric
	sides []*cct.Tree // by side; they differ in their counts only
	whole [2]uint64   // the sum of the counts, of what was not selected as well

	selection cct.Selection

	rows      []funcRow                  // by function, once asked for
	functions uint64                     // see counted
	lines     map[linePlace]*lineNumbers // once asked for
}

func newModel(data *Data, o *Options, w *work) (*model, error) {
	m := &model{data: data, o: o, sets: make(map[setKey]*dataset), work: w}
	switch {
	case data.Record.IDs != nil:
		values, err := decode.NewEventTree().Read(data.Record, decode.New(data.Record))
		if err != nil {
			return nil, err
		}
		m.addValues(values)
	case data.Base != nil:
		var err error
		m.diff, err = diff.Compare(data.Base, diff.FromProfile(data.Title, data.Record.Profile), diff.Options{})
		if err != nil {
			return nil, err
		}
		for _, v := range m.diff.Values {
			expand := func() (*cct.Tree, [2][]uint64) {
				t, counts := m.diff.Union(v)
				counts[0], counts[1] = counts[1], counts[0]
				return t, counts
			}
			varies := [2]uint64{v.Chance[0] + v.Varying[0], v.Chance[1] + v.Varying[1]}
			m.values = append(m.values, value{v.Metric, expand, varies})
		}
	default:
		m.addValues(cct.ValuesOf(data.Record.Profile, false))
		m.addValues(cct.ValuesOf(data.Record.Profile, true))
	}
	// A program that was only sampled has a column of calls, and no calls.
	usual := cct.Usual(data.Record.Profile).Name
	if i := slices.IndexFunc(m.values, func(v value) bool { return v.Name == usual }); i > 0 {
		v := m.values[i]
		m.values = slices.Insert(slices.Delete(m.values, i, i+1), 0, v)
	}
	return m, nil
}

// addValues adds the values that hang on one tree.
func (m *model) addValues(list *cct.Values) {
	for i, t := range list.Types {
		expand := func() (*cct.Tree, [2][]uint64) { return list.Tree, [2][]uint64{list.Counts[i], nil} }
		m.values = append(m.values, value{Metric: t, expand: expand})
	}
}

// set returns the dataset of a value, that of the first for "", or what is selected of it. Shares stay those of the
// whole value.
func (m *model) set(name string, k selectionKey) (*dataset, error) {
	if len(m.values) == 0 {
		return nil, fmt.Errorf("no metrics: a record of context IDs has some only if the program was built with " +
			"-events=alloc or another kind")
	}
	name = cmp.Or(name, m.values[0].Name)
	key := setKey{name, k}
	if s := m.sets[key]; s != nil {
		return s, nil
	}
	if k != (selectionKey{}) {
		s, err := m.selected(name, k)
		if err == nil {
			m.keep(key, s)
		}
		return s, err
	}
	i := slices.IndexFunc(m.values, func(v value) bool { return v.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no metric %q", name)
	}
	m.doing("expanding", len(m.data.Record.Profile.Nodes))
	t, counts := m.values[i].expand()
	m.doing("expanding", len(t.Nodes))
	s := &dataset{typ: m.values[i].Metric}
	for side, c := range counts {
		if side == sideBase && m.diff == nil {
			break
		}
		s.sides = append(s.sides, withCounts(t, c, s.typ))
		s.whole[side] = sum(c)
	}
	m.keep(key, s)
	return s, nil
}

// keep remembers a dataset. Of those that are selections of one value only the last one stays: each may be as large
// as the whole.
func (m *model) keep(key setKey, s *dataset) {
	for old := range m.sets {
		if old.name == key.name && old.selection != (selectionKey{}) {
			delete(m.sets, old)
		}
	}
	m.sets[key] = s
}

// selected returns a part of a value.
func (m *model) selected(name string, k selectionKey) (*dataset, error) {
	sel, err := k.selection()
	if err != nil {
		return nil, err
	}
	whole, err := m.set(name, selectionKey{})
	if err != nil {
		return nil, err
	}
	m.doing("selecting", len(whole.tree().Nodes))
	sides := cct.SelectSides(sel, whole.sides...)
	return &dataset{typ: whole.typ, sides: sides, whole: whole.whole, selection: sel}, nil
}

// withCounts returns t with other counts.
func withCounts(t *cct.Tree, counts []uint64, typ profile.Metric) *cct.Tree {
	out := &cct.Tree{Nodes: slices.Clone(t.Nodes), Funcs: t.Funcs, Sites: t.Sites, Type: typ}
	for i := range out.Nodes {
		out.Nodes[i].Count = counts[i]
	}
	return out
}

// tree returns the tree of the new side.
func (s *dataset) tree() *cct.Tree { return s.sides[sideNew] }

// contexts returns 1 for each node that is a context with a value on either side, and not
// one of calls whose context is not known, as Totals counts them.
func (s *dataset) contexts() []uint64 {
	list := make([]uint64, len(s.tree().Nodes))
	lost := s.tree().Truncated()
	for i := range list {
		for _, t := range s.sides {
			if t.Nodes[i].Count > 0 && !lost[i] {
				list[i] = 1
			}
		}
	}
	return list
}

// Args are the arguments of a question, as a query has them.
type Args url.Values

func (a Args) get(name string) string { return url.Values(a).Get(name) }

// number returns an argument within bounds, or what is usual if it is none.
func (a Args) number(name string, usual, least, most int) int {
	n, err := strconv.Atoi(a.get(name))
	if err != nil {
		n = usual
	}
	return min(max(n, least), most)
}

// infoAnswer is what the page shows about the record as a whole.
type infoAnswer struct {
	Generation int         `json:"gen"`
	Title      string      `json:"title"`
	Records    []string    `json:"records"`
	Programs   []string    `json:"programs"`
	Warnings   []string    `json:"warnings"`
	Base       string      `json:"base,omitempty"`
	Running    bool        `json:"running,omitempty"`
	IDs        bool        `json:"ids,omitempty"`    // IDs can be decoded
	Epochs     bool        `json:"epochs,omitempty"` // there is a timeline
	Values     []valueInfo `json:"values"`
}

type valueInfo struct {
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	About string `json:"about"`

	Varies *[2]uint64 `json:"varies,omitempty"` // of the base and of the record: what is not compared
}

func (m *model) info(failed error) infoAnswer {
	d := m.data
	a := infoAnswer{Generation: m.generation, Title: cut(d.Title),
		Records: cutAll(d.Records), Programs: cutAll(d.Programs), Warnings: cutAll(d.Warnings),
		Running: d.Running, IDs: m.o.Decode != nil, Epochs: d.Record.IDs != nil, Values: []valueInfo{}}
	for _, v := range m.values {
		info := valueInfo{Name: profile.Printable(v.Name), Unit: v.Unit, About: profile.Printable(v.About)}
		if v.varies != ([2]uint64{}) {
			info.Varies = &v.varies
		}
		a.Values = append(a.Values, info)
	}
	if m.diff != nil {
		a.Base = cut(d.Base.Name)
		a.Warnings = append(a.Warnings, cutAll(m.diff.Notes)...)
	}
	if failed != nil {
		a.Warnings = append(a.Warnings, cut("the record could not be read again: "+failed.Error()))
	}
	return a
}

// maxName is how many characters of a name a page gets: a profile may have names of any length.
const maxName = 300

// cut returns text that can be shown, shortened to maxName characters.
func cut(s string) string {
	if len(s) <= maxName {
		return profile.Printable(s)
	}
	s = profile.Printable(s[:min(len(s), 4*maxName)])
	if r := []rune(s); len(r) > maxName {
		return string(r[:maxName-1]) + "…"
	}
	return s + "…"
}

func cutAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = cut(s)
	}
	return out
}
