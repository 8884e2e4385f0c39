package report

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/costmodel"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/profile"
)

// costs says where a report's instructions come from.
type costs struct {
	machine   string
	estimated int     // functions that are others in a file of costs, or not there
	share     float64 // of all operations that are theirs
	table     bool    // there is a table for them; else they are left out
}

// warning returns what is less sure than the rest, "" if nothing is.
func (c costs) warning() string {
	if c.estimated == 0 {
		return ""
	}
	how := "left out"
	if c.table {
		how = "estimated"
	}
	return fmt.Sprintf("the instructions of %s (%.2f %% of all operations) are %s: on %s they are other code",
		humanize.Plural(c.estimated, "function"), 100*c.share, how, c.machine)
}

// json returns the same for JSON, nil for nothing.
func (c costs) json() *jsonEstimated {
	if c.estimated == 0 {
		return nil
	}
	return &jsonEstimated{c.machine, c.estimated, c.share, !c.table}
}

// expandCosts returns the instructions that the operations of a profile would take on another machine.
func expandCosts(p *profile.Profile, o *Options) (*cct.Tree, error) {
	find := tableCosts
	if _, err := os.Stat(o.Cost); err == nil && !slices.Contains(costmodel.Names(), o.Cost) {
		find = fileCosts
	}
	list, err := find(p, o)
	if err != nil {
		return nil, base.Usagef("report: -cost: %w", err)
	}
	value := profile.Metric{Name: "instructions", Unit: profile.Ops.Unit,
		About: "the instructions on " + o.costs.machine}
	t, err := cct.OfCosts(p, list, value)
	if err != nil {
		return nil, base.Usagef("report: -cost=%s: %w", o.Cost, err)
	}
	return t, nil
}

// releaseOf returns the Go release of a profile, "" if it is not known. All of its programs must have one release.
func releaseOf(p *profile.Profile) (release string, err error) {
	for _, proc := range p.Processes {
		if release != "" && proc.GoVersion != release {
			return "", fmt.Errorf("programs that were built by %s and %s: operations of another release are others; "+
				"name records of one", release, proc.GoVersion)
		}
		release = proc.GoVersion
	}
	return release, nil
}

// hasPlaced reports whether a profile says which counters were placed for operations, or has none but those of
// invocations.
func hasPlaced(p *profile.Profile) bool {
	several := false
	for _, f := range p.Funcs {
		if len(f.Placed) > 0 {
			return true
		}
		several = several || slices.ContainsFunc(f.Weights, func(w profile.Weight) bool { return w.Counter > 0 })
	}
	return !several
}

// tableCosts returns the costs of a machine's table.
func tableCosts(p *profile.Profile, o *Options) (*cct.Costs, error) {
	o.costs.machine = o.Cost
	release, err := releaseOf(p)
	if err != nil {
		return nil, err
	}
	table, err := costmodel.Find(o.Cost, release)
	if err != nil {
		return nil, err
	}
	return &cct.Costs{Classes: table.Costs}, nil
}

// fileCosts returns those of a file of stemma costs. Functions that it does not have, or that are other ones there, get
// those of the machine's table, if it has one.
func fileCosts(p *profile.Profile, o *Options) (*cct.Costs, error) {
	program, err := costmodel.Open(o.Cost)
	if err != nil {
		return nil, err
	}
	o.costs.machine = program.Machine()
	release, err := releaseOf(p)
	switch {
	case err != nil:
		return nil, err
	case release != "" && program.Release() != release:
		return nil, fmt.Errorf("%s is of %s, and the program was built by %s; use the same release for both",
			store.Relative(o.Cost), program.Release(), release)
	case !hasPlaced(p):
		return nil, errors.New("the program was built by a stemma that does not say which counters are whose; build " +
			"and run it once more, or give a machine, as -cost=" + program.Table())
	}
	known, others := program.In(p)
	list := &cct.Costs{Known: known}
	if table, err := costmodel.Find(program.Table(), release); err == nil {
		list.Classes, o.costs.table = table.Costs, true
	}
	o.costs.estimated, o.costs.share = len(others), shareOf(p, others)
	return list, nil
}

// shareOf returns the share of some functions in the operations of a profile.
func shareOf(p *profile.Profile, funcs []uint32) float64 {
	is := make(map[uint32]bool)
	for _, f := range funcs {
		is[f] = true
	}
	var theirs, all float64
	for i, n := range p.Nodes {
		counts := p.NodeCounts(i)
		f := &p.Funcs[n.Func]
		for _, w := range f.Weights {
			if w.Class != f.CountedClass() {
				continue
			}
			ops := float64(w.N) * float64(counts[w.Counter])
			if all += ops; is[n.Func] {
				theirs += ops
			}
		}
	}
	if all == 0 {
		return 0
	}
	return theirs / all
}
