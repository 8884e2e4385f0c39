package diff

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/chance"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/profile"
)

// A baseline is text, to be committed, with what limits are checked against. It has no lines,
// so that a new comment in the program does not change it:
//
//	stemma baseline 2
//	go go1.26.8
//	flags engine=cct recursion=folded
//	program gofmt
//	records 38
//	metric calls count
//	rows function
//	12 main.f
//	varies calls
//	1 0 [main]
//	2 1 main.g
//	end
//
// Where no number of records is said it is one. There are as many numbers before a name as metrics. Rows of functions
// are sorted by name. Rows of contexts have the depth first; those called by a function stand behind it, sorted by
// name.
//
// Behind the rows are the contexts in which a metric varies from run to run, the outermost of each
// path: the depth, 1 if it varies or 0 if it only leads there, and the name. What varies, and
// what that calls, is in no row. Nor is what Go does by chance, see package chance: of a row of a function nobody
// could tell it any more.

const baselineHead = "stemma baseline 2"

// WriteBaseline writes the exact values of s by function, or by context, but what is chance.
func WriteBaseline(w io.Writer, s *Side, contexts bool) error {
	v := s.Exact
	if v == nil || len(v.Types) == 0 {
		return fmt.Errorf("%s has %s, and no exact counts; samples differ from run to run, so that a baseline of "+
			"them would alarm by chance", s.Name, s.has())
	}
	for _, t := range v.Types {
		if err := s.complete(t); err != nil {
			return err
		}
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
	if s.Records > 1 {
		fmt.Fprintln(b, "records", s.Records)
	}
	for _, t := range v.Types {
		fmt.Fprintf(b, "metric %s %s\n", t.Name, t.Unit)
	}
	p := pathsOf(s)
	if contexts {
		fmt.Fprintln(b, "rows context")
		p.write(b, p.hasValue, p.values)
	} else {
		fmt.Fprintln(b, "rows function")
		writeFunctions(b, p)
	}
	for k, t := range v.Types {
		if marks := p.varying(k); slices.ContainsFunc(marks, func(m []uint64) bool { return m[0] > 0 }) {
			fmt.Fprintln(b, "varies", t.Name)
			p.write(b, func(path int) bool { return marks[path][0] > 0 }, marks)
		}
	}
	fmt.Fprintln(b, "end")
	return b.Flush()
}

// writeFunctions writes a row for each function with a value.
func writeFunctions(w io.Writer, p *paths) {
	rows := make(map[string][]uint64)
	for path, name := range p.names {
		if !p.hasValue(path) {
			continue
		}
		if rows[name] == nil {
			rows[name] = make([]uint64, len(p.values[path]))
		}
		for k, n := range p.values[path] {
			rows[name][k] += n
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

// paths are the paths of functions of a tree; path 0 is empty. A parent comes before its children.
type paths struct {
	names   []string
	parents []int
	kids    [][]int
	values  [][]uint64 // by path and value, of what does not vary
	varies  [][]uint64 // by path and value, by how much it varies
}

// write writes a row for each path that is wanted, or leads to one.
func (p *paths) write(w io.Writer, wanted func(path int) bool, values [][]uint64) {
	kept := make([]bool, len(p.names))
	for i := len(kept) - 1; i > 0; i-- {
		kept[i] = kept[i] || wanted(i)
		kept[p.parents[i]] = kept[p.parents[i]] || kept[i]
	}
	type visit struct{ path, depth int }
	stack := []visit{}
	push := func(path, depth int) {
		kids := p.kids[path]
		slices.SortFunc(kids, func(a, b int) int { return cmp.Compare(p.names[b], p.names[a]) })
		for _, k := range kids {
			if kept[k] {
				stack = append(stack, visit{k, depth})
			}
		}
	}
	push(0, 1)
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		fmt.Fprintf(w, "%d ", at.depth)
		writeRow(w, values[at.path], p.names[at.path])
		push(at.path, at.depth+1)
	}
}

// hasValue reports whether a path has a value that does not vary.
func (p *paths) hasValue(path int) bool {
	return slices.ContainsFunc(p.values[path], func(n uint64) bool { return n != 0 })
}

// varying marks the outermost paths in which value k varies.
func (p *paths) varying(k int) [][]uint64 {
	marks, out := make([][]uint64, len(p.names)), make([]bool, len(p.names))
	marks[0] = []uint64{0}
	for i := 1; i < len(marks); i++ {
		marks[i] = []uint64{0}
		above := out[p.parents[i]]
		out[i] = above || p.varies[i][k] > 0
		if out[i] && !above {
			marks[i][0] = 1
		}
	}
	return marks
}

func pathsOf(s *Side) *paths {
	type key struct{ parent, fn int }
	v := s.Exact
	none := make([]uint64, len(v.Counts))
	p := &paths{names: []string{""}, parents: []int{0}, kids: [][]int{nil}, values: [][]uint64{none},
		varies: [][]uint64{slices.Clone(none)}}
	known := make(map[key]int)
	of := make([]int, len(v.Nodes))
	luck := make([][]bool, len(v.Types))
	for c, t := range v.Types {
		luck[c] = chance.Nodes(v.Tree, t.Name == profile.Ops.Name)
	}
	for i, n := range v.Nodes {
		if i == 0 {
			continue
		}
		k := key{of[n.Parent], int(n.Func)}
		at, ok := known[k]
		if !ok {
			at = len(p.names)
			known[k] = at
			p.names, p.parents = append(p.names, v.Funcs[n.Func].Name), append(p.parents, k.parent)
			p.kids = append(p.kids, nil)
			p.kids[k.parent] = append(p.kids[k.parent], at)
			p.values = append(p.values, make([]uint64, len(v.Counts)))
			p.varies = append(p.varies, make([]uint64, len(v.Counts)))
		}
		of[i] = at
		for c, counts := range v.Counts {
			if luck[c][i] {
				continue
			}
			p.values[at][c] += counts[i]
			if by := s.Varying[v.Types[c].Name]; by != nil {
				p.varies[at][c] += by[i]
			}
		}
	}
	p.spreadVarying()
	p.dropVarying()
	return p
}

// spreadVarying lets paths vary that differ from one that does in numbers of closures only: compared with a baseline
// they are one.
func (p *paths) spreadVarying() {
	type key struct {
		parent int
		name   string
	}
	known := make(map[key]int)
	of, names := make([]int, len(p.names)), make(map[string]string)
	for i := range p.names {
		if i == 0 {
			continue
		}
		name, ok := names[p.names[i]]
		if !ok {
			name = similarity.Unnumbered(p.names[i])
			names[p.names[i]] = name
		}
		k := key{of[p.parents[i]], name}
		if _, ok := known[k]; !ok {
			known[k] = i
		}
		of[i] = known[k]
		for c, by := range p.varies[i] {
			p.varies[of[i]][c] = max(p.varies[of[i]][c], by)
		}
	}
	for i := range p.names {
		copy(p.varies[i], p.varies[of[i]])
	}
}

// dropVarying sets to 0 what lies in paths that vary.
func (p *paths) dropVarying() {
	for k := range p.values[0] {
		out := make([]bool, len(p.names))
		for i := 1; i < len(out); i++ {
			if out[i] = out[p.parents[i]] || p.varies[i][k] > 0; out[i] {
				p.values[i][k] = 0
			}
		}
	}
}

// A baselineReader is the state of ReadBaseline.
type baselineReader struct {
	s     *Side
	t     *cct.Tree
	funcs map[string]uint32
	path  []uint32 // nodes on the way to the last row
	rows  bool     // the rows have begun
	ended bool

	varies string // the metric whose varying contexts the rows are now; "" for values
}

// ReadBaseline reads what WriteBaseline wrote. Errors name the line. name is that of the side.
func ReadBaseline(r io.Reader, name string) (*Side, error) {
	t := &cct.Tree{Nodes: make([]cct.Node, 1), Sites: make([]cct.Site, 1),
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}}}
	b := &baselineReader{
		s:     &Side{Name: name, Baseline: true, Records: 1, Exact: &cct.Values{Tree: t}},
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
	case b.rows && key == "varies":
		return b.varying(profile.Printable(rest))
	case b.rows:
		return b.row(text)
	}
	rest = profile.Printable(rest)
	switch key {
	case "go":
		b.s.Go = append(b.s.Go, rest)
	case "flags":
		b.s.Flags = strings.Fields(rest)
		for i, flag := range b.s.Flags {
			if name, ok := strings.CutPrefix(flag, "engine="); ok {
				b.s.Flags[i] = "engine=" + profile.CurrentEngine(name)
			}
		}
	case "program":
		b.s.Programs = append(b.s.Programs, rest)
	case "records":
		records, err := strconv.Atoi(rest)
		if err != nil || records < 1 {
			return fmt.Errorf("records %q, want a number; make the baseline again with 'stemma baseline'", rest)
		}
		b.s.Records = records
	case "metric", "value": // as it was called before
		return b.metric(strings.Fields(rest))
	case "rows":
		b.rows, b.s.Contexts = true, rest == "context"
		if rest != "function" && rest != "context" || len(b.s.Exact.Types) == 0 {
			return fmt.Errorf("%q, want \"rows function\" or \"rows context\" behind the metrics",
				profile.Printable(text))
		}
	default:
		return fmt.Errorf("%q, want go, flags, program, records, metric or rows; make the baseline again with "+
			"'stemma baseline'", profile.Printable(text))
	}
	return nil
}

// metric adds the column that a line describes.
func (b *baselineReader) metric(words []string) error {
	v := b.s.Exact
	if len(words) == 2 {
		words[0] = profile.CurrentName(words[0])
	}
	if len(words) != 2 || !metricName.MatchString(words[0]) ||
		slices.ContainsFunc(v.Types, func(t profile.Metric) bool { return t.Name == words[0] }) {
		return fmt.Errorf("want metric, a name that no other has, and a unit")
	}
	v.Types = append(v.Types, profile.Metric{Name: words[0], Unit: words[1]})
	v.Counts = append(v.Counts, make([]uint64, 1))
	return nil
}

// varying begins the contexts in which a metric varies.
func (b *baselineReader) varying(value string) error {
	v := b.s.Exact
	value = profile.CurrentName(value)
	if !slices.ContainsFunc(v.Types, func(t profile.Metric) bool { return t.Name == value }) ||
		b.s.Varying[value] != nil {
		return fmt.Errorf("varies %q, want a metric of the head, each once; make the baseline again with "+
			"'stemma baseline'", value)
	}
	if b.s.Varying == nil {
		b.s.Varying = make(map[string][]uint64)
	}
	b.varies, b.path = value, []uint32{0}
	b.s.Varying[value] = make([]uint64, len(b.t.Nodes))
	return nil
}

// row adds the node that a line describes.
func (b *baselineReader) row(text string) error {
	rest := text
	next := func(bits int) (uint64, error) {
		word, after, ok := strings.Cut(rest, " ")
		rest = after
		n, err := strconv.ParseUint(word, 10, bits)
		if !ok || err != nil {
			return 0, fmt.Errorf("%q, want %s and a name; a merge may have left a mark: make the baseline "+
				"again with 'stemma baseline'", profile.Printable(text), b.numbers())
		}
		return n, nil
	}
	depth := 1
	if b.s.Contexts || b.varies != "" {
		d, err := next(32)
		if err != nil {
			return err
		}
		if d == 0 || d > uint64(len(b.path)) {
			return fmt.Errorf("depth %d below one of %d, want 1 to %d", d, len(b.path)-1, len(b.path))
		}
		depth = int(d)
	}
	var values []uint64
	for len(values) < b.values() {
		n, err := next(64)
		if err != nil {
			return err
		}
		values = append(values, n)
	}
	name := profile.Printable(rest)
	if name == "" {
		return fmt.Errorf("no name of a function")
	}
	fn, ok := b.funcs[name]
	if ok && !b.s.Contexts && b.varies == "" {
		return fmt.Errorf("%s for the second time", name)
	}
	if !ok {
		fn = uint32(len(b.t.Funcs))
		b.funcs[name] = fn
		b.t.Funcs = append(b.t.Funcs, cct.Func{Name: name, Pseudo: name[0] == '['})
	}
	b.add(depth, fn, values)
	return nil
}

// add adds a node at that depth below those of the last row.
func (b *baselineReader) add(depth int, fn uint32, values []uint64) {
	v := b.s.Exact
	b.path = append(b.path[:depth], uint32(len(b.t.Nodes)))
	b.t.Nodes = append(b.t.Nodes, cct.Node{Parent: b.path[depth-1], Func: fn})
	for i := range v.Counts {
		v.Counts[i] = append(v.Counts[i], 0)
	}
	for name := range b.s.Varying {
		b.s.Varying[name] = append(b.s.Varying[name], 0)
	}
	at := len(b.t.Nodes) - 1
	if b.varies != "" {
		b.s.Varying[b.varies][at] = values[0]
		return
	}
	for i, n := range values {
		v.Counts[i][at] = n
	}
}

// values returns how many numbers a row has behind its depth.
func (b *baselineReader) values() int {
	if b.varies != "" {
		return 1
	}
	return len(b.s.Exact.Counts)
}

// numbers says how many numbers a row has.
func (b *baselineReader) numbers() string {
	n := b.values()
	if b.s.Contexts || b.varies != "" {
		n++
	}
	if n == 1 {
		return "a number"
	}
	return fmt.Sprint(n, " numbers")
}
