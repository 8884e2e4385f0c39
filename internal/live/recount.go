package live

import (
	"fmt"

	"github.com/stemma-go/stemma/profile"
)

// Recount reads the counters of the tree's nodes again, into the profile. grew tells that the
// program has recorded something else since, such as more nodes: then nothing has changed here,
// and the directory must be opened again.
func (l *Dir) Recount() (grew bool, err error) {
	if HasFile(l.FS, fileSamples) || !HasFile(l.FS, fileTree) {
		return true, nil
	}
	tree, err := OpenFile(l.FS, fileTree)
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
	clear(l.Profile.Column(profile.Calls.Name).Values)
	notes := p.Notes[:len(p.Notes):len(p.Notes)]
	err = l.readShards()
	p.Notes = notes // they would say the same again
	return false, err
}
