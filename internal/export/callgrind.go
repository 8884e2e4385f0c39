package export

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// writeCallgrind writes the format of valgrind's callgrind, which kcachegrind
// shows. The event is a call: a function's own cost are its invocations, and
// the cost of a call site is what was called through it, however deep. The
// format knows callers and callees, but not whole contexts.
// Costs are in invocations. The inclusive cost of a recursive function counts the
// inner calls again at each level, as callgrind itself does; kcachegrind shows
// cycles for that.
func writeCallgrind(w io.Writer, p *profile.Profile, t *cct.Tree) error {
	x := &callgrindExporter{w: w, t: t, files: make(map[string]int), funcs: make(map[uint32]bool)}
	var total uint64
	for _, n := range t.Nodes {
		total += n.Count
	}
	x.printf("# callgrind format\nversion: 1\ncreator: stemma\ncmd: %s\npositions: line\nevent: %[2]s : "+
		"%[3]s\nevents: %[2]s\nsummary: %[4]d\n", command(p), eventOf(t.Type), t.Type.Name, total)
	self := make(map[uint32]uint64)
	for _, n := range t.Nodes {
		self[n.Func] += n.Count
	}
	edges := edgesOf(t)
	for fn := range uint32(len(t.Funcs)) {
		begin, _ := slices.BinarySearchFunc(edges, fn, func(e edge, fn uint32) int { return cmp.Compare(e.caller, fn) })
		end := begin
		for end < len(edges) && edges[end].caller == fn {
			end++
		}
		if fn != 0 && (self[fn] > 0 || end > begin) {
			x.function(fn, self[fn], edges[begin:end])
		}
	}
	return x.err
}

// eventOf returns the name of a value as an event of callgrind, which is one word.
func eventOf(t profile.Metric) string {
	return strings.ToUpper(t.Name[:1]) + t.Name[1:]
}

// An edge sums up the calls from one function to another at one site.
// As a key of a map, calls and below are 0.
type edge struct {
	caller, callee, site uint32
	calls, below         uint64
}

// edgesOf returns the edges of t by caller, then site.
// A pseudo-function below the root is a caller, the root itself is none. The order
// is complete, so that equal trees give equal files.
func edgesOf(t *cct.Tree) []edge {
	below := t.Inclusive()
	sums := make(map[edge]*edge)
	var list []edge
	for i, n := range t.Nodes {
		if i == 0 || n.Parent == 0 || below[i] == 0 {
			continue
		}
		k := edge{caller: t.Nodes[n.Parent].Func, callee: n.Func, site: n.Site}
		if sums[k] == nil {
			e := k
			sums[k] = &e
		}
		sums[k].calls += n.Count
		sums[k].below += below[i]
	}
	for _, e := range sums {
		list = append(list, *e)
	}
	slices.SortFunc(list, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.caller, b.caller), cmp.Compare(a.site, b.site), cmp.Compare(a.callee, b.callee))
	})
	return list
}

// A callgrindExporter writes functions one by one. The first write error stays
// in err, and nothing is written after it.
type callgrindExporter struct {
	w     io.Writer
	t     *cct.Tree
	files map[string]int
	funcs map[uint32]bool // those whose name was written
	err   error
}

// printf writes, unless something before has failed.
func (x *callgrindExporter) printf(format string, args ...any) {
	if x.err == nil {
		_, x.err = fmt.Fprintf(x.w, format, args...)
	}
}

// file returns a file in the compressed form: the name only the first time.
// Numbers begin at 1; a file that is not known has the name that callgrind uses.
func (x *callgrindExporter) file(name string) string {
	if name == "" {
		name = "???"
	}
	if i := x.files[name]; i != 0 {
		return fmt.Sprintf("(%d)", i)
	}
	x.files[name] = len(x.files) + 1
	return fmt.Sprintf("(%d) %s", x.files[name], name)
}

// name returns a function in the compressed form: the name only the first time.
func (x *callgrindExporter) name(fn uint32) string {
	if x.funcs[fn] {
		return fmt.Sprintf("(%d)", fn)
	}
	x.funcs[fn] = true
	return fmt.Sprintf("(%d) %s", fn, x.t.Funcs[fn].Name)
}

// function writes a function's own cost and its calls. The lines of a call may
// lie in another file when code was inlined; fi= switches to it.
func (x *callgrindExporter) function(fn uint32, self uint64, edges []edge) {
	f := x.t.Funcs[fn]
	x.printf("\nfl=%s\nfn=%s\n%d %d\n", x.file(f.File), x.name(fn), f.Line, self)
	file := f.File
	for _, e := range edges {
		site, callee := x.t.Sites[e.site], x.t.Funcs[e.callee]
		if site.File != file && site.File != "" {
			x.printf("fi=%s\n", x.file(site.File))
			file = site.File
		}
		x.printf("cfi=%s\ncfn=%s\ncalls=%d %d\n%d %d\n", x.file(callee.File), x.name(e.callee), e.calls, callee.Line,
			site.Line, e.below)
	}
}
