// Package events measures what the context of one event costs, and how fast a log is decoded.
package events

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/encoders"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// How it works.
//
// A program of bench's own, micro/events, times loops of single operations and is
// built plainly and with each engine that has context IDs. The plain build shows what
// the same source costs a user who does not instrument, and what the alternatives of
// the standard library cost. They also appear in the instrumented columns,
// which shows what instrumentation does to them.
//
// Decoding is measured from outside, on stemma's own command, because that is what a
// user runs on a log: reading, finding IDs and writing are part of it.

// Time estimates events.
func Time(s *session.Session) time.Duration {
	if s.Options.Quick {
		return 30 * time.Second
	}
	return 2 * time.Minute
}

// eventEngines are the engines with context IDs.
var eventEngines = []string{"dacce", "lucce"}

// eventRounds is how often each build runs.
const eventRounds = 7

// Run measures what it costs to know the context of an event, and to decode it.
// The builds take turns: what lies between two of them is as good as the machine was
// in both, so each round gives a difference, and the median of these counts.
func Run(s *session.Session) error {
	rounds := eventRounds
	if s.Options.Quick {
		rounds = 3
	}
	var builds []*eventBuild
	for _, v := range append([]measure.Variant{measure.Plain}, engineVariants(eventEngines)...) {
		if m := s.BuildMicro("events", v); m != nil {
			builds = append(builds, &eventBuild{m, make(map[string][]float64)})
		}
	}
	for range rounds {
		for _, b := range builds {
			if r := b.micro.Run(nil, "-budget=10ms"); r != nil {
				for name, ns := range r.Figures {
					b.times[name] = append(b.times[name], ns)
				}
			}
		}
	}
	s.Tables = append(s.Tables, eventTable(s, builds, rounds))
	for _, b := range builds {
		if b.micro.Variant.Name == "dacce" {
			decoding(s, b.micro)
		}
	}
	return nil
}

// engineVariants returns builds with these engines and no flags.
func engineVariants(engines []string) []measure.Variant {
	var list []measure.Variant
	for _, e := range engines {
		list = append(list, session.EngineVariant(e))
	}
	return list
}

// An eventBuild is a build of micro/events and its nanoseconds by event and round.
type eventBuild struct {
	micro *session.Micro
	times map[string][]float64
}

// eventTable makes the table of events. The first build has all of them. A build
// that was not in every round has said why, and has no column.
func eventTable(s *session.Session, builds []*eventBuild, rounds int) *table.Table {
	t := &table.Table{
		Name: "events", Title: "Cost of the context of an event", Left: 1, Head: []string{"event"},
	}
	var names, ratios []string
	if len(builds) > 0 {
		names = slices.SortedFunc(maps.Keys(builds[0].times), byNumber)
	}
	rows := make(map[string][]string)
	for _, b := range builds {
		if slices.ContainsFunc(names, func(name string) bool { return len(b.times[name]) < rounds }) {
			continue
		}
		t.Head = append(t.Head, b.micro.Variant.Name+" ns")
		if b != builds[0] {
			t.Head = append(t.Head, "net", "interval")
			with := stats.MedianInterval(stats.Ratios(b.times["slog/context"], b.times["slog/plain"]))
			ratios = append(ratios, fmt.Sprintf("%s %s (%s)", b.micro.Variant.Name,
				session.Number(with.Median, 3), session.Span(with)))
			s.Metric("Event/slog/build="+b.micro.Variant.FileName(), with.Median, "ratio")
		}
		for _, name := range names {
			ns := stats.Median(b.times[name])
			rows[name] = append(rows[name], session.Number(ns, 2))
			s.Metric("Event/"+name+"/build="+b.micro.Variant.FileName(), ns, "ns/op")
			if b != builds[0] {
				net := stats.MedianInterval(stats.Differences(b.times[name], builds[0].times[name]))
				rows[name] = append(rows[name], session.Number(net.Median, 2), session.Span(net))
			}
		}
	}
	t.Notes = []string{
		fmt.Sprintf("Nanoseconds of CPU time, loop included, median of %d rounds in turns. In a plain build "+
			"stemma.Here returns the zero ID. net: what is more than in the plain build of the same round, median "+
			"with its interval.", rounds),
		"callers: runtime.Callers with room for all frames; callers-64: for 64, where CPU profiles stop. Both give " +
			"return addresses; names cost more.",
		"slog: a JSON line to nowhere at depth 10, without a context, with stemma.SlogHandler, and with the names of " +
			"the functions on the stack. The ratio of a line with the context to one without, of the same round: " +
			strings.Join(ratios, ", ") + ".",
		"The papers report no cost of a single event; Lucce (section 7) notes that DACCE copies its ccStack for " +
			"each, which stemma's IDs do not.",
	}
	for _, name := range names {
		t.Add(append([]string{name}, rows[name]...)...)
	}
	return t
}

