// Package diff compares two records of one program, value by value, and holds the
// difference against limits.
//
// # Terminology
//
// A [Side] is one of the two things compared: the sum of some profiles, or a baseline. A
// row is a function, a context or the place of a call, and what it has of a value on each
// side. What is one row in two builds is the business of package similarity: functions that
// moved, got another name or other lines stay one row.
//
// A [Limit] says by how much a value may grow, in all or for each row of a [Scope].
package diff

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/chance"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/profile"
)

// A Scope is what a row is.
type Scope int

// The scopes. Total has one row, for all functions together.
const (
	Total Scope = iota
	Function
	Context
	Line // the place of a call: what the callee has is counted there
	Cost // of limits only: what a function costs with all that it calls, see Costs
)

var scopeNames = [...]string{"total", "function", "context", "line", "cost"}

func (s Scope) String() string { return scopeNames[s] }

// ParseScope returns the scope of rows of that name; Total has none.
func ParseScope(name string) (Scope, error) { return parseScope(name, Line) }

// parseScope returns the scope of that name, of those up to last.
func parseScope(name string, last Scope) (Scope, error) {
	if i := slices.Index(scopeNames[1:last+1], name); i >= 0 {
		return Scope(i + 1), nil
	}
	return 0, fmt.Errorf("unknown scope %q (want %s)", name, strings.Join(scopeNames[1:last+1], ", "))
}

// A Side is one of the two things that are compared.
type Side struct {
	Name     string   // as messages call it
	Go       []string // releases that its programs were built with, sorted
	Flags    []string // how they record, sorted
	Programs []string // sorted

	Exact, Sampled *cct.Values // without types if there are no such values
	Calls          []cct.Call  // all calls in the code; nil of a baseline
	Baseline       bool
	Records        int  // how many were added up; 0 if that is not known, or they are runs of the same work
	Contexts       bool // contexts are known, and not only functions

	Losses  []profile.Loss      // what is missing
	Varying map[string][]uint64 // by exact value and node, by how much it varies from run to run; nil if not known
}

// Options say how sides are compared.
type Options struct {
	Ignore  []Pattern // functions that do not count, nor does what they have in any context
	Renames bool      // look for functions that have another name
	Chance  bool      // compare what Go does by chance as well, see package chance
	Force   bool      // compare what does not belong together as well
}

// A Diff is two sides that were compared. It is not safe for concurrent use.
type Diff struct {
	Sides  [2]*Side
	Values []Value  // that both sides have
	Notes  []string // what a reader must know to judge the numbers

	groups []*group
	apart  error // why limits of calls and operations mean nothing; nil if they do
}

// A Value is one that both sides have.
type Value struct {
	profile.Metric
	Base, New uint64 // in all

	// Varying is what lies in contexts that vary from run to run on either side. It is in neither of the
	// others, and in no row.
	Varying [2]uint64
	// Chance is likewise what Go does by chance, if that is not compared.
	Chance [2]uint64

	group *group
	index int // in group.counts
}

// A group is what hangs on one pair of trees.
type group struct {
	trees [2]*cct.Tree
	match *similarity.Match
	loose bool
	// names in the new tree by which the base seems to have others
	renamed map[string]string
	// the sides are of different releases of Go
	otherGo bool
	types   []profile.Metric
	counts  [][2][]uint64 // by value, side and node; 0 of what is ignored, or varies
	varies  [][]varying   // by value, the outermost contexts that vary
	tables  [len(scopeNames)]*table
}

// A table has the rows of one scope. Row 0 is none, but of Total.
type table struct {
	at     [2][]uint32   // by side and row, a node of the row; 0 if it has none there
	values [][2][]uint64 // by value, side and row
}

