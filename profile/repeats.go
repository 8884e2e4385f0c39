package profile

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// A program does not do the same work in each run. The variation of a value is a value of its
// own, with the same unit: the largest difference between any two runs, of each node or
// counter.

// variesSuffix ends the name of a variation.
const variesSuffix = ".varies"

// Varying returns the variation of t.
func (t Metric) Varying() Metric {
	t.Name += variesSuffix
	t.About += " that vary from run to run"
	return t
}

// Varies returns the name of the value whose variation t is.
func (t Metric) Varies() (of string, ok bool) { return strings.CutSuffix(t.Name, variesSuffix) }

// repeatable reports whether the value could be the same in each run. A time never is.
func (t Metric) repeatable() bool {
	_, varies := t.Varies()
	return !t.Sampled && !varies && t.Unit != "nanoseconds"
}

// Repeats returns the first of several runs of the same work, with the variation over all of them. Each profile is one
// run, of one or several processes. There may be many: Repeats keeps one at a time. The result has the processes of all
// runs, and a node for whatever any of them called. Samples are those of the first run. An error of runs ends it.
func Repeats(runs iter.Seq2[*Profile, error]) (*Profile, error) {
	r := &repeats{m: newMerger(), seen: make(map[uint64]bool), names: make(map[string]bool)}
	for p, err := range runs {
		if err == nil {
			err = r.add(p)
		}
		if err != nil {
			return nil, err
		}
	}
	if r.n < 2 {
		return nil, fmt.Errorf("have %d run, want at least 2 of the same work; name more records", r.n)
	}
	r.reduce()
	r.m.p.sortProcesses()
	r.m.sortFuncs()
	r.m.p.sortNodes()
	return r.m.p, nil
}

// repeats adds runs up. Beside each value of the first run that could repeat, the sum has three more while runs are
// added: the least in any run, the largest, which becomes the value that varies, and that of the run at hand.
type repeats struct {
	m     *merger
	n     int // runs that were added
	full  bool
	types []Metric        // that could repeat, in the first run
	seen  map[uint64]bool // numbers of the runs of all processes
	names map[string]bool // of functions in the runs that were added
}

// least and current return the values that t has beside it, with names that no file has.
func (t Metric) least() Metric   { t.Name += ".least"; return t }
func (t Metric) current() Metric { t.Name += ".run"; return t }

// add adds a run.
func (r *repeats) add(p *Profile) error {
	if r.n == 0 {
		return r.addFirst(p)
	}
	if err := r.check(p); err != nil {
		return err
	}
	if err := r.m.add(p.asRun()); err != nil {
		return err
	}
	for _, t := range r.types {
		least, most, now := r.values(t.least()), r.values(t.Varying()), r.values(t.current())
		for i, v := range now {
			least[i], most[i] = min(least[i], v), max(most[i], v)
		}
		clear(now)
	}
	r.n++
	return nil
}

func (r *repeats) addFirst(p *Profile) error {
	r.full = p.Full()
	for _, c := range p.Columns {
		if c.repeatable() {
			r.types = append(r.types, c.Metric)
		}
	}
	if err := r.check(p); err != nil {
		return err
	}
	if err := r.m.add(p); err != nil {
		return err
	}
	for _, t := range r.types {
		first := r.values(t)
		for _, beside := range []Metric{t.Varying(), t.least(), t.current()} {
			c, err := r.m.p.AddColumn(beside)
			if err != nil {
				return err
			}
			if beside != t.current() {
				copy(c.Values, first)
			}
		}
	}
	r.n = 1
	return nil
}

// values returns the values of all nodes or counters in the sum.
func (r *repeats) values(t Metric) []uint64 { return r.m.p.Column(t.Name).Values }

// check returns an error if p is not another run with the values of the first.
func (r *repeats) check(p *Profile) error {
	if p.Full() != r.full {
		return fmt.Errorf("run %d has another kind of recursion than run 1; record all with the same flags", r.n+1)
	}
	for _, t := range r.types {
		c := p.Column(t.Name)
		if c == nil {
			return r.inOneOnly(t)
		}
		if c.Metric != t {
			return fmt.Errorf("%s is %+v in run 1, %+v in run %d; record all with the same stemma", t.Name, t,
				c.Metric, r.n+1)
		}
	}
	for _, c := range p.Columns {
		if c.repeatable() && !slices.Contains(r.types, c.Metric) {
			return r.inOneOnly(c.Metric)
		}
	}
	for one := range p.runs() {
		if r.seen[one.run] {
			return fmt.Errorf("run %d is there twice, and does not differ from itself; name records of several "+
				"runs", r.n+1)
		}
		r.seen[one.run] = true
	}
	return r.checkBuild(p)
}

// checkBuild returns an error if a function of p is there in the runs before, and not as in p: then these are of other
// builds, and no context of it would be one of both. A run need not have the same functions as others.
func (r *repeats) checkBuild(p *Profile) error {
	same := make(map[string]bool) // by name; several binaries of a run may each have a function of one name
	for i := range p.Funcs {
		f := &p.Funcs[i]
		if f.Kind != FuncOrdinary || f.Flags&FuncWrapper != 0 {
			continue
		}
		_, ok := r.m.funcs[p.funcKey(f)]
		name := p.String(f.Name)
		same[name] = same[name] || ok
	}
	for _, name := range slices.Sorted(maps.Keys(same)) {
		if r.names[name] && !same[name] {
			return fmt.Errorf("run %d is of another build than the runs before: %s is not the same function there; "+
				"record all runs with one build", r.n+1, name)
		}
		r.names[name] = true
	}
	return nil
}

func (r *repeats) inOneOnly(t Metric) error {
	return fmt.Errorf("%s is in run 1 or in run %d only; record all with the same flags", t.Name, r.n+1)
}

// asRun returns a profile that has only what could repeat, as the values of the run at hand. It shares the tables of p.
func (p *Profile) asRun() *Profile {
	q := *p
	q.Columns, q.Requests = nil, nil
	for _, c := range p.Columns {
		if c.repeatable() {
			c.Metric = c.current()
			q.Columns = append(q.Columns, c)
		}
	}
	return &q
}

// reduce leaves by how much values vary, and nothing else beside those of the first run.
func (r *repeats) reduce() {
	p := r.m.p
	for _, t := range r.types {
		varying := r.values(t.Varying())
		for i, v := range r.values(t.least()) {
			varying[i] -= v
		}
		p.Columns = slices.DeleteFunc(p.Columns, func(c Column) bool {
			return c.Name == t.least().Name || c.Name == t.current().Name
		})
	}
}
