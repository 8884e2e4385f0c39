package measure

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Series is the runs of one binary.
type Series struct {
	Binary *Binary
	WarmUp Run      // a run before those that count, if it needs one, see warmsUp
	Record Recorded // of the first run, if the binary records
	Runs   []Run    // one for each round that counts; of the first binary one for each group
	Plain  []Run    // for each of Runs that of the first binary that it is compared with
	Apart  bool     // of the first series: builds did not take turns
	Err    error    // why there are no more runs
}

// Values returns one figure of each run.
func (s *Series) Values(of func(Run) float64) []float64 { return values(s.Runs, of) }

// PlainValues returns the same figure of the runs that they are compared with.
func (s *Series) PlainValues(of func(Run) float64) []float64 { return values(s.Plain, of) }

func values(runs []Run, of func(Run) float64) []float64 {
	list := make([]float64, len(runs))
	for i, r := range runs {
		list[i] = of(r)
	}
	return list
}

// The figures of a run that are compared.
func User(r Run) float64 { return r.User.Seconds() }
func CPU(r Run) float64  { return (r.User + r.System).Seconds() }
func Wall(r Run) float64 { return r.Wall.Seconds() }

// together is how many builds take turns with each other. With more of them each would
// be stopped for longer between its turns, and what a program does by the clock would
// fall into its turns more often.
const together = 8

// Rounds runs each binary once per round. Before the n rounds that count the first one
// runs on its own, and what has no rounds. In the rounds up to
// eight binaries run at once, in short turns, so that whatever changes on the machine meets
// all of them; or one after another, if there is not the memory for that. The first binary
// is among the eight each time, and runs once more for each further eight. The order rotates
// from round to round, so that none always comes first or behind the same other one.
//
// A binary that fails takes no part in the rounds that follow; if it is the
// first one, with which the others are compared, there are no more rounds.
// Tell is called before each run of the warm-up and before each round, and with what
// fails.
func (b *Bench) Rounds(bins []*Binary, n int, tell func(string)) []*Series {
	series := make([]*Series, len(bins))
	for i, bin := range bins {
		series[i] = &Series{Binary: bin}
	}
	first := series[0]
	for _, s := range series {
		if first.Err == nil && s.warmsUp() {
			tell(fmt.Sprintf("%s, warm-up: %s", s.Binary.Program.Name, s.Binary.Variant.Name))
			s.Err = b.warmUp(s)
		}
	}
	turn := turnTime
	if !fits(series) {
		turn = b.Timeout
		first.Apart = true
	}
	for round := 1; round <= n && first.Err == nil; round++ {
		groups := groupsOf(series, round)
		tell(fmt.Sprintf("%s, round %d of %d: %s", first.Binary.Program.Name, round, n, sizes(groups)))
		for _, g := range groups {
			if first.Err != nil {
				break
			}
			b.round(g, first, turn)
			for _, s := range g {
				if s.Err != nil {
					tell(fmt.Sprintf("%s, %s: %v", s.Binary.Program.Name, s.Binary.Variant.Name, s.Err))
				}
			}
		}
	}
	return series
}

// groupsOf returns what runs at once in a round: the first of series with those that
// have all rounds, with those that have fewer, and, on their own, those that have one:
// they are there for the order of magnitude, and take many times the time and the memory
// of the others, as the race detector does.
func groupsOf(series []*Series, round int) [][]*Series {
	var all, fewer []*Series
	var alone [][]*Series
	for _, s := range series[1:] {
		switch limit := s.Binary.Variant.Rounds; {
		case s.Err != nil || s.done(round):
		case limit == 0:
			all = append(all, s)
		case limit == 1:
			alone = append(alone, []*Series{s})
		default:
			fewer = append(fewer, s)
		}
	}
	groups := [][]*Series{}
	if len(all) == 0 {
		groups = append(groups, series[:1])
	}
	for _, list := range [][]*Series{all, fewer} {
		for chunk := range slices.Chunk(list, together-1) {
			g := append([]*Series{series[0]}, chunk...)
			k := round % len(g)
			groups = append(groups, append(slices.Clone(g[k:]), g[:k]...))
		}
	}
	return append(groups, alone...)
}

