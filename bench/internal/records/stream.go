package records

import (
	"bufio"
	"fmt"
	"io"
	"math/bits"

	"github.com/stemma-go/stemma/profile"
)

// WriteStream writes calls and returns that lead through every context of p, in
// the format of internal/replay, and returns how many calls there are. It is no
// recording: the order is depth first, and a context is entered once, and then,
// without what is below it, once more for each doubling of its count. The call
// graph, the contexts and their depths are those of the program.
//
// What has no room in the tree is left out. p should have its recursion in full.
func WriteStream(w io.Writer, p *profile.Profile) (calls int, err error) {
	s := &stream{p: p, w: bufio.NewWriter(w), children: make([][]uint32, len(p.Nodes)), sites: make(map[cell]int), targets: make(map[cell]uint32)}
	for i, n := range p.Nodes {
		if i > 0 && p.Funcs[n.Func].Kind != profile.FuncOverflow {
			s.children[n.Parent] = append(s.children[n.Parent], uint32(i))
			s.notice(n)
		}
	}
	fmt.Fprintln(s.w, "stemma-events 1")
	for i, f := range p.Funcs[1:] {
		fmt.Fprintf(s.w, "func %d %s\n", i+1, nameOf(p.String(f.Name)))
	}
	for k, c := range s.order {
		fmt.Fprintf(s.w, "site %d %d %s\n", k, c.fn, s.kind(c))
	}
	s.below(0)
	return s.calls, s.w.Flush()
}

// nameOf makes a name that is not empty.
func nameOf(s string) string {
	if s == "" {
		return "?"
	}
	return s
}

// cell is a call site as nodes name it.
type cell struct{ fn, cell uint32 }

// several stands for more than one target.
const several = ^uint32(0)

// stream is the state of WriteStream.
type stream struct {
	p        *profile.Profile
	w        *bufio.Writer
	children [][]uint32
	order    []cell          // sites by number
	sites    map[cell]int    // numbers of sites
	targets  map[cell]uint32 // the function that a site calls, or several
	calls    int
	started  int // goroutines
	current  int
}

// cellOf returns the call site that enters n.
func (s *stream) cellOf(n profile.Node) cell { return cell{s.p.Nodes[n.Parent].Func, n.Cell} }

// notice adds the call site of a node.
func (s *stream) notice(n profile.Node) {
	c := s.cellOf(n)
	if _, ok := s.sites[c]; !ok {
		s.sites[c] = len(s.order)
		s.order = append(s.order, c)
		s.targets[c] = n.Func
	} else if s.targets[c] != n.Func {
		s.targets[c] = several
	}
}

// kind tells what a site is in the format. A site that has called one function
// counts as static.
func (s *stream) kind(c cell) string {
	switch {
	case s.isGo(c):
		return "go"
	case s.targets[c] == several:
		return "dynamic"
	}
	return "static"
}

func (s *stream) isGo(c cell) bool {
	f := &s.p.Funcs[c.fn]
	for _, site := range f.Sites {
		if site.Kind == profile.SiteGo && site.Cell >= 0 && uint32(site.Cell) == c.cell {
			return true
		}
	}
	return false
}

// below writes what happens below node n.
func (s *stream) below(n uint32) {
	for _, k := range s.children[n] {
		node := s.p.Nodes[k]
		c := s.cellOf(node)
		site := s.sites[c]
		if s.isGo(c) {
			s.goes(site, k)
			continue
		}
		s.calls++
		fmt.Fprintf(s.w, "call %d %d\n", site, node.Func)
		s.below(k)
		fmt.Fprintln(s.w, "ret")
		for range bits.Len64(s.p.NodeCounts(int(k))[0]) - 1 {
			s.calls++
			fmt.Fprintf(s.w, "call %d %d\nret\n", site, node.Func)
		}
	}
}

// goes writes a goroutine that begins with node k.
func (s *stream) goes(site int, k uint32) {
	s.started++
	s.calls++
	parent, child := s.current, s.started
	fmt.Fprintf(s.w, "go %d %d %d\non %d\n", child, site, s.p.Nodes[k].Func, child)
	s.current = child
	s.below(k)
	s.current = parent
	fmt.Fprintf(s.w, "exit\non %d\n", parent)
}
