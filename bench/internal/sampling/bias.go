package sampling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/papers"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/similarity"
	"github.com/stemma-go/stemma/profile"
)

// How it works.
//
// Runs repeat beside the exact tree (STEMMA_DETERMINISTIC=1; alone that does nothing), so the tree of one run is the
// truth for the samples of another one, as far as the program makes the same calls. For each trigger a program runs
// twice: with the accumulator beside the exact tree, and alone, as it is used. The samples of both are compared with
// that exact tree. Recursion is folded in all of them, as in what ships: the full tree of some programs fills the
// machine's memory. What no sampler could better is computed from the tree as well: each call is drawn with the same
// chance, several times.

// biasTriggers are those of the table. That of time is there for its bias, which is in its nature.
var biasTriggers = []string{"calls:31", "calls:1559", "func:307", "time:100us"}

// biasDraws is how many unbiased samples are drawn.
const biasDraws = 5

// repeats is what makes runs of one program the same beside the exact tree. There it means one P as well. With one P
// some programs have other contexts, so runs alone have one as well.
var repeats = []string{"STEMMA_DETERMINISTIC=1", "GOMAXPROCS=1"}

// BiasTime estimates Bias.
func BiasTime(s *session.Session) time.Duration {
	return time.Duration(len(s.Programs)*len(biasTriggers)*2) * (s.BuildTime() + 2*session.RunTime)
}

// Bias makes the table of how far samples of calls are from unbiased ones.
func Bias(s *session.Session) error {
	t := &table.Table{
		Name: "acct-bias", Title: "Samples of calls beside unbiased ones of the same size (ACCT)", Left: 3,
		Head: []string{"program", "engine", "trigger", "calls M", "samples", "overlap %", "unbiased %", "hot edges %",
			"unbiased %", "functions", "mean z²", "worst z²", "worst function"},
		Notes: []string{"unbiased: what a sample has that draws each call with the same chance, the mean of " +
			fmt.Sprint(biasDraws) + ". z²: of functions where 5 samples or more are to be expected; 1 where " +
			"samples are unbiased.\n" + papers.ACCTAccuracy},
	}
	for _, p := range s.Programs {
		for _, trigger := range biasTriggers {
			exact := biasRow(s, t, p, "cct+acct", trigger, nil)
			if exact != nil {
				biasRow(s, t, p, "acct", trigger, exact)
			}
		}
	}
	s.Tables = append(s.Tables, t)
	return nil
}

// A truth is an exact tree: its calls, and which functions are natives in it.
type truth struct {
	calls   similarity.Weights
	natives map[string]bool
}

// biasRow runs p with an engine and adds a row. It returns the exact tree, which is exact unless that is nil, and nil
// if something went wrong.
func biasRow(s *session.Session, t *table.Table, p *program.Program, engine, trigger string, exact *truth) *truth {
	v := session.EngineVariant(engine, "-trigger="+trigger)
	v.Env = repeats
	if !s.Available(v) {
		return nil
	}
	err := s.Built(p, v, func(bin *measure.Binary, dir string) error {
		session.Tell(fmt.Sprintf("run %s: %s", p.Name, v.Name))
		out := filepath.Join(dir, "out")
		defer os.RemoveAll(out)
		_, live, err := s.Recorded(bin, out)
		if err != nil {
			return err
		}
		samples, err := cct.Of(live.Profile, profile.Samples.Name)
		if err != nil {
			return err
		}
		if exact == nil {
			tree := cct.New(live.Profile)
			exact = &truth{similarity.Entries(tree, nil), similarity.Natives(tree)}
		}
		addBias(t, []string{p.Name, engine, trigger}, exact.calls, similarity.Entries(samples, exact.natives))
		return nil
	})
	if err != nil {
		s.Failed(p.Name, v, err)
		return nil
	}
	return exact
}

// addBias adds a row.
func addBias(t *table.Table, row []string, exact, samples similarity.Weights) {
	b := similarity.BiasOf(exact.ByCallee(), samples.ByCallee())
	overlap, hot := 0.0, 0.0
	r := rand.New(rand.NewPCG(1, 2))
	for range biasDraws {
		drawn := draw(r, exact, samples.Total()/exact.Total())
		overlap += similarity.Overlap(exact, drawn) / biasDraws
		hot += similarity.HotEdgeCoverage(exact, drawn, hotThreshold) / biasDraws
	}
	percent := func(f float64) string { return session.Number(100*f, 1) }
	t.Add(append(row, session.Number(exact.Total()/1e6, 1), session.Number(samples.Total(), 0),
		percent(similarity.Overlap(exact, samples)), percent(overlap),
		percent(similarity.HotEdgeCoverage(exact, samples, hotThreshold)), percent(hot),
		fmt.Sprint(b.Functions), session.Number(b.Mean, 2), session.Number(b.Worst, 1), b.Function)...)
}

// draw samples each call with the same chance: from one that is drawn to the next there is a length with the
// distribution that follows from it.
func draw(r *rand.Rand, exact similarity.Weights, chance float64) similarity.Weights {
	drawn := make(similarity.Weights)
	if chance >= 1 {
		chance = 1 - 1e-9
	}
	var keys []string
	for k := range exact {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	none := math.Log1p(-chance)
	left := math.Floor(math.Log(1-r.Float64()) / none)
	for _, k := range keys {
		calls := exact[k]
		for ; left < calls; left += 1 + math.Floor(math.Log(1-r.Float64())/none) {
			drawn[k]++
		}
		left -= calls
	}
	return drawn
}
