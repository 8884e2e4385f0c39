package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/profile"
)

// Options say what a page shows.
type Options struct {
	Contexts bool   // a row for each context, not for each function
	Sort     string // one of Orders
	Search   string // text that the name of a function has in it, in any case; of a context, of one of its functions
	Rows     int    // at most
}

// Orders are what rows can be sorted by; the largest come first, but for names.
var Orders = []string{"rate", "count", "name"}

// A Page is what happened between two readings.
type Page struct {
	Type     profile.Metric
	Took     time.Duration // between the readings; 0 of the first
	Delta    uint64        // of all functions together
	Count    uint64
	Contexts uint64
	Rows     []Row
	Note     string // says what the rows are if they are no parts of a sum
	More     int    // rows that there is no room for
	Rest     Row    // these together
}

// A Row is a function or a context.
type Row struct {
	Name  string
	Delta uint64 // since the reading before
	Count uint64
}

// Between returns the page of two readings of one program; before may be nil.
func Between(before, now *Reading, o Options) *Page {
	p := &Page{Type: now.Tree.Type, Note: now.Note}
	deltas := now.Counts
	switch {
	case before == nil || before.Tree.Type.Name != now.Tree.Type.Name:
	case before.Process.Run != now.Process.Run: // the record of context IDs has begun anew meanwhile
		if s := now.Process.Segment; s != nil {
			p.Took = now.Time.Sub(s.Began)
		}
	default:
		p.Took = now.Time.Sub(before.Time)
		deltas = slices.Clone(now.Counts)
		at := before.nodesOf(now)
		for i, n := range before.Counts {
			if k := at(i); k >= 0 {
				deltas[k] -= min(n, deltas[k]) // a counter that is being written may be a moment older
			}
		}
	}
	for i, n := range now.Counts {
		p.Count += n
		p.Delta += deltas[i]
		if n > 0 {
			p.Contexts++
		}
	}
	rows := byFunction(now, deltas, o)
	if o.Contexts {
		rows = byContext(now, deltas, o)
	}
	if p.Took == 0 {
		p.Delta = 0
		for i := range rows {
			rows[i].Delta = 0
		}
	}
	for _, r := range rows {
		p.Rest.Delta += r.Delta
		p.Rest.Count += r.Count
	}
	p.More = len(rows)
	for _, r := range first(rows, o.Rows, o.Sort) {
		p.More--
		p.Rest.Delta -= r.Delta
		p.Rest.Count -= r.Count
		if r.Name = humanize.Shorten(r.Name, most); o.Contexts {
			r.Name = contextName(now.Tree, r.node)
		}
		p.Rows = append(p.Rows, r.Row)
	}
	return p
}

// A rankedRow is a row, of a context without its name: that takes long to make.
type rankedRow struct {
	Row
	node uint32
}

// extends reports whether the nodes of r are the first of later, in the same order.
func (r *Reading) extends(later *Reading) bool {
	a, b := r.Tree, later.Tree
	if a == b {
		return true
	}
	if len(r.Counts) > len(later.Counts) {
		return false
	}
	for i, n := range a.Nodes[:len(r.Counts)] {
		m := b.Nodes[i]
		if n.Parent != m.Parent || a.Sites[n.Site] != b.Sites[m.Site] || a.Funcs[n.Func].Name != b.Funcs[m.Func].Name {
			return false
		}
	}
	return true
}

// nodesOf returns, for each node of r, the same context among the nodes of a later reading, or -1. Those of calls
// keep their numbers; one of another value gets a node when it has some, and that may come before others.
func (r *Reading) nodesOf(later *Reading) func(i int) int {
	if r.extends(later) {
		return func(i int) int { return i }
	}
	a, b := r.Tree, later.Tree
	type context struct {
		parent int
		site   cct.Site
		fn     cct.Func
	}
	of := func(t *cct.Tree, i, parent int) context {
		n := t.Nodes[i]
		return context{parent, t.Sites[n.Site], t.Funcs[n.Func]}
	}
	list := make([]int, len(r.Counts))
	numbers := make(map[context]int)
	for i := 1; i < len(later.Counts); i++ {
		numbers[of(b, i, int(b.Nodes[i].Parent))] = i
	}
	for i := 1; i < len(list); i++ {
		list[i] = -1
		if up := list[a.Nodes[i].Parent]; up >= 0 {
			if k, ok := numbers[of(a, i, up)]; ok {
				list[i] = k
			}
		}
	}
	return func(i int) int { return list[i] }
}

// byFunction returns a row for each function, to which what is counted belongs as in stemma report: memory to the one
// that allocates, a wait to the one that waits.
func byFunction(now *Reading, deltas []uint64, o Options) (rows []rankedRow) {
	t := now.Tree
	all := make([]rankedRow, len(t.Funcs))
	for i, count := range now.Counts {
		if count == 0 {
			continue
		}
		_, function := t.Allocator(uint32(i))
		r := &all[t.Nodes[function].Func]
		r.Delta += deltas[i]
		r.Count += count
	}
	match := o.matching(t)
	for i, r := range all {
		if r.Count > 0 && match[i] {
			r.Name = t.Funcs[i].Name
			rows = append(rows, r)
		}
	}
	return rows
}

