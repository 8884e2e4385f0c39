package diff

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// A baseline is text, to be committed, with what limits are checked against. It has no lines,
// so that a new comment in the program does not change it:
//
//	stemma baseline 1
//	go go1.26.8
//	flags engine=cct recursion=folded
//	program gofmt
//	value calls count
//	rows function
//	12 main.f
//	end
//
// There are as many numbers before a name as values. Rows of functions are sorted by name. Rows
// of contexts have the depth first; those called by a function stand behind it, sorted by name.

const baselineHead = "stemma baseline 1"

// IsBaseline tells whether a file that begins with head is meant to be a baseline.
func IsBaseline(head []byte) bool { return bytes.HasPrefix(head, []byte("stemma baseline")) }

// WriteBaseline writes the exact values of s by function, or by context.
func WriteBaseline(w io.Writer, s *Side, contexts bool) error {
	v := s.Exact
	if v == nil || len(v.Types) == 0 {
		return fmt.Errorf("%s has %s, and no exact counts; samples differ from run to run, so that a baseline of "+
			"them would alarm by chance", s.Name, s.has())
	}
	if contexts && !s.Contexts {
		return fmt.Errorf("%s is a baseline without contexts", s.Name)
	}
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, baselineHead)
	for _, release := range s.Go {
		fmt.Fprintln(b, "go", release)
	}
	fmt.Fprintln(b, "flags", strings.Join(s.Flags, " "))
	for _, program := range s.Programs {
		fmt.Fprintln(b, "program", program)
	}
	for _, t := range v.Types {
		fmt.Fprintf(b, "value %s %s\n", t.Name, t.Unit)
	}
	if contexts {
		fmt.Fprintln(b, "rows context")
		writeContexts(b, v)
	} else {
		fmt.Fprintln(b, "rows function")
		writeFunctions(b, v)
	}
	fmt.Fprintln(b, "end")
	return b.Flush()
}

// writeFunctions writes a row for each function with a value.
func writeFunctions(w io.Writer, v *cct.Values) {
	rows := make(map[string][]uint64)
	for i, n := range v.Nodes {
		name := v.Funcs[n.Func].Name
		for k, counts := range v.Counts {
			if counts[i] != 0 && rows[name] == nil {
				rows[name] = make([]uint64, len(v.Counts))
			}
			if counts[i] != 0 {
				rows[name][k] += counts[i]
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		writeRow(w, rows[name], name)
	}
}

func writeRow(w io.Writer, values []uint64, name string) {
	for _, n := range values {
		fmt.Fprintf(w, "%d ", n)
	}
	fmt.Fprintln(w, name)
}

// writeContexts writes a row for each path of functions that has a value, or leads to one.
func writeContexts(w io.Writer, v *cct.Values) {
	p := pathsOf(v)
	type visit struct{ path, depth int }
	stack := []visit{}
	push := func(path, depth int) {
		kids := p.kids[path]
		slices.SortFunc(kids, func(a, b int) int { return cmp.Compare(p.names[b], p.names[a]) })
		for _, k := range kids {
			if p.live[k] {
				stack = append(stack, visit{k, depth})
			}
		}
	}
	push(0, 1)
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		fmt.Fprintf(w, "%d ", at.depth)
		writeRow(w, p.values[at.path], p.names[at.path])
		push(at.path, at.depth+1)
	}
}

// paths are the paths of functions of a tree; path 0 is empty.
type paths struct {
	names  []string
	kids   [][]int
	values [][]uint64
	live   []bool // has a value, or leads to one
}

func pathsOf(v *cct.Values) *paths {
	type key struct{ parent, fn int }
	p := &paths{names: []string{""}, kids: [][]int{nil}, values: [][]uint64{nil}, live: []bool{true}}
	known := make(map[key]int)
	of, parents := make([]int, len(v.Nodes)), []int{0}
	for i, n := range v.Nodes {
		if i == 0 {
			continue
		}
		k := key{of[n.Parent], int(n.Func)}
		at, ok := known[k]
		if !ok {
			at = len(p.names)
			known[k] = at
			p.names, p.kids = append(p.names, v.Funcs[n.Func].Name), append(p.kids, nil)
			p.values, p.live = append(p.values, make([]uint64, len(v.Counts))), append(p.live, false)
			p.kids[k.parent], parents = append(p.kids[k.parent], at), append(parents, k.parent)
		}
		of[i] = at
		for c, counts := range v.Counts {
			p.values[at][c] += counts[i]
			p.live[at] = p.live[at] || counts[i] != 0
		}
	}
	for i := len(parents) - 1; i > 0; i-- {
		p.live[parents[i]] = p.live[parents[i]] || p.live[i]
	}
	return p
}

// A baselineReader is the state of ReadBaseline.
type baselineReader struct {
	s     *Side
	t     *cct.Tree
	funcs map[string]uint32
	path  []uint32 // nodes on the way to the last row
	rows  bool     // the rows have begun
	ended bool
}

// ReadBaseline reads what WriteBaseline wrote. Errors name the line. name is that of the side.
func ReadBaseline(r io.Reader, name string) (*Side, error) {
	t := &cct.Tree{Nodes: make([]cct.Node, 1), Sites: make([]cct.Site, 1),
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}}}
	b := &baselineReader{
		s:     &Side{Name: name, Baseline: true, Exact: &cct.Values{Tree: t}},
		t:     t,
		funcs: make(map[string]uint32),
		path:  []uint32{0},
	}
	in := bufio.NewScanner(r)
	in.Buffer(nil, 1<<20)
	line := 0
	for in.Scan() {
		line++
		if err := b.line(line, in.Text()); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	if !b.ended {
		return nil, fmt.Errorf("line %d: the file ends without \"end\": it is cut off; make it again with "+
			"'stemma baseline'", line)
	}
	t.Type = b.s.Exact.Types[0]
	for i, n := range b.s.Exact.Counts[0] {
		t.Nodes[i].Count = n
	}
	return b.s, nil
}

