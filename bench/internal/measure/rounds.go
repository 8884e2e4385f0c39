package measure

import (
	"fmt"
	"os"
	"path/filepath"
)

// Series is the runs of one binary.
type Series struct {
	Binary *Binary
	WarmUp Run
	Record Record // of the warm-up, if the binary records
	Runs   []Run  // one for each round that counts
	Err    error  // why there are no more runs
}

// Values returns one figure of each run.
func (s *Series) Values(of func(Run) float64) []float64 {
	values := make([]float64, len(s.Runs))
	for i, r := range s.Runs {
		values[i] = of(r)
	}
	return values
}

// The figures of a run that are compared.
func User(r Run) float64 { return r.User.Seconds() }
func CPU(r Run) float64  { return (r.User + r.System).Seconds() }
func Wall(r Run) float64 { return r.Wall.Seconds() }

// Rounds runs each binary once per round, in turn, so that whatever changes on
// the machine meets all of them. The order rotates from round to round, so
// that none always runs first or behind the same other one. Before the n
// rounds that count there is a warm-up, from which the records are read.
//
// A binary that fails takes no part in the rounds that follow; if it is the
// first one, with which the others are compared, there are no more rounds.
// Tell is called before each run.
func (b *Bench) Rounds(bins []*Binary, n int, tell func(string)) []*Series {
	series := make([]*Series, len(bins))
	for i, bin := range bins {
		series[i] = &Series{Binary: bin}
	}
	for round := range n + 1 {
		for k := range series {
			s := series[(k+round)%len(series)]
			if s.Err != nil || series[0].Err != nil || s.done(round) {
				continue
			}
			tell(fmt.Sprintf("%s, round %d of %d: %s", s.Binary.Program.Name, round, n, s.Binary.Variant.Name))
			s.Err = b.step(s, round == 0)
		}
	}
	return series
}

// done tells that the variant takes no part in the round any more.
func (s *Series) done(round int) bool {
	limit := s.Binary.Variant.Rounds
	return limit == WarmUpOnly && round > 0 || limit > 0 && round > limit
}

// step adds one run to s, or the record of the warm-up.
func (b *Bench) step(s *Series, warmUp bool) error {
	out := filepath.Join(b.Work, "out")
	defer os.RemoveAll(out)
	r, err := b.Run(s.Binary, out)
	if err != nil {
		return err
	}
	if !warmUp {
		s.Runs = append(s.Runs, r)
		return nil
	}
	s.WarmUp = r
	if s.Binary.Variant.Records() {
		s.Record, err = b.Record(out)
	}
	return err
}

// Problems tells what must be known before the figures of series are read:
// failures, losses, and checksums other than that of the first binary's
// warm-up.
func Problems(series []*Series) []string {
	var problems []string
	report := func(s *Series, format string, args ...any) {
		problems = append(problems, fmt.Sprintf("%s, %s: ", s.Binary.Program.Name, s.Binary.Variant.Name)+fmt.Sprintf(format, args...))
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
