package store

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/profile"
)

// maxKept is how many records are kept in memory to be added up. Further ones that do not change any more are read
// once more: a sum of thousands of segments needs memory for what is new in each, and not for all.
const maxKept = 32

// A summand is a record to be added up.
type summand struct {
	place   Place
	rec     *record.Record // nil if it is to be read once more
	light   profile.Part   // of one without rec: what is to be known of it before
	metrics []string       // that are exact, but for those of the program's own; nil of a record without calls
}

// LoadSum reads the records at paths, the newest one if there are none, and adds them up. The profile of Records is
// the sum. Of records that are read, but do not add up, the error says why. Then Records are not nil.
func LoadSum(paths []string) (*Records, *record.Record, error) { return LoadCounts(paths, nil) }

// LoadCounts is LoadSum for those who need counts: if one of the records has context IDs, it returns noCounts, unless
// that is nil; behind others, the error names the record. It reads no more than the beginning of such a record, whose
// log may have gigabytes. Then Records are not nil either: they have the sources up to that one.
func LoadCounts(paths []string, noCounts error) (*Records, *record.Record, error) {
	r, sum := &Records{noCounts: noCounts}, new(sum)
	switch err := r.readAll(paths, sum.add); {
	case err != nil && errors.Is(err, noCounts):
		if n := len(r.Sources); n > 1 {
			err = fmt.Errorf("%s: %w", profile.Printable(r.Sources[n-1].Path), err)
		}
		return r, nil, err
	case err != nil:
		return nil, nil, err
	}
	p, err := sum.of()
	if err != nil {
		return r, nil, err
	}
	r.Profiles = []*record.Record{p}
	return r, p, nil
}

// A sum adds up records that come one after the other.
type sum struct {
	summands []summand
	ids      bool // one of them has context IDs
}

// add adds a record of a place. One whose program ran is kept: read once more, it would have more in it.
func (s *sum) add(place Place, p *record.Record, running bool) {
	one := summand{place: place, rec: p, metrics: metricsOf(p.Profile)}
	s.ids = s.ids || p.IDs != nil
	if len(s.summands) >= maxKept && p.IDs == nil && !running {
		one.rec, one.light = nil, p.Part().Light()
	}
	s.summands = append(s.summands, one)
}

// parts returns the summands as parts of the sum.
func (s *sum) parts() (list []profile.Part) {
	for _, one := range s.summands {
		if one.rec != nil {
			one.light = one.rec.Part()
		}
		list = append(list, one.light)
	}
	return list
}

// metricsOf returns the exact metrics of a profile with calls, but for those of the program's own: that a program has
// not made one means that it has added nothing.
func metricsOf(p *profile.Profile) (list []string) {
	for _, c := range p.Columns {
		if _, varies := c.Varies(); p.Has(profile.Calls) && !c.Sampled && !c.Own() && !varies {
			list = append(list, c.Name)
		}
	}
	return list
}

// markLacking makes the processes of records that are without a metric of others report it. Segments need not have all.
func (s *sum) markLacking(kept []profile.Part) {
	var all []string
	for _, k := range kept {
		all = append(all, s.summands[k.Index].metrics...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for i, k := range kept {
		has := s.summands[k.Index].metrics
		lacks := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(has, name) })
		if has == nil || len(lacks) == 0 {
			continue
		}
		marked := *k.Profile
		marked.Processes = slices.Clone(k.Processes)
		for j := range marked.Processes {
			markWithout(&marked.Processes[j], lacks)
		}
		kept[i].Profile = &marked
	}
}

// markWithout adds the losses of a process that was recorded without some metrics, unless it counts no calls. It may
// have some from a sum before: they are the last ones, in order of their names.
func markWithout(p *profile.Process, metrics []string) {
	if e := engine.Lookup(p.Engine); e == nil || e.Gives&engine.Counts == 0 {
		return
	}
	var other, without []profile.Loss
	for _, loss := range p.Losses {
		if _, ok := loss.Without(); ok {
			without = append(without, loss)
		} else {
			other = append(other, loss)
		}
	}
	segment := p.Segment != nil && p.Segment.Number > 0 && !p.Segment.Ended.IsZero()
	for _, name := range metrics {
		need := !segment || !slices.ContainsFunc(profile.Metrics,
			func(t profile.Metric) bool { return t.Name == name && !t.InSegments() })
		if loss := profile.LossWithout(name); need && !slices.Contains(without, loss) {
			without = append(without, loss)
		}
	}
	slices.SortFunc(without, func(a, b profile.Loss) int { return strings.Compare(a.Kind, b.Kind) })
	p.Losses = append(other, without...)
}

// of returns the sum.
func (s *sum) of() (*record.Record, error) {
	switch {
	case len(s.summands) == 1:
		return s.summands[0].rec, nil
	case s.ids:
		return s.ofIDs()
	}
	kept, err := profile.KeepSnapshots(s.parts()...)
	if err != nil {
		return nil, err
	}
	s.markLacking(kept)
	var done atomic.Int64
	count := func() (int64, int64) { return done.Load(), int64(len(kept)) }
	defer progress.Step("adding up "+strconv.Itoa(len(kept))+" records", "records", count)()
	p, err := profile.MergeParts(func(yield func(*profile.Profile, error) bool) {
		for _, k := range kept {
			rec, err := s.again(k.Index)
			if err != nil {
				yield(nil, err)
				return
			}
			p := *rec.Profile
			p.Processes = k.Processes // with what was left out, and what is lacking
			if done.Add(1); !yield(&p, nil) {
				return
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return &record.Record{Profile: p}, nil
}

// ofIDs is of for records with context IDs: only several records of one run have a sum.
func (s *sum) ofIDs() (*record.Record, error) {
	list := make([]*record.Record, len(s.summands))
	for i := range list {
		var err error
		if list[i], err = s.again(i); err != nil {
			return nil, err
		}
	}
	return record.Merge(list...)
}

// again returns the record that is summand i. One that was not kept is read once more: it must be of the same runs and
// segments.
func (s *sum) again(i int) (*record.Record, error) {
	one := s.summands[i]
	if one.rec != nil {
		return one.rec, nil
	}
	rec, err := readOne(one.place)
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(rec.Processes, one.light.Processes, isSame) {
		path := profile.Printable(one.place.Path)
		return nil, fmt.Errorf("%s: is another record than it was a moment ago; try again", path)
	}
	return rec, nil
}

// isSame reports whether two processes are one run, and what was recorded of it ends at the same segment.
func isSame(a, b profile.Process) bool {
	if (a.Segment == nil) != (b.Segment == nil) || a.Segment != nil &&
		(a.Segment.Number != b.Segment.Number || a.Segment.Closed != b.Segment.Closed) {
		return false
	}
	return a.Run == b.Run && a.Start.Equal(b.Start)
}
