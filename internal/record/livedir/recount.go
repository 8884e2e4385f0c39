package livedir

import (
	"fmt"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/profile"
)

// Recount reads the counters of the tree's nodes again, of all values, and how many objects are reachable, into the
// profile. grew tells that the program has recorded something else since, such as more nodes: then the directory must
// be opened again.
func (l *Dir) Recount() (grew bool, err error) {
	if HasFile(l.FS, layout.FileSamples) || !HasFile(l.FS, layout.FileTree) ||
		l.Header.Flags&layout.HdrFlagExisting != 0 {
		return true, nil
	}
	tree, err := OpenFile(l.FS, layout.FileTree)
	if err != nil {
		return false, err
	}
	defer tree.Close()
	var h Header
	if err := h.read(tree); err != nil {
		return false, err
	}
	switch before := &l.Header; {
	case h.Run != before.Run:
		return false, fmt.Errorf("the record of another run of the program")
	case h.Used != before.Used || h.FuncsUsed != before.FuncsUsed || h.Shards != before.Shards || h.Lost != before.Lost:
		return true, nil
	}
	p := l.Process()
	for _, loss := range p.Losses {
		if loss.Kind == profile.LossIncomplete {
			return true, nil // what was being made then may be complete
		}
	}
	l.clearCounts()
	notes := p.Notes[:len(p.Notes):len(p.Notes)]
	had := l.Profile.Has(profile.InuseSpace)
	if err = l.readShards(); err == nil && l.Header.Flags&layout.HdrFlagInuse != 0 {
		err = l.readInuse()
	}
	p.Notes = notes // they would say the same again
	return had != l.Profile.Has(profile.InuseSpace), err
}

// clearCounts sets what the shards count to 0, in all columns.
func (l *Dir) clearCounts() {
	clear(l.Profile.Column(profile.Calls.Name).Values)
	for _, a := range amounts() {
		for _, t := range a.values {
			if c := l.Profile.Column(t.Name); c != nil {
				clear(c.Values)
			}
		}
	}
	for _, m := range l.ownMetrics() {
		clear(l.Profile.Column(m.Name).Values)
	}
}