func byContext(now *Reading, deltas []uint64, o Options) (rows []rankedRow) {
	t, match := now.Tree, o.matching(now.Tree)
	within := make([]bool, len(now.Counts))
	for i, n := range t.Nodes[:len(now.Counts)] {
		within[i] = match[n.Func] || i > 0 && within[n.Parent]
		if now.Counts[i] > 0 && within[i] {
			rows = append(rows, rankedRow{Row{t.Funcs[n.Func].Name, deltas[i], now.Counts[i]}, uint32(i)})
		}
	}
	return rows
}

// matching tells for each function whether the search finds it.
func (o *Options) matching(t *cct.Tree) []bool {
	list := make([]bool, len(t.Funcs))
	for i, f := range t.Funcs {
		list[i] = o.Search == "" || strings.Contains(strings.ToLower(f.Name), strings.ToLower(o.Search))
	}
	return list
}

// first returns the first n rows in an order. Most of a hundred thousand contexts are compared
// once, with the last row that is among the first so far.
func first(rows []rankedRow, n int, order string) (list []rankedRow) {
	compare := func(a, b rankedRow) int { return compareRows(&a, &b, order) }
	var last *rankedRow // of the first n so far
	for i := range rows {
		if last != nil && compareRows(&rows[i], last, order) > 0 {
			continue
		}
		if list = append(list, rows[i]); len(list) >= 2*n {
			slices.SortFunc(list, compare)
			list = list[:n]
			worst := list[n-1] // sorting moves what is in the list
			last = &worst
		}
	}
	slices.SortFunc(list, compare)
	return list[:min(n, len(list))]
}

// compareRows compares rows in an order. What is equal in it is in the others.
func compareRows(a, b *rankedRow, order string) int {
	rate, count := cmp.Compare(b.Delta, a.Delta), cmp.Compare(b.Count, a.Count)
	if order == "count" {
		rate, count = count, rate
	}
	if c := cmp.Or(rate, count); c != 0 && order != "name" {
		return c
	}
	return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.node, b.node))
}

// most is how long a name may get: no terminal shows more.
const most = 400

// contextName returns a context in a line, innermost function first.
func contextName(t *cct.Tree, n uint32) string {
	var b strings.Builder
	for i, f := range t.Stack(n) {
		if b.Len() > most {
			b.WriteString(" ← …")
			break
		}
		if i > 0 {
			b.WriteString(" ← ")
		}
		b.WriteString(humanize.Shorten(f.Func, most))
	}
	return b.String()
}

// rate returns what happened in a second; of a time, which part of one it was.
func (p *Page) rate(delta uint64) string {
	if p.Took <= 0 {
		return "-"
	}
	r := float64(delta) / p.Took.Seconds()
	switch {
	case p.Type.Unit == "nanoseconds":
		return fmt.Sprintf("%.1f%%", r/1e7) // of a second in each second
	case r > 0 && r < 10:
		return fmt.Sprintf("%.1f", r)
	}
	return humanize.Commas(uint64(r + 0.5))
}

// per says what a rate is per.
func (p *Page) per() string {
	if p.Type.Unit == "nanoseconds" {
		return " of a second"
	}
	return "/s"
}

// heading returns what is above the rows.
func (p *Page) heading() string {
	return fmt.Sprintf("%15s %7s %19s  ", p.Type.Name+p.per(), "%", p.Type.Name)
}

// line returns a row as text.
func (p *Page) line(r Row) string {
	count, of := humanize.Amount(p.Type, r.Count), p.Delta
	if p.Note != "" {
		of = 0
	}
	return fmt.Sprintf("%15s %7s %19s  %s", p.rate(r.Delta), percent(r.Delta, of), count, r.Name)
}

func percent(n, of uint64) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100*float64(n)/float64(of))
}

// summary says what happened in all.
func (p *Page) summary() string {
	if p.Note != "" {
		return p.Note
	}
	s := humanize.Amount(p.Type, p.Count) + " of " + p.Type.Name
	if p.Type.Counts() {
		s = humanize.Commas(p.Count) + " " + p.Type.Name
	}
	s += " · " + humanize.Plural(p.Contexts, "context")
	if p.Took > 0 {
		s = p.rate(p.Delta) + p.per() + " · " + s
	}
	return s
}

// rest says what there is no room for.
func (p *Page) rest() string {
	more := humanize.Commas(uint64(p.More)) + " more"
	switch {
	case p.More == 0:
		return ""
	case p.Note != "":
		return fmt.Sprintf("%15s %7s %19s  %s", "-", "-", "-", more)
	}
	return p.line(Row{more, p.Rest.Delta, p.Rest.Count})
}