// byNumber orders names that end in numbers by these.
func byNumber(a, b string) int {
	pa, na, _ := strings.Cut(a, "=")
	pb, nb, _ := strings.Cut(b, "=")
	if pa != pb {
		return strings.Compare(pa, pb)
	}
	if len(na) != len(nb) {
		return len(na) - len(nb)
	}
	return strings.Compare(na, nb)
}

// decoding measures stemma decode on logs of m with several lengths.
func decoding(s *session.Session, m *session.Micro) {
	t := &table.Table{
		Name: "decode", Title: "Decoding a log", Left: 0,
		Head: []string{"lines", "log MB", "seconds", "lines/s", "user s", "peak MB"},
		Notes: []string{"stemma decode reads the log from a file and writes it to nowhere, with each ID replaced by " +
			"the stack. " +
			"The lines come from 1024 contexts in turn, 11 calls deep."},
	}
	sizes := []int{1, 10_000, 100_000, 1_000_000}
	if s.Options.Quick {
		sizes = sizes[:3]
	}
	var x, y []float64
	for _, n := range sizes {
		session.Tell(fmt.Sprintf("decode %d lines", n))
		size, u, err := decodeLog(s, m, n)
		if err != nil {
			s.Problem("decode, %d lines: %v", n, err)
			continue
		}
		rate := float64(n) / u.Wall.Seconds()
		t.Add(fmt.Sprint(n), session.Number(float64(size)/1e6, 1), session.Number(u.Wall.Seconds(), 3),
			session.Number(rate, 0),
			session.Number(u.User.Seconds(), 3), session.Number(float64(u.Peak)/1e6, 1))
		s.Metric(fmt.Sprint("Decode/lines=", n), rate, "lines/s")
		s.Metric(fmt.Sprint("Decode/lines=", n), float64(u.Peak), "peak-bytes")
		x, y = append(x, float64(n)), append(y, float64(u.Peak))
	}
	t.Notes = append(t.Notes, "Growth of the peak memory with the lines: bytes = "+encoders.Law(x, y)+".")
	s.Tables = append(s.Tables, t)
}

// decodeLog writes a log of n lines and decodes it. A line that keeps its ID is an
// error.
func decodeLog(s *session.Session, m *session.Micro, n int) (size int64, u session.Usage, err error) {
	name := filepath.Join(s.Bench.Work, "log")
	defer os.Remove(name)
	f, err := os.Create(name)
	if err != nil {
		return 0, u, err
	}
	defer f.Close()
	r, err := m.Try(f, nil, []string{fmt.Sprint("-log=", n)})
	if err != nil {
		return 0, u, err
	}
	if size, err = f.Seek(0, io.SeekCurrent); err != nil {
		return 0, u, err
	}
	dirs, err := filepath.Glob(filepath.Join(r.Out, "*"))
	if err != nil || len(dirs) != 1 {
		return 0, u, fmt.Errorf("%d live directories, want 1 (%w)", len(dirs), err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, u, err
	}
	// A line whose ID could not be decoded would go through unchanged, and fast.
	var found counter
	u, err = s.Command(&found, f, nil, s.Bench.Stemma, "decode", dirs[0])
	if err == nil && found.stacks < n {
		err = fmt.Errorf("%d lines have a stack, want %d", found.stacks, n)
	}
	return size, u, err
}

// counter counts lines in which the outermost function was written.
type counter struct {
	stacks int
	rest   string
}

func (c *counter) Write(b []byte) (int, error) {
	text := c.rest + string(b)
	c.stacks += strings.Count(text, "main.writeLog")
	// The name may be cut in two.
	c.rest = text[max(0, len(text)-len("main.writeLog")+1):]
	return len(b), nil
}
