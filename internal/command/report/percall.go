package report

import (
	"cmp"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/profile"
)

// perCall prints the groups with the time that one call takes, on the average: that of the group and what it calls,
// divided by its calls. What is no call of the program, such as the collector, has none.
func (r *reporter) perCall(p *profile.Profile, list []cct.Group) error {
	t, err := cct.Of(p, profile.Calls.Name)
	if err != nil {
		return err
	}
	calls, err := t.Select(r.o.Selection).By(cmp.Or(r.o.By, "function"))
	if err != nil {
		return err
	}
	byGroup := make(map[cct.Group]uint64)
	for _, g := range calls {
		byGroup[keyOf(g)] += g.Self
	}
	what := cmp.Or(r.o.By, "function")
	r.head("%15s %7s %15s %7s %15s %12s  %s", r.t.Type.Name, "%", "total", "%", "calls", "total/call", what)
	if len(list) == 0 {
		r.empty()
	}
	for _, g := range list[:r.cut(len(list))] {
		n, each := byGroup[keyOf(g)], "-"
		if n > 0 {
			each = humanize.Commas((g.Total+n/2)/n) + " ns"
		}
		r.printf("%15s %s %15s %s %15s %12s  %s\n", r.amount(g.Self), r.percent(g.Self), r.amount(g.Total),
			r.percent(g.Total), humanize.Commas(n), each, r.groupName(g))
	}
	r.more(len(list), what)
	return nil
}

// keyOf returns what tells groups apart.
func keyOf(g cct.Group) cct.Group {
	g.Self, g.Total, g.Contexts = 0, 0, 0
	return g
}
