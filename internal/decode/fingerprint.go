package decode

import (
	"github.com/stemma-go/stemma/internal/fingerprint"
)

// maxFingerprints is how many frames are remembered.
const maxFingerprints = 1 << 20

// Fingerprints makes the fingerprints of stacks. It remembers those of their outer parts. The zero value has seen no
// stack. It is not for several goroutines.
type Fingerprints struct {
	tree  fingerprint.Tree
	links map[*Link]called
	nodes int // about as many as the tree has
}

// A called is a place from where a function is called: a frame, and a line in it.
type called struct {
	node uint32
	goes bool // by a go statement
	file string
	line int
}

// Of returns the fingerprints of a stack.
func (p *Fingerprints) Of(s Stack) fingerprint.Sum {
	at := p.frames(p.link(s.Up), s.Group)
	return p.tree.SumAt(at.node, at.file, at.line)
}

// Text returns the text that the fingerprint of a stack, by functions, is the hash of.
func (p *Fingerprints) Text(s Stack) string {
	return p.tree.Text(p.frames(p.link(s.Up), s.Group).node)
}

// link returns the place that a function was called from which was entered by way of l.
func (p *Fingerprints) link(l *Link) called {
	if p.nodes > maxFingerprints {
		*p = Fingerprints{}
	}
	if p.links == nil {
		p.links = make(map[*Link]called)
	}
	var todo []*Link
	at, ok := p.links[l]
	for !ok && l.Up != nil {
		todo = append(todo, l)
		l = l.Up
		at, ok = p.links[l]
	}
	if !ok {
		name := "[" + l.End + "]"
		if l.Via == ViaCut {
			name = fingerprint.Truncated
		}
		at = called{node: p.tree.Root(name)}
		p.links[l] = at
	}
	for i := len(todo) - 1; i >= 0; i-- {
		at = p.frames(at, todo[i].Group)
		at.goes = at.goes || todo[i].Via == ViaGo
		p.links[todo[i]] = at
	}
	return at
}

// frames adds the frames of a group that is called from at. A wrapper has none: what it calls is called from where it
// was called itself.
func (p *Fingerprints) frames(at called, g *Group) called {
	for i := len(g.Frames) - 1; i >= 0; i-- {
		f := g.Frames[i]
		kind := fingerprint.Ordinary
		if g.adapters[i] {
			kind = fingerprint.Adapter
		}
		at.node = p.tree.Add(at.node, fingerprint.Frame{Func: f.Func, Kind: kind, Go: at.goes, File: at.file,
			Line: at.line})
		at.file, at.line, at.goes = f.File, f.Line, false
		p.nodes++
	}
	return at
}
