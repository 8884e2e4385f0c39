// Package trees describes the calling context trees of programs, and measures how long they take to start.
package trees

import (
	"fmt"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/overhead"
	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/record"
)

// How it works.
//
// The exact tree of one run is expanded as stemma report does it, and its nodes are
// added up by how they were entered and by who called whom. These are counts, so one
// run is enough.
//
// CCCP's tables 3 to 6 split its cost into that of the framework, which rewrites code
// so that it could be profiled, and that of profiling. stemma's framework is the
// extended runtime: a build with engine none has it and nothing else. The split is made
// of the rows of overhead, so that both halves come from the same rounds. Start-up
// is measured with a program that does nothing else.

// Time estimates trees: a run of each program, and many short ones.
func Time(s *session.Session) time.Duration {
	one := s.BuildsTime(session.EngineVariant("cct")) + 2*session.RunTime
	return time.Duration(len(s.Programs))*one + 5*s.BuildTime() + 5*time.Second
}

// Run makes CCCP's tables 1 and 2, and that of start-up.
func Run(s *session.Session) error {
	std, err := records.NewStandard(s.Tree.GOROOT)
	if err != nil {
		return err
	}
	sizes, origins := treeTables()
	for _, p := range s.Programs {
		s.Once(p, session.EngineVariant("cct"), func(r *measure.Recorded, _ float64, live *record.Record) error {
			t := records.TreeOf(live.Profile, std)
			sizes.Add(append([]string{p.Name}, sizeCells(t, r.Bytes)...)...)
			origins.Add(append([]string{p.Name}, originCells(t)...)...)
			if t.Truncated > 0 {
				return fmt.Errorf("the context of %d calls had no room", t.Truncated)
			}
			return nil
		})
	}
	s.Tables = append(s.Tables, sizes)
	if err := s.AddPaper("cccp1"); err != nil {
		return err
	}
	s.Tables = append(s.Tables, origins)
	if err := s.AddPaper("cccp2"); err != nil {
		return err
	}
	startUp(s)
	return s.AddPaper("cccp5", "cccp6")
}

// treeTables returns the empty tables.
func treeTables() (sizes, origins *table.Table) {
	sizes = &table.Table{
		Name: "trees", Title: "Calling context trees (CCCP, table 1)", Left: 1,
		Head: []string{"program", "contexts", "functions", "nodes", "by adapters", "max depth", "mean depth",
			"calls M", "indirect %", "native nodes", "%", "native calls M", "%", "overlap %", "inlined %", "record KB",
			"bytes/context"},
		Notes: []string{strings.Join([]string{
			"contexts: with inlined calls and natives; nodes: those of compiled functions; by adapters: nodes to " +
				"those there would be if adapters had no places of their own. Depth: frames, through go statements, " +
				"recursion folded; mean over calls.",
			"indirect: share of the calls of compiled functions that go through function values and interfaces.",
			"native: assembly, C, and functions of the runtime. overlap: with the tree of the paper's former " +
				"rules, by which natives have no nodes and what they call back hangs below the root.",
			"inlined: calls that the compiler has inlined, which a tool that stops inlining would slow down and one " +
				"that does not count them would lose.",
		}, "\n")},
	}
	origins = &table.Table{
		Name: "origins", Title: "Calls within and between program and standard library (CCCP, table 2)", Left: 1,
		Head: []string{"program", "app to app %", "std to app %", "app to std %", "std to std %"},
		Notes: []string{"app: the program with its modules; of gofmt and compile, cmd/…. Calls that no function " +
			"makes, of main and init say, are left out. The paper's programs are in Java."},
	}
	return sizes, origins
}

// share returns part of whole in per cent.
func share(part, whole uint64) string { return session.Number(100*float64(part)/float64(whole), 2) }

// sizeCells is a row of table 1: how large a tree is. bytes are those on disk.
func sizeCells(t *records.Tree, bytes int64) []string {
	return []string{
		fmt.Sprint(t.Contexts), fmt.Sprint(t.Functions), fmt.Sprint(t.Nodes),
		session.Number(float64(t.Nodes)/float64(t.NoAdapters), 3), fmt.Sprint(t.MaxDepth),
		session.Number(t.MeanDepth, 1),
		session.Number(float64(t.Calls)/1e6, 1),
		share(t.IndirectCalls, t.FunctionCalls),
		fmt.Sprint(t.NativeNodes), share(t.NativeNodes, t.Contexts),
		session.Number(float64(t.NativeCalls)/1e6, 1), share(t.NativeCalls, t.Calls),
		share(t.Calls-t.NativeCalls-t.CallbackCalls, t.Calls), share(t.InlinedCalls, t.Calls),
		fmt.Sprint(bytes >> 10), session.Number(float64(bytes)/float64(t.Contexts), 0),
	}
}

// originCells is a row of table 2. The shares add up to 100 %.
func originCells(t *records.Tree) []string {
	sum := uint64(0)
	for _, n := range t.StandardCalls {
		sum += n
	}
	var cells []string
	for _, n := range t.StandardCalls {
		cells = append(cells, share(n, sum))
	}
	return cells
}

// startUpRuns is how often the program that does nothing is run.
const startUpRuns = 40

// startUp runs the builds in turn, as overhead does, but far more often, since the
// scheduler's noise is as large as what is measured. It makes the table of start-up, which CCCP's
// tables 5 and 6 have together with the cost of instrumenting at load time.
func startUp(s *session.Session) {
	t := &table.Table{
		Name: "startup", Title: "Start-up (CCCP, tables 5 and 6)", Left: 1,
		Head: []string{"build", "runs", "wall ms", "interval", "user+sys ms", "added ms", "record KB"},
		Notes: []string{"A program that prints a line and ends: medians of runs in turn. The paper instruments when " +
			"classes are loaded, which costs seconds; " +
			"stemma instruments when the program is built, so that only making the files is left. See the table of " +
			"builds (-builds) for the rest."},
	}
	variants := []measure.Variant{measure.Plain}
	for _, e := range []string{overhead.FrameworkVariant, "cct", "dacce", "sample"} {
		variants = append(variants, session.EngineVariant(e))
	}
	var builds []*session.Micro
	for _, v := range variants {
		if m := s.BuildMicro("hello", v); m != nil {
			builds = append(builds, m)
		}
	}
	session.Tell(fmt.Sprintf("start-up: %d runs of %s", startUpRuns, "micro/hello"))
	walls, cpus := make([][]float64, len(builds)), make([][]float64, len(builds))
	last := make([]*session.MicroRun, len(builds))
	for range startUpRuns {
		for i, m := range builds {
			r, err := m.Try(nil, nil, nil)
			if err != nil {
				s.Problem("start-up, %s: %v", m.Variant.Name, err)
				continue
			}
			walls[i], cpus[i], last[i] = append(walls[i], r.Wall.Seconds()*1e3), append(cpus[i], r.Cpu.Seconds()*1e3), r
		}
	}
	for i, m := range builds {
		if last[i] == nil {
			continue
		}
		w := stats.MedianInterval(walls[i])
		t.Add(m.Variant.Name, fmt.Sprint(len(walls[i])), session.Number(w.Median, 2),
			session.Number(w.Low, 2)+".."+session.Number(w.High, 2), session.Number(stats.Median(cpus[i]), 2),
			session.Number(w.Median-stats.Median(walls[0]), 2), fmt.Sprint(last[i].Record>>10))
	}
	s.Tables = append(s.Tables, t)
}
