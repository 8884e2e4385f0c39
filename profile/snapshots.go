package profile

import (
	"fmt"
	"maps"
	"slices"
)

// Snapshots returns profiles without those that others contain already: two records of one
// run, such as a live directory and a file that was sealed from it, do not add up. Among
// records with the same runs, the one with the most recorded stays, and so does one with
// further runs. A note of its process names what was left out. Two records that share some
// runs, while each has others of its own, cannot be separated: that is an error. Runs
// without a number are all different. The profiles are not changed.
func Snapshots(profiles ...*Profile) ([]*Profile, error) {
	var parts []Part
	for _, p := range profiles {
		parts = append(parts, Part{Profile: p})
	}
	kept, err := KeepSnapshots(parts...)
	if err != nil {
		return nil, err
	}
	var list []*Profile
	for _, k := range kept {
		list = append(list, k.Profile)
	}
	return list, nil
}

// A Part is a profile that may be part of a record.
type Part struct {
	*Profile
	More  uint64 // how much the record has beside the profile
	Index int    // of a result: which of the arguments it was
}

// KeepSnapshots is Snapshots for profiles that are parts of records.
func KeepSnapshots(parts ...Part) (kept []Part, err error) {
	for i, p := range parts {
		p.Index = i
		if kept, err = keepSnapshot(kept, p); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// keepSnapshot adds p to those kept, instead of those that it contains, or leaves it out.
func keepSnapshot(kept []Part, p Part) ([]Part, error) {
	for i, k := range kept {
		have, more := k.runs(), p.runs()
		switch shared := common(have, more); {
		case shared == 0:
			continue
		case shared < len(have) && shared < len(more):
			return nil, fmt.Errorf("two records share %d of their runs, and have %d and %d others; they cannot be "+
				"added up: give the records of single runs", shared, len(have)-shared, len(more)-shared)
		case shared == len(more) && (len(have) > len(more) || k.recorded() >= p.recorded()):
			kept[i] = k.without(p)
			return kept, nil
		}
		// p has all that k has, and may have more
		rest := slices.Delete(slices.Clone(kept), i, i+1)
		return keepSnapshot(rest, p.without(k))
	}
	return append(slices.Clip(kept), p), nil
}

// runs returns the run numbers of the processes that have one.
func (p *Profile) runs() map[uint64]bool {
	set := make(map[uint64]bool)
	for _, proc := range p.Processes {
		if proc.Run != 0 {
			set[proc.Run] = true
		}
	}
	return set
}

// common returns how many numbers are in both sets.
func common(a, b map[uint64]bool) int {
	n := 0
	for k := range maps.Keys(a) {
		if b[k] {
			n++
		}
	}
	return n
}

// recorded returns how much a record holds. Of one run it only grows.
func (p Part) recorded() uint64 {
	n := p.More + uint64(len(p.Nodes)) + uint64(len(p.Funcs)) + uint64(len(p.Requests))
	for _, c := range p.Columns {
		if c.Unit != Calls.Unit {
			continue // how long something took says little about how much there was
		}
		for _, v := range c.Values {
			n += v
		}
	}
	return n
}

// without returns p with a note at the runs that it shares with other, which is left out.
func (p Part) without(other Part) Part {
	with := *p.Profile
	with.Processes = slices.Clone(p.Processes)
	runs := other.runs()
	for i := range with.Processes {
		proc := &with.Processes[i]
		if !runs[proc.Run] {
			continue
		}
		note := "another record of this run is left out: it has as much"
		if len(runs) < len(p.runs()) {
			note = "another record of this run is left out: it is part of this one"
		} else if p.recorded() > other.recorded() {
			note = "another record of this run is left out: it is older, with less in it"
		}
		if !slices.Contains(proc.Notes, note) {
			proc.Notes = append(slices.Clone(proc.Notes), note)
		}
	}
	p.Profile = &with
	return p
}