// Compare compares base with new. An error says that they do not belong together.
func Compare(base, new *Side, o Options) (*Diff, error) {
	d := &Diff{Sides: [2]*Side{base, new}}
	if err := d.checkSides(o.Force); err != nil {
		return nil, err
	}
	for _, s := range d.Sides {
		if s.Baseline && o.Chance {
			return nil, fmt.Errorf("%s is a baseline, which has nothing of what Go does by chance; compare two "+
				"records, or leave out -chance", s.Name)
		}
	}
	// What has another name is found by exact values only: which functions a sampler met is chance.
	how := similarity.How{Loose: base.Baseline || new.Baseline}
	trees := [2]similarity.Tree{base.tree(base.Exact, base.Calls), new.tree(new.Exact, new.Calls)}
	if known := len(trees[0].Nodes) > 1 && len(trees[1].Nodes) > 1; known && !how.Loose {
		if how.Alike = similarity.Alike(trees[0], trees[1]); !how.Alike && o.Renames {
			how.Renamed = similarity.Renames(trees[0], trees[1])
		}
	}
	d.addGroup(base.Exact, new.Exact, trees, how, o)
	sampled := [2]similarity.Tree{base.tree(base.Sampled, nil), new.tree(new.Sampled, nil)}
	if len(trees[0].Nodes) <= 1 || len(trees[1].Nodes) <= 1 {
		how.Alike = similarity.Alike(sampled[0], sampled[1])
	}
	d.addGroup(base.Sampled, new.Sampled, sampled, how, o)
	if len(d.Values) == 0 {
		return nil, fmt.Errorf("%s has %s and %s has %s: no metric in common; record both with the same engine",
			base.Name, base.has(), new.Name, new.has())
	}
	for _, side := range d.Sides {
		for _, t := range side.types() {
			if !slices.ContainsFunc(d.Values, func(v Value) bool { return v.Metric.Name == t.Name }) {
				d.Notes = append(d.Notes, fmt.Sprintf("%s is in %s only, and not compared", t.Name, side.Name))
			}
		}
	}
	return d, nil
}

// tree returns the tree of some values; of none, that of a root.
func (s *Side) tree(v *cct.Values, calls []cct.Call) similarity.Tree {
	if v == nil || len(v.Types) == 0 {
		return similarity.Tree{Tree: &cct.Tree{Nodes: make([]cct.Node, 1)}}
	}
	return similarity.Tree{Tree: v.Tree, Calls: calls}
}

// types returns the values that a side has.
func (s *Side) types() []profile.Metric {
	var list []profile.Metric
	for _, v := range []*cct.Values{s.Exact, s.Sampled} {
		if v != nil {
			list = append(list, v.Types...)
		}
	}
	return list
}

// has lists the values that a side has, for messages.
func (s *Side) has() string {
	var names []string
	for _, t := range s.types() {
		names = append(names, t.Name)
	}
	if names == nil {
		return "no metrics"
	}
	return strings.Join(names, ", ")
}

// addGroup compares two trees with the values that both have.
func (d *Diff) addGroup(a, b *cct.Values, trees [2]similarity.Tree, how similarity.How, o Options) {
	if a == nil || b == nil || len(a.Types) == 0 || len(b.Types) == 0 {
		return
	}
	// A baseline knows no call sites: then contexts are paths of functions.
	g := &group{trees: [2]*cct.Tree{a.Tree, b.Tree}, loose: how.Loose,
		otherGo: !slices.Equal(d.Sides[0].Go, d.Sides[1].Go), match: similarity.NewMatch(trees[0], trees[1], how),
		renamed: how.Renamed}
	kept := [2][]bool{g.kept(0, o.Ignore), g.kept(1, o.Ignore)}
	luck := func(side int, t profile.Metric) []bool {
		if o.Chance {
			return nil
		}
		return chance.Nodes(g.trees[side], t.Name == profile.Ops.Name)
	}
	for i, t := range a.Types {
		k := slices.IndexFunc(b.Types, func(u profile.Metric) bool { return u.Name == t.Name && u.Unit == t.Unit })
		if k < 0 {
			continue
		}
		counts := [2][]uint64{g.without(0, a.Counts[i], kept[0]), g.without(1, b.Counts[k], kept[1])}
		v := Value{Metric: t, group: g, index: len(g.counts)}
		for side := range counts {
			counts[side], v.Chance[side] = dropped(counts[side], luck(side, t))
		}
		all := [2]uint64{sum(counts[0]), sum(counts[1])}
		list := d.withoutVarying(g, t, &counts)
		v.Base, v.New = sum(counts[0]), sum(counts[1])
		v.Varying = [2]uint64{all[0] - v.Base, all[1] - v.New}
		d.Values = append(d.Values, v)
		g.types, g.counts, g.varies = append(g.types, t), append(g.counts, counts), append(g.varies, list)
	}
	if len(g.counts) > 0 {
		d.groups = append(d.groups, g)
	}
}