// line reads one line.
func (b *baselineReader) line(n int, text string) error {
	key, rest, _ := strings.Cut(text, " ")
	switch {
	case n == 1 && text != baselineHead:
		return fmt.Errorf("%q, want %q; another version of stemma has made this baseline, make it again with "+
			"'stemma baseline'", profile.Printable(text), baselineHead)
	case n == 1 || text == "" || text[0] == '#':
		return nil
	case b.ended:
		return fmt.Errorf("%q behind the end; make the baseline again with 'stemma baseline'", profile.Printable(text))
	case b.rows && text == "end":
		b.ended = true
		return nil
	case b.rows:
		return b.row(text)
	}
	rest = profile.Printable(rest)
	switch key {
	case "go":
		b.s.Go = append(b.s.Go, rest)
	case "flags":
		b.s.Flags = strings.Fields(rest)
	case "program":
		b.s.Programs = append(b.s.Programs, rest)
	case "value":
		return b.value(strings.Fields(rest))
	case "rows":
		b.rows, b.s.Contexts = true, rest == "context"
		if rest != "function" && rest != "context" || len(b.s.Exact.Types) == 0 {
			return fmt.Errorf("%q, want \"rows function\" or \"rows context\" behind the values",
				profile.Printable(text))
		}
	default:
		return fmt.Errorf("%q, want go, flags, program, value or rows; make the baseline again with "+
			"'stemma baseline'", profile.Printable(text))
	}
	return nil
}

// value adds the column that a line describes.
func (b *baselineReader) value(words []string) error {
	v := b.s.Exact
	if len(words) != 2 || !valueName.MatchString(words[0]) ||
		slices.ContainsFunc(v.Types, func(t profile.ValueType) bool { return t.Name == words[0] }) {
		return fmt.Errorf("want value, a name that no other has, and a unit")
	}
	v.Types = append(v.Types, profile.ValueType{Name: words[0], Unit: words[1]})
	v.Counts = append(v.Counts, make([]uint64, 1))
	return nil
}

// row adds the node that a line describes.
func (b *baselineReader) row(text string) error {
	v, depth, rest := b.s.Exact, 1, text
	next := func(bits int) (uint64, error) {
		word, after, ok := strings.Cut(rest, " ")
		rest = after
		n, err := strconv.ParseUint(word, 10, bits)
		if !ok || err != nil {
			return 0, fmt.Errorf("%q, want %d numbers and a name; a merge may have left a mark: make the baseline "+
				"again with 'stemma baseline'", profile.Printable(text), b.numbers())
		}
		return n, nil
	}
	if b.s.Contexts {
		d, err := next(32)
		if err != nil {
			return err
		}
		if d == 0 || d > uint64(len(b.path)) {
			return fmt.Errorf("depth %d below one of %d, want 1 to %d", d, len(b.path)-1, len(b.path))
		}
		depth = int(d)
	}
	for i := range v.Counts {
		n, err := next(64)
		if err != nil {
			return err
		}
		v.Counts[i] = append(v.Counts[i], n)
	}
	name := profile.Printable(rest)
	if name == "" {
		return fmt.Errorf("no name of a function")
	}
	fn, ok := b.funcs[name]
	if ok && !b.s.Contexts {
		return fmt.Errorf("%s for the second time", name)
	}
	if !ok {
		fn = uint32(len(b.t.Funcs))
		b.funcs[name] = fn
		b.t.Funcs = append(b.t.Funcs, cct.Func{Name: name, Pseudo: name[0] == '['})
	}
	b.path = append(b.path[:depth], uint32(len(b.t.Nodes)))
	b.t.Nodes = append(b.t.Nodes, cct.Node{Parent: b.path[depth-1], Func: fn})
	return nil
}

// numbers returns how many numbers a row has.
func (b *baselineReader) numbers() int {
	if b.s.Contexts {
		return len(b.s.Exact.Counts) + 1
	}
	return len(b.s.Exact.Counts)
}
