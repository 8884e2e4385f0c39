package page

import (
	"cmp"
	"fmt"
	"slices"
)

// A funcRow is a function with what it has.
type funcRow struct {
	numbers
	fn uint32
}

// A functionsAnswer is a part of the table of functions. The rows and what is not drawn are
// all functions that match; with those that do not they have the whole value.
type functionsAnswer struct {
	Generation int            `json:"gen"`
	Unit       string         `json:"unit"`
	Rows       []functionInfo `json:"rows"`
	From       int            `json:"from"`    // index of the first row among those that match
	Matched    rowSum         `json:"matched"` // all that match
	Rest       rowSum         `json:"rest"`    // those of them that are no rows here
	All        rowSum         `json:"all"`     // that are selected
	Counted    uint64         `json:"counted"` // as a report counts functions; 0 with a base
	Whole      uint64         `json:"whole"`   // of the value, to make shares of
	WholeBase  uint64         `json:"wholeBase,omitempty"`
}

type functionInfo struct {
	funcInfo
	numbers
}

// A rowSum adds up rows: what each has of its own.
type rowSum struct {
	Functions int    `json:"functions"`
	Self      uint64 `json:"self"`
	Base      uint64 `json:"base,omitempty"`
	Contexts  uint64 `json:"contexts"`
}

func (s *rowSum) add(r funcRow) {
	s.Functions++
	s.Self += r.Self
	s.Base += r.Base
	s.Contexts += r.Contexts
}

// functionRows returns all functions with a value on either side.
func (s *dataset) functionRows() []funcRow {
	if s.rows != nil {
		return s.rows
	}
	all := make([]funcRow, len(s.tree().Funcs))
	for i := range all {
		all[i].fn = uint32(i)
	}
	for i, n := range s.contexts() {
		all[s.tree().Nodes[s.tree().Waiter(uint32(i))].Func].Contexts += n
	}
	for side, t := range s.sides {
		self := make([]uint64, len(all))
		for i, n := range t.Nodes {
			self[t.Nodes[t.Waiter(uint32(i))].Func] += n.Count
		}
		for i, total := range t.InclusiveByFunction() {
			if r := &all[i]; side == sideNew {
				r.Self, r.Total = self[i], total
			} else {
				r.Base, r.BaseAll = self[i], total
			}
		}
	}
	s.rows = slices.DeleteFunc(all, func(r funcRow) bool {
		f := s.tree().Funcs[r.fn]
		return r.Self == 0 && r.Base == 0 && (f.Pseudo || r.Total == 0 && r.BaseAll == 0)
	})
	return s.rows
}

// counted returns how many functions a report says there are: those with a value of their own, and those that memory or
// waits are of, but no types and reasons, which have rows as well. Of two records there is no such report.
func (s *dataset) counted() uint64 {
	if len(s.sides) > 1 {
		return 0
	}
	if s.functions == 0 {
		s.functions = s.sides[sideNew].Totals().Functions
	}
	return s.functions
}

// orders are what the table can be sorted by. The largest come first, but for names.
var orders = map[string]func(a, b numbers) int{
	"self":     func(a, b numbers) int { return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total)) },
	"total":    func(a, b numbers) int { return cmp.Compare(b.Total, a.Total) },
	"contexts": func(a, b numbers) int { return cmp.Compare(b.Contexts, a.Contexts) },
	"base":     func(a, b numbers) int { return cmp.Compare(b.Base, a.Base) },
	"change":   func(a, b numbers) int { return cmp.Compare(distance(b.Self, b.Base), distance(a.Self, a.Base)) },
	"name":     func(a, b numbers) int { return 0 },
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// functions answers with rows of the table. Arguments: value and a selection; q, a search; sort, one of the orders,
// self if it is not given; from and n, which rows.
func (m *model) functions(a Args) (*functionsAnswer, error) {
	s, err := m.set(a.get("metric"), a.selection())
	if err != nil {
		return nil, err
	}
	order, ok := orders[cmp.Or(a.get("sort"), "self")]
	if !ok {
		return nil, fmt.Errorf("no order %q", a.get("sort"))
	}
	ans := &functionsAnswer{Generation: m.generation, Unit: s.typ.Unit, Rows: []functionInfo{}}
	re, err := pattern(a.get("q"))
	if err != nil {
		return nil, err
	}
	ans.Whole, ans.WholeBase = s.whole[sideNew], s.whole[sideBase]
	var rows []funcRow
	for _, r := range s.functionRows() {
		ans.All.add(r)
		if re == nil || re.MatchString(s.tree().Funcs[r.fn].Name) {
			rows = append(rows, r)
			ans.Matched.add(r)
		}
	}
	funcs := s.tree().Funcs
	slices.SortFunc(rows, func(a, b funcRow) int {
		return cmp.Or(order(a.numbers, b.numbers), cmp.Compare(funcs[a.fn].Name, funcs[b.fn].Name),
			cmp.Compare(a.fn, b.fn))
	})
	ans.Counted = s.counted()
	ans.From = a.number("from", 0, 0, len(rows))
	ans.Rest = ans.Matched
	for _, r := range rows[ans.From:min(len(rows), ans.From+a.number("n", 100, 0, 1_000_000))] {
		ans.Rows = append(ans.Rows, functionInfo{describe(funcs[r.fn]), r.numbers})
		ans.Rest.Functions--
		ans.Rest.Self -= r.Self
		ans.Rest.Base -= r.Base
		ans.Rest.Contexts -= r.Contexts
	}
	return ans, nil
}
