package page

import (
	"fmt"
	"regexp"

	"github.com/stemma-go/stemma/internal/cct"
)

// # Searching and selecting
//
// Text that someone types stands for functions: /RE/ for those that a regular expression matches, all other
// text for those that have it in their name, in any case. A search shows which boxes and rows these are. A
// selection leaves contexts out, in the words of pprof and of report: focus, ignore and hide. Shares stay those of all.

// pattern returns what text stands for; nil for "".
func pattern(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	if n := len(text); n > 2 && text[0] == '/' && text[n-1] == '/' {
		re, err := regexp.Compile(text[1 : n-1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cut(text), err)
		}
		return re, nil
	}
	return regexp.Compile("(?i)" + regexp.QuoteMeta(text))
}

// A selectionKey is what someone typed for a selection.
type selectionKey struct{ focus, ignore, hide string }

func (a Args) selection() selectionKey {
	return selectionKey{a.get("focus"), a.get("ignore"), a.get("hide")}
}

// selection returns what the key stands for.
func (k selectionKey) selection() (s cct.Selection, err error) {
	for _, part := range []struct {
		text string
		to   *cct.Pattern
	}{{k.focus, &s.Focus}, {k.ignore, &s.Ignore}, {k.hide, &s.Hide}} {
		re, err := pattern(part.text)
		if err != nil {
			return s, err
		}
		if re != nil { // a nil *regexp.Regexp would be a pattern that is not nil
			*part.to = re
		}
	}
	return s, nil
}

// A hitsInfo says what a search finds in a plot, below its root.
type hitsInfo struct {
	Functions int    `json:"functions"`
	Boxes     int    `json:"boxes"`          // of these functions
	InRest    int    `json:"inRest"`         // those of them that are in rests
	Total     uint64 `json:"total"`          // what these boxes have, each part once
	Base      uint64 `json:"base,omitempty"` // of the base
}

// hits counts what a search finds among what was drawn, and in its rests. It marks functions and rests.
func (w *flameWriter) hits(re *regexp.Regexp, list []drawn) {
	p, root := w.p, list[0].node
	match := make([]bool, len(p.funcs))
	for i, f := range p.funcs {
		match[i] = !f.Pseudo && re.MatchString(f.Name)
	}
	box := make([]int32, len(p.nodes)) // that a node is drawn as, or in the rest of, from 1 on; 0 outside
	for i, d := range list {
		box[d.node] = int32(i + 1)
	}
	for _, kid := range p.children(root)[:list[0].skip] {
		box[kid] = -1
	}
	h, within, found := &hitsInfo{}, make([]bool, len(p.nodes)), make([]bool, len(p.funcs))
	for i, n := range p.nodes {
		at, shown := box[i], box[i] > 0
		if at == 0 && i > 0 && uint32(i) != root {
			at = max(box[n.Parent], 0)
		}
		if box[i] = max(at, 0); box[i] == 0 {
			continue
		}
		hit := match[n.Func] && !(uint32(i) == root && list[0].skip > 0)
		if in := i > 0 && uint32(i) != root && within[n.Parent]; hit && !in {
			h.Total += p.below[sideNew][i]
			if base := p.below[sideBase]; base != nil {
				h.Base += base[i]
			}
			within[i] = true
		} else {
			within[i] = in
		}
		if !hit {
			continue
		}
		h.Boxes++
		found[n.Func] = true
		if !shown {
			h.InRest++
			if f := w.a.Boxes[at-1].Rest; f != nil {
				f.Hits++
			}
		}
	}
	for i, is := range found {
		if is {
			h.Functions++
		}
		if k, ok := w.funcs[uint32(i)]; ok {
			w.a.Funcs[k].Hit = match[i]
		}
	}
	w.a.Hits = h
}