// kept tells for each function of one side whether it counts.
func (g *group) kept(side int, ignore []Pattern) []bool {
	list := make([]bool, len(g.trees[side].Funcs))
	for i, f := range g.trees[side].Funcs {
		list[i] = !slices.ContainsFunc(ignore, func(p Pattern) bool { return p.Match(f.Name) })
	}
	return list
}

// without returns counts with zeros for what does not count; counts if everything does.
func (g *group) without(side int, counts []uint64, kept []bool) []uint64 {
	if !slices.Contains(kept, false) {
		return counts
	}
	list := make([]uint64, len(counts))
	for i, n := range g.trees[side].Nodes {
		if kept[n.Func] {
			list[i] = counts[i]
		}
	}
	return list
}

// dropped returns counts with zeros where drop is set, and how much that was.
func dropped(counts []uint64, drop []bool) (left []uint64, n uint64) {
	if !slices.Contains(drop, true) {
		return counts, 0
	}
	left = slices.Clone(counts)
	for i, d := range drop {
		if d {
			n, left[i] = n+left[i], 0
		}
	}
	return left, n
}

func sum(counts []uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// table returns the rows of a scope, which it makes only once.
func (g *group) table(s Scope) *table {
	if g.tables[s] == nil {
		g.tables[s] = g.newTable([2][]uint32{g.rows(0, s), g.rows(1, s)}, s == Function)
	}
	return g.tables[s]
}

// rows returns the row of each node of one side.
func (g *group) rows(side int, s Scope) []uint32 {
	switch s {
	case Context:
		return g.match.Contexts(side)
	case Line:
		return g.match.Calls(side)
	}
	rows := make([]uint32, len(g.trees[side].Nodes))
	if s == Function {
		funcs := g.match.Functions(side)
		for i, n := range g.trees[side].Nodes {
			rows[i] = funcs[n.Func]
		}
	}
	return rows
}

// newTable adds up the values of the nodes of each row. With byFunction, samples of goroutines that wait are those of
// the function that waits, as in a report.
func (g *group) newTable(rows [2][]uint32, byFunction bool) *table {
	n := 1 + max(slices.Max(rows[0]), slices.Max(rows[1]))
	t := &table{at: [2][]uint32{make([]uint32, n), make([]uint32, n)}, values: make([][2][]uint64, len(g.counts))}
	for v, counts := range g.counts {
		for side := range rows {
			values := make([]uint64, n)
			waiting := byFunction && cct.IsWaiting(g.types[v])
			for i, n := range counts[side] {
				if n == 0 {
					continue
				}
				at := uint32(i)
				if waiting {
					at = g.trees[side].OutOfRuntime(at)
				}
				row := rows[side][at]
				values[row] += n
				if t.at[side][row] == 0 {
					t.at[side][row] = at
				}
			}
			t.values[v][side] = values
		}
	}
	return t
}

// A Row is a function, a context or the place of a call.
type Row struct {
	Name string // as the new side has it, or the base if only that has it
	Was  string // its name in the base, if that was another
	// of what both sides have: "renamed", "renumbered", "moved", "lines" (only lines have changed), or ""
	How       string
	File      string
	Line      int
	WasFile   string // if only the base has it, "" as File tells; likewise WasLine
	WasLine   int
	InBase    bool
	InNew     bool
	Base, New uint64
	Stack     []cct.Frame // of a context, innermost first
}

// Change says in a word what has changed.
func (r *Row) Change() string {
	switch {
	case !r.InBase:
		return "added"
	case !r.InNew:
		return "removed"
	case r.Base != r.New:
		return "changed"
	}
	return "same"
}

// Changed returns the rows in which v differs, those with the largest difference first, and
// how many there are in all.
func (d *Diff) Changed(v Value, s Scope) (rows []int, all int) {
	t := v.group.table(s)
	base, new := t.values[v.index][0], t.values[v.index][1]
	for i := range base {
		if base[i] != new[i] {
			rows = append(rows, i)
		}
		if base[i] != 0 || new[i] != 0 {
			all++
		}
	}
	d.order(rows, v, s)
	return rows, all
}

// All returns all rows of a scope in which either side has something of v, in the order of
// the trees.
func (d *Diff) All(v Value, s Scope) []Row {
	var rows []Row
	for _, i := range d.matching(v, s, nil) {
		rows = append(rows, d.Row(v, s, i))
	}
	return rows
}

// Value returns the value of that name, or an error that says which side does not have it.
func (d *Diff) Value(name string) (Value, error) {
	for _, v := range d.Values {
		if v.Name == name {
			return v, nil
		}
	}
	return Value{}, d.missing(name)
}

// Largest returns the function that has grown most of those that a limit is about.
func (d *Diff) Largest(r Result) (row int, ok bool) {
	values := r.Of.group.table(Function).values[r.Of.index]
	var most uint64
	for _, i := range d.matching(r.Of, Function, r.Pattern) {
		if base, new := values[0][i], values[1][i]; new > base && new-base > most {
			row, most, ok = i, new-base, true
		}
	}
	return row, ok
}

// order sorts rows by difference. Ties are broken by the order of the trees, which does
// not change while records do not.
func (d *Diff) order(rows []int, v Value, s Scope) {
	t := v.group.table(s)
	base, new := t.values[v.index][0], t.values[v.index][1]
	slices.SortFunc(rows, func(a, b int) int {
		return cmp.Or(cmp.Compare(distance(base[b], new[b]), distance(base[a], new[a])), cmp.Compare(a, b))
	})
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// Row describes row i of a scope.
func (d *Diff) Row(v Value, s Scope, i int) Row {
	t := v.group.table(s)
	r := Row{Base: t.values[v.index][0][i], New: t.values[v.index][1][i]}
	if s == Total {
		r.Name, r.InBase, r.InNew = "all functions", true, true
		return r
	}
	at := [2]uint32{t.at[0][i], t.at[1][i]}
	r.InBase, r.InNew = at[0] != 0, at[1] != 0
	side := 1
	if !r.InNew {
		side = 0
	}
	tree := v.group.trees[side]
	r.Name, r.File, r.Line = v.group.describe(side, s, at[side])
	if s == Context {
		r.Stack = tree.Stack(at[side])
	}
	if r.InBase && r.InNew {
		was := ""
		was, r.WasFile, r.WasLine = v.group.describe(0, s, at[0])
		if r.How = how(r, was); r.Name != was {
			r.Was = was
		}
	}
	return r
}

// describe returns the name of a row that has node n of one side, and where it is.
func (g *group) describe(side int, s Scope, n uint32) (name, file string, line int) {
	t := g.trees[side]
	node := t.Nodes[n]
	f, site := t.Funcs[node.Func], t.Sites[node.Site]
	switch s {
	case Line:
		return t.Funcs[t.Nodes[node.Parent].Func].Name + " → " + f.Name, site.File, site.Line
	case Context:
		var b strings.Builder
		for i, fr := range t.Stack(n) {
			if i > 0 {
				b.WriteString(" ← ")
			}
			b.WriteString(g.name(fr.Func))
		}
		return b.String(), f.File, f.Line
	}
	return g.name(f.Name), f.File, f.Line
}

// name returns the name of the row of a function, which may be of several closures.
func (g *group) name(of string) string {
	if g.loose {
		return similarity.Unnumbered(of)
	}
	return of
}

// how says in what a row differs whose name was was, apart from its values. A checkout may
// be in another directory: only the name of the file tells that something has moved.
func how(r Row, was string) string {
	switch {
	case r.Name != was:
		if pkg, rest := similarity.Package(r.Name); pkg != "" {
			if old, wasRest := similarity.Package(was); old != pkg && rest == wasRest {
				return "moved"
			}
		}
		if similarity.Outermost(r.Name) == similarity.Outermost(was) {
			return "renumbered"
		}
		return "renamed"
	case r.WasFile != "" && r.File != "" && baseName(r.File) != baseName(r.WasFile):
		return "moved"
	case r.WasLine > 0 && r.Line > 0 && r.Line != r.WasLine:
		return "lines"
	}
	return ""
}

// baseName is path.Base for files of any system.
func baseName(file string) string { return file[strings.LastIndexAny(file, `/\`)+1:] }

// Matched returns the functions that both sides have under another name, in another file or
// on other lines, of the exact values if there are any.
func (d *Diff) Matched() []Row {
	v := d.Values[0]
	lines := d.otherLines(v)
	t := v.group.table(Function)
	var list []Row
	for i := range t.at[0] {
		if t.at[0][i] == 0 || t.at[1][i] == 0 {
			continue
		}
		r := d.Row(v, Function, i)
		if r.How == "" && lines[r.Name] {
			r.How = "lines"
		}
		if r.How != "" {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Row) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// otherLines returns the names of functions whose calls are on other lines than they were.
func (d *Diff) otherLines(v Value) map[string]bool {
	g, names := v.group, make(map[string]bool)
	if g.loose {
		return names
	}
	t := g.table(Line)
	for i := range t.at[0] {
		a, b := t.at[0][i], t.at[1][i]
		if a == 0 || b == 0 {
			continue
		}
		x, y := g.trees[0].Nodes[a], g.trees[1].Nodes[b]
		if g.trees[0].Sites[x.Site].Line != g.trees[1].Sites[y.Site].Line {
			names[g.trees[1].Funcs[g.trees[1].Nodes[y.Parent].Func].Name] = true
		}
	}
	return names
}

// Place returns the place to look at for a row that has grown: of the calls that lead there, the innermost ones in
// files for which in is true, and of these the one that leads to most of the growth. ok is false if there is none.
func (d *Diff) Place(v Value, s Scope, row int, in func(file string) bool) (file string, line int, ok bool) {
	type place struct {
		file string
		line int
	}
	g := v.group
	tree, t := g.trees[1], g.table(Context)
	rows := g.rows(1, s)
	base, new := t.values[v.index][0], t.values[v.index][1]
	grown, most := make(map[place]uint64), uint64(0)
	known := make(map[string]bool)
	for i, n := range t.at[1] {
		if n == 0 || new[i] <= base[i] || rows[n] != uint32(row) {
			continue
		}
		file, line, found := g.placeAbove(tree, n, func(file string) bool {
			is, ok := known[file]
			if !ok {
				is = in(file)
				known[file] = is
			}
			return is
		})
		if !found {
			continue
		}
		at := place{file, line}
		grown[at] += new[i] - base[i]
	}
	var best place
	for at, by := range grown {
		if by > most || by == most && (at.file < best.file || at.file == best.file && at.line < best.line) {
			best, most, ok = at, by, true
		}
	}
	return best.file, best.line, ok
}

// placeAbove returns the innermost call on the way to a node that is in a file for which in is true.
func (g *group) placeAbove(t *cct.Tree, n uint32, in func(file string) bool) (file string, line int, ok bool) {
	for ; n != 0; n = t.Nodes[n].Parent {
		if s := t.Sites[t.Nodes[n].Site]; s.Line > 0 && in(s.File) {
			return s.File, s.Line, true
		}
	}
	return "", 0, false
}
