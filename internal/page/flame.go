package page

import (
	"github.com/stemma-go/stemma/internal/cct"
)

// Numbers are what a page shows of something: the value, in all, and on the base's side.
type numbers struct {
	Self     uint64 `json:"self"`
	Total    uint64 `json:"total"`
	Base     uint64 `json:"base,omitempty"`      // self of the base
	BaseAll  uint64 `json:"baseTotal,omitempty"` // total of the base
	Contexts uint64 `json:"contexts"`            // with those below
}

// A box is a node as a page gets it. Rest stands for what is below it and has no box.
type box struct {
	numbers
	ID      string `json:"id"`
	Up      int    `json:"up"` // index of the box that it is in
	Func    int    `json:"fn"`
	Site    int    `json:"site"`
	Mark    string `json:"mark,omitempty"` // of recursion that was folded while the program ran
	Width   uint64 `json:"w"`
	Started uint64 `json:"started,omitempty"` // goroutines, in a plot of them
	Rest    *rest  `json:"rest,omitempty"`
}

// A rest is what has no room. Skip says how to ask for it: all children but the first skip.
type rest struct {
	numbers
	Skip     int    `json:"skip"`
	Children int    `json:"children"` // of the box itself
	Width    uint64 `json:"w"`
	Hits     int    `json:"hits,omitempty"` // boxes in it that the search finds
}

// A funcInfo and a siteInfo are what is known of a function and of a place.
type (
	funcInfo struct {
		Key    string `json:"key"`
		Name   string `json:"name"`
		File   string `json:"file,omitempty"`
		Line   int    `json:"line,omitempty"`
		Pseudo bool   `json:"pseudo,omitempty"`
		Hit    bool   `json:"hit,omitempty"` // the search finds it
	}
	siteInfo struct {
		File string `json:"file,omitempty"`
		Line int    `json:"line,omitempty"`
		Via  string `json:"via,omitempty"` // unless it is a plain call
	}
)

// A flameAnswer is what is drawn of a plot. The numbers of its first box are those of all
// that is shown; each box has what it and its rest have, and the boxes in it.
type flameAnswer struct {
	Generation int        `json:"gen"`
	Unit       string     `json:"unit"`
	Whole      uint64     `json:"whole"` // of the value, to make shares of
	WholeBase  uint64     `json:"wholeBase,omitempty"`
	Span       uint64     `json:"span"` // what the page's width stands for
	Scaled     bool       `json:"scaled"`
	Missing    bool       `json:"missing,omitempty"` // the root that was asked for is not there; this is the whole
	Path       []box      `json:"path"`              // what the first box is in, outermost first
	Boxes      []box      `json:"boxes"`
	Funcs      []funcInfo `json:"funcs"`
	Sites      []siteInfo `json:"sites"`
	Hits       *hitsInfo  `json:"hits,omitempty"` // of the search, if there is one
}

// flame answers what to draw. Arguments: value, kind, func, gone, and a selection; root and skip, the node and
// the children to leave out; px, the width of the page, and least, that of the narrowest box; limit; q, a search.
func (m *model) flame(a Args) (*flameAnswer, error) {
	re, err := pattern(a.get("q"))
	if err != nil {
		return nil, err
	}
	p, err := m.plot(plotKey{a.get("metric"), a.get("kind"), a.get("func"), a.get("gone") != "", a.selection()})
	if err != nil {
		return nil, err
	}
	s, err := m.set(p.key.value, p.key.selection)
	if err != nil {
		return nil, err
	}
	root, ok := p.node(a.get("root"))
	skip := a.number("skip", 0, 0, len(p.children(root)))
	if !ok {
		skip = 0
	}
	px, narrow := a.number("px", 1280, 100, 20000), a.number("least", 2, 0, 100)
	least := float64(p.spanOf(root, skip)) * float64(narrow) / float64(px)
	list, span, scaled := p.prune(root, skip, least, a.number("limit", 5000, 1, maxBoxes))
	w := &flameWriter{p: p, funcs: make(map[uint32]int), sites: make(map[uint32]int)}
	w.a = &flameAnswer{Generation: m.generation, Unit: s.typ.Unit, Whole: s.whole[sideNew],
		WholeBase: s.whole[sideBase],
		Span:      span, Scaled: scaled, Missing: !ok, Path: []box{}}
	w.path(root)
	w.boxes(list)
	if re != nil {
		w.hits(re, list)
	}
	return w.a, nil
}

