// Package verify compares contexts with stack walks, in programs.
package verify

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/profile"
)

// How it works.
//
// A build with the checker in it takes, at regular distances, what its engine says is
// the context, and beside it what the runtime's own stack walk finds. stemma verify decodes the
// one and compares it with the other. Samples are compared where they are taken, each
// of them, by the sampler itself. These are counts of moments, so one run is enough, and
// how busy the machine is only changes how many there are.

// A proof is a way to build and run programs in which contexts are compared with stack
// walks. It is a column of the table.
type proof struct {
	name    string
	variant measure.Variant
}

// proofs are all engines that know contexts. Re-encoding every millisecond meets far more
// of what a program may be doing just then than re-encoding at its own pace.
func proofs() []proof {
	checked := func(engine string, env ...string) measure.Variant {
		v := session.EngineVariant(engine, "-verify")
		v.Env = append(env, every)
		return v
	}
	forced := checked("dacce", "STEMMA_REENCODE_US=1000")
	forced.Name += " forced"
	return []proof{
		{"cct", checked("cct")},
		{"dacce", checked("dacce")},
		{"dacce, forced", forced},
		{"pcce", checked("pcce")},
		{"lucce", checked("lucce")},
		{"sample", session.EngineVariant("sample", "-every=100us", "-verify")},
	}
}

// chosen returns the proofs of the engines of -variant; all if that is not given.
func chosen(o *session.Options) ([]proof, error) {
	if !o.Chosen {
		return proofs(), nil
	}
	var engines []string
	for _, v := range o.Variants {
		engines = append(engines, v.Engine())
	}
	list := slices.DeleteFunc(proofs(), func(p proof) bool { return !slices.Contains(engines, p.variant.Engine()) })
	if len(list) == 0 {
		return nil, fmt.Errorf("-variant: engines %s have no contexts to compare; "+
			"want cct, dacce, pcce, lucce or sample", strings.Join(engines, ", "))
	}
	return list, nil
}

// every has ten times as many function entries checked as stemma verify does on its own.
const every = "STEMMA_CHECK_EVERY=101"

// Time estimates verify. Walking stacks takes a program twice as long.
func Time(s *session.Session) time.Duration {
	list, _ := chosen(s.Options) // Run says what is wrong
	return time.Duration(len(s.Fewer())*len(list)) * (s.BuildTime() + 2*session.RunTime)
}

// Run compares contexts with stack walks, with each engine or those of -variant. A difference is a problem.
func Run(s *session.Session) error {
	list, err := chosen(s.Options)
	if err != nil {
		return err
	}
	t := &table.Table{
		Name: "verify", Title: "Contexts compared with stack walks", Left: 1, Head: []string{"program"},
		Notes: []string{
			"How many contexts of each engine were compared, frame by frame, with what the runtime's stack walk " +
				"found at the same moment, goroutine ancestry included; and how many of all differ. " +
				"At every 101st function entry; equal ones at one place count once. forced: with a re-encoding " +
				"every millisecond (STEMMA_REENCODE_US=1000). " +
				"sample: isps every 100 µs, incremental traces, all of them.",
			"A program whose contexts differ, whose checksum differs, or that could not be run, is said above " +
				"all tables.",
		},
	}
	for _, p := range list {
		t.Head = append(t.Head, p.name)
	}
	t.Head = append(t.Head, "mismatches")
	total := make([]compared, len(list))
	for _, p := range s.Fewer() {
		row := make([]compared, len(list))
		for i, proof := range list {
			row[i] = prove(s, p, proof.variant)
			total[i] = total[i].plus(row[i])
		}
		t.Add(comparedCells(p.Name, row)...)
		s.Save(t)
	}
	t.Add(comparedCells("all", total)...)
	s.Tables = append(s.Tables, t)
	return nil
}

// compared is how many contexts were compared, and how many of them differ.
type compared struct{ contexts, mismatches uint64 }

func (c compared) plus(d compared) compared {
	return compared{c.contexts + d.contexts, c.mismatches + d.mismatches}
}

// comparedCells returns a row: a count for each engine, empty where nothing was
// compared, and the mismatches of all.
func comparedCells(name string, row []compared) []string {
	cells := []string{name}
	var sum compared
	for _, c := range row {
		sum = sum.plus(c)
		if c.contexts == 0 {
			cells = append(cells, "")
		} else {
			cells = append(cells, fmt.Sprint(c.contexts))
		}
	}
	return append(cells, fmt.Sprint(sum.mismatches))
}

// prove builds and runs p as v says and returns what was compared.
func prove(s *session.Session, p *program.Program, v measure.Variant) (c compared) {
	if !s.Available(v) {
		return c
	}
	err := s.Built(p, v, func(bin *measure.Binary, dir string) error {
		session.Tell(fmt.Sprintf("run %s: %s", p.Name, v.Name))
		out := filepath.Join(dir, "out")
		run, err := s.Bench.Run(bin, out)
		if err != nil {
			return err
		}
		s.CheckSum(p, v, run.Checksum)
		if e := engine.Lookup(v.Engine()); e != nil && e.Gives == engine.Samples {
			c, err = comparedSamples(out)
		} else {
			c, err = comparedContexts(s, out)
		}
		return err
	})
	switch {
	case err != nil:
		s.Failed(p.Name, v, err)
	case c.mismatches > 0:
		s.Problem("%s, %s: of %d contexts %d differ from a stack walk", p.Name, v.Name, c.contexts, c.mismatches)
	case c.contexts == 0:
		s.Problem("%s, %s: no context was compared", p.Name, v.Name)
	}
	return c
}

// comparedSamples reads from the record of a program that checks its own samples.
func comparedSamples(out string) (compared, error) {
	live, err := records.Open(out)
	if err != nil {
		return compared{}, err
	}
	if live.Profile.Processes[0].Sampling == nil {
		return compared{}, fmt.Errorf("%s: no samples", out)
	}
	return samplesOf(live.Profile.Processes[0].Sampling), nil
}

// samplesOf counts an entry whose frame had gone unnoticed as a trace that differs as well.
func samplesOf(s *profile.Sampling) compared {
	return compared{s.Stat("checked"), s.Stat("mismatches") + s.Stat("dead")}
}

// verifyResult is the first line that stemma verify prints.
var verifyResult = regexp.MustCompile(`(?m)^checked (\d+) contexts?, (\d+) mismatch(?:es)?$`)

// comparedContexts lets stemma verify compare what the checker has left in out. That it
// exits 1 where contexts differ is a result; the first of them are a problem each time, since the record is not kept.
func comparedContexts(s *session.Session, out string) (compared, error) {
	var stdout bytes.Buffer
	_, err := s.Command(&stdout, nil, nil, s.Bench.Stemma, "verify", "-live", "-v", out)
	m := verifyResult.FindSubmatch(stdout.Bytes())
	if m == nil {
		return compared{}, fmt.Errorf("stemma verify: no result (%w)", err)
	}
	var c compared
	for i, n := range []*uint64{&c.contexts, &c.mismatches} {
		if *n, err = strconv.ParseUint(string(m[i+1]), 10, 64); err != nil {
			return compared{}, err
		}
	}
	if c.mismatches > 0 {
		s.Problem("%s: %s", filepath.Base(s.Bench.Stemma), strings.TrimSpace(stdout.String()))
	}
	return c, nil
}
