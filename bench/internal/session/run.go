package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/internal/record"
)

// EngineVariant is an engine without flags.
func EngineVariant(engine string, flags ...string) measure.Variant {
	return measure.Variant{Name: strings.Join(append([]string{engine}, flags...), " "),
		Flags: append([]string{"-engine=" + engine}, flags...)}
}

// Once builds and runs a variant of p once and gives visit what it recorded.
// What goes wrong is a problem, and so is another checksum than earlier runs had.
func (s *Session) Once(p *program.Program, v measure.Variant,
	visit func(r *measure.Recorded, user float64, live *record.Record) error) {
	if !s.Available(v) {
		return
	}
	if err := s.runOnce(p, v, visit); err != nil {
		s.Failed(p.Name, v, err)
	}
}

// runOnce is once without the handling of errors. The live directory is there
// while visit runs.
func (s *Session) runOnce(p *program.Program, v measure.Variant,
	visit func(*measure.Recorded, float64, *record.Record) error) error {
	return s.Built(p, v, func(bin *measure.Binary, dir string) error {
		Tell(fmt.Sprintf("run %s: %s", p.Name, v.Name))
		out := filepath.Join(dir, "out")
		run, live, err := s.Recorded(bin, out)
		if err != nil {
			return err
		}
		if live == nil {
			return visit(nil, run.User.Seconds(), nil)
		}
		r, err := s.Bench.Record(out)
		if err != nil {
			return err
		}
		return visit(&r, run.User.Seconds(), live)
	})
}

// Built builds a variant of p and hands it to use with a directory for its runs,
// which is gone afterwards: the records of ten programs would fill a disk.
func (s *Session) Built(p *program.Program, v measure.Variant, use func(bin *measure.Binary, dir string) error) error {
	dir := filepath.Join(s.Bench.Work, p.Name)
	defer os.RemoveAll(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := p.SetUp(dir); err != nil {
		return err
	}
	Tell(fmt.Sprintf("build %s: %s", p.Name, v.Name))
	bin, err := s.Bench.Build(p, v)
	if err != nil {
		return err
	}
	return use(bin, dir)
}

// Recorded runs bin, checks what it has computed and opens what it has recorded in
// out: nil if it records nothing.
func (s *Session) Recorded(bin *measure.Binary, out string) (measure.Run, *record.Record, error) {
	run, err := s.Bench.Run(bin, out)
	if err != nil {
		return run, nil, err
	}
	s.CheckSum(bin.Program, bin.Variant, run.Checksum)
	if !bin.Variant.Records() {
		return run, nil, nil
	}
	live, err := records.Open(out)
	return run, live, err
}

// CheckSum compares the checksum of a run with that of the first run of p.
func (s *Session) CheckSum(p *program.Program, v measure.Variant, sum string) {
	want, ok := s.Checksums[p.Name]
	if !ok {
		s.Checksums[p.Name] = sum
	} else if sum != want {
		s.Problem("%s, %s: checksum %q, want %q", p.Name, v.Name, sum, want)
	}
}

// Count counts the calls of p, unless overhead has.
func (s *Session) Count(p *program.Program) {
	if c := s.Counts[p.Name]; c.Calls > 0 {
		return
	}
	var c Count
	s.Once(p, measure.Plain, func(_ *measure.Recorded, user float64, _ *record.Record) error {
		c.User = user
		return nil
	})
	s.Once(p, CountOnly, func(r *measure.Recorded, _ float64, _ *record.Record) error {
		c.Calls = r.Calls
		return nil
	})
	s.Counts[p.Name] = c
}

// CountOnly is the variant that counts the calls of a program if no other does.
var CountOnly = measure.Variant{Name: "count of calls", Flags: []string{"-engine=cct"}, Rounds: measure.WarmUpOnly}

// CountsCalls reports whether v counts all calls, inlined ones as well.
func CountsCalls(v measure.Variant) bool {
	return v.Engine() == "cct" && !slices.Contains(v.Flags, "-inlined=off")
}