func sum(list []uint64) (n uint64) {
	for _, v := range list {
		n += v
	}
	return n
}

// A flameWriter writes an answer.
type flameWriter struct {
	p     *plot
	a     *flameAnswer
	funcs map[uint32]int
	sites map[uint32]int
}

// path writes the boxes that root is in.
func (w *flameWriter) path(root uint32) {
	var up []uint32
	for n := root; n != 0; n = w.p.nodes[n].Parent {
		up = append(up, w.p.nodes[n].Parent)
	}
	for i := len(up) - 1; i >= 0; i-- {
		w.a.Path = append(w.a.Path, w.box(drawn{node: up[i], up: -1}))
	}
}

// boxes writes what is drawn, with the rests: what a node has and no box shows.
func (w *flameWriter) boxes(list []drawn) {
	left := make([]rest, len(list))
	for i, d := range list {
		b := w.box(d)
		if d.skip > 0 {
			b = w.others(b, d)
		}
		w.a.Boxes = append(w.a.Boxes, b)
		left[i].numbers, left[i].Width = b.numbers, b.Width
		left[i].Total -= b.Self
		left[i].BaseAll -= b.Base
		if d.skip == 0 {
			left[i].Contexts -= w.p.ends[d.node]
		}
		left[i].Width -= w.own(d)
		if d.up >= 0 {
			f := &left[d.up]
			f.Total, f.BaseAll = f.Total-b.Total, f.BaseAll-b.BaseAll
			f.Contexts, f.Width = f.Contexts-b.Contexts, f.Width-b.Width
		}
	}
	for i, d := range list {
		f := &left[i]
		f.Self, f.Base = 0, 0
		f.Skip = d.skip + d.shown
		f.Children = len(w.p.children(d.node)) - f.Skip
		if f.Total > 0 || f.BaseAll > 0 || f.Contexts > 0 {
			w.a.Boxes[i].Rest = f
		}
	}
}

// own returns the part of a node's width that no child has.
func (w *flameWriter) own(d drawn) uint64 {
	if d.skip > 0 {
		return 0
	}
	own := w.p.width[d.node]
	for _, kid := range w.p.kids.Of(d.node) {
		own -= w.p.width[kid]
	}
	return own
}

// others returns the box of a node's children without the first ones.
func (w *flameWriter) others(b box, d drawn) box {
	b.numbers, b.Width = numbers{}, 0
	for _, kid := range w.p.children(d.node)[d.skip:] {
		b.Total += w.p.below[sideNew][kid]
		if base := w.p.below[sideBase]; base != nil {
			b.BaseAll += base[kid]
		}
		b.Contexts += w.p.contexts[kid]
		b.Width += w.p.width[kid]
	}
	return b
}

// box returns a node with its numbers.
func (w *flameWriter) box(d drawn) box {
	p, node := w.p, w.p.nodes[d.node]
	b := box{ID: hex(p.prints[d.node]), Up: d.up, Width: p.width[d.node], Mark: node.Fold.String()}
	b.Func, b.Site = w.function(node.Func), w.site(node.Site)
	if d.node == 0 {
		b.ID = ""
	}
	if p.started != nil {
		b.Started = p.started[d.node]
	}
	b.Self, b.Total, b.Contexts = p.self[sideNew][d.node], p.below[sideNew][d.node], p.contexts[d.node]
	if p.self[sideBase] != nil {
		b.Base, b.BaseAll = p.self[sideBase][d.node], p.below[sideBase][d.node]
	}
	return b
}

// function and site return the index of what is known of a function and of a place.
func (w *flameWriter) function(i uint32) int {
	k, ok := w.funcs[i]
	if !ok {
		k = len(w.a.Funcs)
		w.funcs[i], w.a.Funcs = k, append(w.a.Funcs, describe(w.p.funcs[i]))
	}
	return k
}

func (w *flameWriter) site(i uint32) int {
	k, ok := w.sites[i]
	if !ok {
		k = len(w.a.Sites)
		s := w.p.sites[i]
		info := siteInfo{File: cut(s.File), Line: s.Line}
		if s.Via != 0 {
			info.Via = s.Via.String()
		}
		w.sites[i], w.a.Sites = k, append(w.a.Sites, info)
	}
	return k
}

// describe returns what is known of a function.
func describe(f cct.Func) funcInfo {
	name := cut(f.Name)
	if name == "" {
		name = "all"
	}
	return funcInfo{Key: functionKey(f), Name: name, File: cut(f.File), Line: f.Line, Pseudo: f.Pseudo}
}