// sizes returns how many builds run at once.
func sizes(groups [][]*Series) string {
	var list []string
	for _, g := range groups {
		list = append(list, fmt.Sprint(len(g)))
	}
	return strings.Join(list, " + ") + " builds"
}

// done tells that the variant takes no part in the round any more.
func (s *Series) done(round int) bool {
	limit := s.Binary.Variant.Rounds
	return limit == WarmUpOnly || limit > 0 && round > limit
}

// warmsUp reports whether s runs before the rounds: the first run of the plain program
// has the checksum that others are compared with and reads the files into memory.
func (s *Series) warmsUp() bool {
	v := s.Binary.Variant
	return v.Name == Plain.Name || v.Rounds == WarmUpOnly
}

// fits reports whether there is memory for one process of each at once, and as much again
// for what the machine has in its caches. One without a warm-up is taken to need as
// much as the first.
func fits(series []*Series) bool {
	sum := int64(0)
	for _, s := range series {
		sum += cmp.Or(s.WarmUp.Peak, series[0].WarmUp.Peak)
	}
	free := availableMemory()
	return free == 0 || 2*sum <= free
}

// warmUp is a run of s on its own.
func (b *Bench) warmUp(s *Series) (err error) {
	out := filepath.Join(b.Work, "out")
	defer os.RemoveAll(out)
	if s.WarmUp, err = b.Run(s.Binary, out); err == nil {
		err = b.readRecord(s, out)
	}
	return err
}

// readRecord reads what the first run of s has recorded in out.
func (b *Bench) readRecord(s *Series, out string) (err error) {
	if s.Binary.Variant.Records() && len(s.Runs) == 0 {
		s.Record, err = b.Record(out)
	}
	return err
}

// round adds one run to each of series, and to Plain of each the run of the first one
// that it is compared with: in the same group or, for a build on its own, the last one.
func (b *Bench) round(series []*Series, first *Series, turn time.Duration) {
	out := filepath.Join(b.Work, "out")
	defer os.RemoveAll(out)
	outOf := func(s *Series) string { return filepath.Join(out, s.Binary.Variant.FileName()) }
	ps := make([]*process, len(series))
	for i, s := range series {
		ps[i] = newProcess(s.Binary, outOf(s))
	}
	takeTurns(ps, turn, b.Timeout)
	runs := make([]Run, len(series))
	for i, s := range series {
		if runs[i], s.Err = ps[i].result(); s.Err == nil {
			s.Err = b.readRecord(s, outOf(s))
		}
		if s == first && s.Err == nil {
			first.Runs = append(first.Runs, runs[i])
		}
	}
	for i, s := range series {
		if first.Err != nil || s.Err != nil {
			continue // without a plain run there is nothing to compare with
		}
		if s != first {
			s.Runs = append(s.Runs, runs[i])
		}
		s.Plain = append(s.Plain, first.Runs[len(first.Runs)-1])
	}
}

// Problems returns what must be known before the figures of series are read:
// failures, losses, and checksums other than that of the first binary's
// warm-up.
func Problems(series []*Series) []string {
	var problems []string
	report := func(s *Series, format string, args ...any) {
		problems = append(problems,
			fmt.Sprintf("%s, %s: ", s.Binary.Program.Name, s.Binary.Variant.Name)+fmt.Sprintf(format, args...))
	}
	for _, s := range series {
		if s.Err != nil {
			report(s, "%v", s.Err)
		}
		if s.Record.Truncated > 0 {
			report(s, "the context of %d calls had no room", s.Record.Truncated)
		}
		want := series[0].WarmUp.Checksum
		for round, r := range append([]Run{s.WarmUp}, s.Runs...) {
			if r.Checksum != want && r.Checksum != "" {
				report(s, "round %d: checksum %q, want %q", round, r.Checksum, want)
			}
		}
	}
	return problems
}
