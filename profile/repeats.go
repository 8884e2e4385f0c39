package profile

import (
	"fmt"
	"slices"
	"strings"
)

// A program does not do the same work in each run. How much a value varies is a value of its
// own, with the same unit: the largest difference between any two runs, of each node or
// counter.

// variesSuffix is what stands behind the name of a value.
const variesSuffix = ".varies"

// Varying returns the value that tells by how much t varies.
func (t ValueType) Varying() ValueType {
	t.Name += variesSuffix
	t.About += " that vary from run to run"
	return t
}

// Varies returns the name of the value that t tells the variation of.
func (t ValueType) Varies() (of string, ok bool) { return strings.CutSuffix(t.Name, variesSuffix) }

// repeatable tells whether the value is one that could be the same in each run. A time never is.
func (t ValueType) repeatable() bool {
	_, varies := t.Varies()
	return !t.Sampled && !varies && t.Unit != "nanoseconds"
}

// Repeats returns the first of several runs of the same work, with what varies in all of
// them. Each profile is one run, of one or several processes. The result has the
// processes of all of them, and a node for whatever any of them called. What was sampled is
// that of the first run.
func Repeats(runs ...*Profile) (*Profile, error) {
	if err := checkRepeats(runs); err != nil {
		return nil, err
	}
	m := newMerger()
	for i, p := range runs {
		if err := m.add(p.asRun(i)); err != nil {
			return nil, err
		}
	}
	if err := m.p.foldRuns(len(runs)); err != nil {
		return nil, err
	}
	m.p.sortProcesses()
	m.sortFuncs()
	m.p.sortNodes()
	return m.p, nil
}

// checkRepeats returns an error if runs are not several runs with the same values.
func checkRepeats(runs []*Profile) error {
	if len(runs) < 2 {
		return fmt.Errorf("have %d run, want at least 2 of the same work; name more records", len(runs))
	}
	seen := make(map[uint64]bool)
	for i, p := range runs {
		if p.Full() != runs[0].Full() {
			return fmt.Errorf("run %d has another kind of recursion than run 1; record all with the same flags", i+1)
		}
		for _, pair := range [][2]*Profile{{p, runs[0]}, {runs[0], p}} {
			for _, c := range pair[0].Columns {
				if c.repeatable() && !pair[1].Has(c.ValueType) {
					return fmt.Errorf("%s is in run 1 or in run %d only; record all with the same flags", c.Name, i+1)
				}
			}
		}
		for run := range p.runs() {
			if seen[run] {
				return fmt.Errorf("run %d is there twice, and does not differ from itself; name records of several "+
					"runs", i+1)
			}
			seen[run] = true
		}
	}
	return nil
}

// runName is what the column of a value is called in run i.
func runName(value string, i int) string {
	if i == 0 {
		return value
	}
	return fmt.Sprintf("%s.run%d", value, i)
}

// asRun returns a profile whose columns are told apart from those of other runs. It shares the tables of p.
func (p *Profile) asRun(i int) *Profile {
	if i == 0 {
		return p
	}
	q := *p
	q.Columns, q.Requests = nil, nil
	for _, c := range p.Columns {
		if c.repeatable() {
			c.Name = runName(c.Name, i)
			q.Columns = append(q.Columns, c)
		}
	}
	return &q
}

// foldRuns replaces the columns of all runs but the first by how much they vary.
func (p *Profile) foldRuns(runs int) error {
	var types []ValueType
	for _, c := range p.Columns {
		if c.repeatable() && p.Column(runName(c.Name, 1)) != nil {
			types = append(types, c.ValueType)
		}
	}
	for _, t := range types {
		low, high := slices.Clone(p.Column(t.Name).Values), slices.Clone(p.Column(t.Name).Values)
		for i := 1; i < runs; i++ {
			name := runName(t.Name, i)
			for k, v := range p.Column(name).Values {
				low[k], high[k] = min(low[k], v), max(high[k], v)
			}
			p.Columns = slices.DeleteFunc(p.Columns, func(c Column) bool { return c.Name == name })
		}
		varying, err := p.AddColumn(t.Varying())
		if err != nil {
			return err
		}
		for k := range low {
			varying.Values[k] = high[k] - low[k]
		}
	}
	return nil
}
