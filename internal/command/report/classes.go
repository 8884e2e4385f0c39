package report

import (
	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
)

// classList returns the calls by class. Samples know no calls.
func (r *reporter) classList() ([]cct.Class, error) {
	if r.t.Type.Sampled {
		return nil, base.Usagef(
			"report: -classes: %s is sampled, and samples know no calls; name a record of a program built with %s",
			r.t.Type.Name, engine.Giving(engine.Counts))
	}
	app := cct.Application(r.t)
	if re := r.o.Application; re != nil {
		app = func(fn uint32) bool { return re.MatchString(r.t.Funcs[fn].Name) }
	}
	return cct.Classes(r.t, app), nil
}

// classes prints how many calls lead from where to where. Percentages are of all calls, and
// of all contexts.
func (r *reporter) classes() error {
	list, err := r.classList()
	if err != nil {
		return err
	}
	r.head("%15s %7s %15s %7s  %s", r.t.Type.Name, "%", "contexts", "%", "class")
	if len(list) == 0 {
		r.empty()
	}
	for _, c := range list {
		share := 0.0
		if r.totals.Contexts > 0 {
			share = 100 * float64(c.Contexts) / float64(r.totals.Contexts)
		}
		r.printf("%15s %s %15s %6.2f%%  %s → %s\n", r.amount(c.Calls), r.percent(c.Calls),
			humanize.Commas(c.Contexts), share, c.Caller, c.Callee)
	}
	return nil
}
