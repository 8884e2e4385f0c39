package livedir_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

const page = 4096

// A lossyDir is a live directory together with where everything in it lies.
type lossyDir struct {
	*recordtest.Dir
	records [][2]int // where the record of each function begins and ends
	nodes   []lossyNode
}

// A lossyNode is a node of a lossyDir. Its parent is an index, -1 for the root.
type lossyNode struct{ off, fn, parent, cell int }

// newLossyDir returns a directory of several pages of records and of nodes.
func newLossyDir(seed uint64) *lossyDir {
	r := rand.New(rand.NewPCG(seed, 1))
	d := &lossyDir{Dir: recordtest.New(1, "prog")}
	var ids []uint64
	var cells []int
	for i := range 150 {
		f := recordtest.Func{Name: fmt.Sprint("main.", strings.Repeat("f", r.IntN(50)), i), Files: []string{"m.go"}}
		for k := range r.IntN(12) {
			f.Sites = append(f.Sites, recordtest.Site{Kind: layout.SiteCall, Line: k, Cell: k + 1})
		}
		begin := len(d.Funcs)
		ids, cells = append(ids, d.Func(f)), append(cells, len(f.Sites))
		d.records = append(d.records, [2]int{begin, len(d.Funcs)})
	}
	for range 1000 {
		fn, parent := r.IntN(len(ids)), r.IntN(len(d.nodes)+1)-1
		off, cell := 0, 0
		switch {
		case parent < 0:
			off = d.Node(recordtest.Root, layout.RootMain, ids[fn])
		case cells[d.nodes[parent].fn] == 0:
			continue
		default:
			cell = r.IntN(cells[d.nodes[parent].fn])
			off = d.Node(d.nodes[parent].off, cell, ids[fn])
			d.SetCell(d.nodes[parent].off, cell, off)
		}
		d.nodes = append(d.nodes, lossyNode{off, fn, parent, cell})
		d.Count(0, off, 0, 1+r.Uint64N(9))
		if r.IntN(10) == 0 {
			d.Table(8)
		}
	}
	return d
}

// context returns the cells and functions from the root to node i.
func (d *lossyDir) context(i int) string {
	if i < 0 {
		return ""
	}
	n := d.nodes[i]
	return fmt.Sprint(d.context(n.parent), " ", n.cell, ":", n.fn)
}

// lose zeroes a page of a file and counts it as lost.
func (d *lossyDir) lose(file []byte, at int) {
	clear(file[at:min(at+page, len(file))])
	d.Header(func(h *layout.Header) { h.Lost[layout.LostPages] = 1 })
}

// readable returns the nodes that a reader must find when the bytes of funcs
// and tree in [from, to) are lost.
func (d *lossyDir) readable(funcs, tree [2]int) (nodes []int, lost int) {
	hit := func(begin, end int, hole [2]int) bool { return begin < hole[1] && end > hole[0] }
	ok := make([]bool, len(d.nodes))
	for i, n := range d.nodes {
		record := d.records[n.fn]
		ok[i] = !hit(record[0], record[1], funcs) && !hit(n.off, n.off+layout.NodeSize, tree) &&
			(n.parent < 0 || ok[n.parent])
		if ok[i] {
			nodes = append(nodes, n.off)
		} else {
			lost++
		}
	}
	return nodes, lost
}

// TestLostPages loses each page of funcs and of tree in turn. The reader must
// find every node that does not depend on the page, and invent none.
func TestLostPages(t *testing.T) {
	for seed := range uint64(3) {
		whole := newLossyDir(seed)
		for at := 0; at < len(whole.Funcs); at += page {
			d := newLossyDir(seed)
			d.lose(d.Funcs, at)
			checkLossy(t, d, [2]int{at, at + page}, [2]int{})
		}
		for at := page; at < len(whole.Tree); at += page {
			d := newLossyDir(seed)
			d.lose(d.Tree, at)
			checkLossy(t, d, [2]int{}, [2]int{at, at + page})
		}
	}
}

// checkLossy compares what is read from d with what is left of it.
func checkLossy(t *testing.T, d *lossyDir, funcs, tree [2]int) {
	t.Helper()
	l, err := livedir.Open(d.FS())
	if err != nil {
		t.Errorf("funcs %d, tree %d: %v", funcs, tree, err)
		return
	}
	nodes, lost := d.readable(funcs, tree)
	for _, n := range d.nodes {
		want := slices.Contains(nodes, n.off)
		if _, have := l.Node(uint32(n.off)); have != want {
			t.Errorf("funcs %d, tree %d: node at %d: found %v, want %v", funcs, tree, n.off, have, want)
			return
		}
	}
	// The root and the overflow node are not among d.nodes; equal contexts are
	// one node of the profile.
	distinct := map[string]bool{}
	for i, n := range d.nodes {
		if slices.Contains(nodes, n.off) {
			distinct[d.context(i)] = true
		}
	}
	if have, most := len(l.Profile.Nodes), len(distinct)+2; have > most || have < most-1 {
		t.Errorf("funcs %d, tree %d: %d nodes, want at most %d", funcs, tree, have, most)
	}
	notes := strings.Join(l.Profile.Processes[0].Notes, "\n")
	if lost > 0 && !strings.Contains(notes, "offset") {
		t.Errorf("funcs %d, tree %d: nothing said about %d lost nodes: %q", funcs, tree, lost, notes)
	}
}

// TestLostRun loses many pages in a row, and pages of both files.
func TestLostRun(t *testing.T) {
	d := newLossyDir(9)
	funcs, tree := [2]int{page, 3 * page}, [2]int{2 * page, 6 * page}
	clear(d.Funcs[funcs[0]:funcs[1]])
	d.lose(d.Tree, 2*page)
	clear(d.Tree[tree[0]:tree[1]])
	checkLossy(t, d, funcs, tree)
}

// TestLostRecord reads a record that makes no sense: an error, unless pages
// were lost. Then its nodes, whose size it tells, are left out and counted.
func TestLostRecord(t *testing.T) {
	const none = -1
	for _, kind := range []int{none, layout.LostPages, layout.LostPaths} {
		d, mainNode, f := small()
		g := d.Func(recordtest.Func{Name: "main.g", Files: []string{"m.go"},
			Sites: []recordtest.Site{{Kind: layout.SiteCall, Cell: 1}}})
		begin := len(d.Funcs)
		d.Func(recordtest.Func{Name: "main.h", Files: []string{"m.go"}})
		d.Funcs[begin-9] = 0xff // in the blob of main.g
		if kind != none {
			d.Header(func(h *layout.Header) { h.Lost[kind] = 1 })
		}
		lost := d.Node(mainNode, 0, g)
		d.Node(lost, 0, f)
		kept := d.Node(mainNode, 0, f)
		l, err := livedir.Open(d.FS())
		if kind == none {
			if err == nil || !strings.Contains(err.Error(), "funcs: offset") {
				t.Errorf("have error %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := l.Node(uint32(kept)); !ok {
			t.Error("a node behind two unreadable ones is missing")
		}
		name := map[int]string{layout.LostPages: profile.LossPages, layout.LostPaths: profile.LossPaths}[kind]
		want := []profile.Loss{{Kind: name, Count: 1}, {Kind: profile.LossUnreadable, Count: 2}}
		if have := l.Profile.Lost(); !slices.Equal(have, want) {
			t.Errorf("have losses %v, want %v", have, want)
		}
		if notes := l.Profile.Processes[0].Notes; len(notes) != 1 || !strings.Contains(notes[0], "funcs: offset") {
			t.Errorf("have notes %q", notes)
		}
	}
}
