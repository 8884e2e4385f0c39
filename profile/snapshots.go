package profile

import (
	"fmt"
	"slices"
)

// Snapshots returns profiles without those that others contain already: two records of one
// run, such as a live directory and a file that was sealed from it, do not add up. Among
// records with the same runs, the one with the most recorded stays, and so does one with
// further runs. A note of its process names what was left out. Two records that share some
// runs, while each has others of its own, cannot be separated: that is an error. Runs
// without a number are all different. Segments of a run add up, and are part of a record of the whole run. The profiles
// are not changed.
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

	parts parts
	holds uint64 // of a part without its tables: how much they hold
	light bool
}

// Light returns a part that says what p is, to [KeepSnapshots], and keeps none of its tables: the profile has its
// processes only.
func (p Part) Light() Part {
	p.holds, p.light = p.recorded(), true
	p.Profile = &Profile{Processes: p.Processes}
	return p
}

// KeepSnapshots is Snapshots for profiles that are parts of records.
func KeepSnapshots(parts ...Part) (kept []Part, err error) {
	for i, p := range parts {
		p.Index, p.parts = i, p.runs()
		if kept, err = keepSnapshot(kept, p); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// keepSnapshot adds p to those kept, instead of those that it contains, or leaves it out.
func keepSnapshot(kept []Part, p Part) ([]Part, error) {
	for i, k := range kept {
		have, more := k.parts, p.parts
		inHave, inMore := more.in(have), have.in(more) // how much of p is in k, and of k in p
		switch {
		case have.begins(more) || more.begins(have):
			return nil, fmt.Errorf("a record of a run has the beginning of a segment of it that is another record; " +
				"they cannot be added up: give a newer record of the run, or its segments")
		case inHave == 0 && inMore == 0:
			continue
		case inHave < len(more) && inMore < len(have):
			return nil, fmt.Errorf("two records share %d of their runs, and have %d and %d others; they cannot be "+
				"added up: give the records of single runs", max(inHave, inMore), len(have)-inMore, len(more)-inHave)
		case inHave == len(more) && (inMore < len(have) || k.recorded() >= p.recorded()):
			kept[i] = k.without(p)
			return kept, nil
		}
		// p has all that k has, and may have more
		rest := slices.Delete(slices.Clone(kept), i, i+1)
		return keepSnapshot(rest, p.without(k))
	}
	return append(slices.Clip(kept), p), nil
}

// A part is a run, or one of its segments, if it has a number.
type part struct{ run, segment uint64 }

// Parts are those that a record has. Of a whole run they say how many of its segments had ended: these are in it, and
// from what came later it is another part.
type parts map[part]uint64

// runs returns what p has of processes with a run number.
func (p *Profile) runs() parts {
	set := make(parts)
	for _, proc := range p.Processes {
		switch s := proc.Segment; {
		case proc.Run == 0:
		case s == nil:
			set[part{proc.Run, 0}] = 0
		default:
			set[part{proc.Run, s.Number}] = s.Closed
		}
	}
	return set
}

// in returns how many of the parts are in a record with others.
func (p parts) in(others parts) (n int) {
	for one := range p {
		if others.have(one) {
			n++
		}
	}
	return n
}

// begins reports whether p has a whole run, as it was while a segment in others was written.
func (p parts) begins(others parts) bool {
	for one := range others {
		if closed, whole := p[part{one.run, 0}]; whole && one.segment == closed+1 {
			return true
		}
	}
	return false
}

// have reports whether the parts have one.
func (p parts) have(one part) bool {
	if _, same := p[one]; same {
		return true
	}
	closed, whole := p[part{one.run, 0}]
	return whole && one.segment <= closed
}

// recorded returns how much a record holds. Of one run it only grows.
func (p Part) recorded() uint64 {
	if p.light {
		return p.holds
	}
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
	runs, own := other.parts, p.parts
	shared := func(run uint64) bool {
		for one := range runs {
			if one.run == run {
				return true
			}
		}
		return false
	}
	for i := range with.Processes {
		proc := &with.Processes[i]
		if !shared(proc.Run) {
			continue
		}
		note := "another record of this run is left out: it has as much"
		if own.in(runs) < len(own) {
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
