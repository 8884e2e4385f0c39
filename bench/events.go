package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// How it works.
//
// A program of bench's own, micro/events, times loops of single operations and is
// built plainly and with each engine that has context IDs. The plain build shows what
// the same source costs a user who does not instrument, and what the alternatives of
// the standard library cost. That they appear in the instrumented columns too tells
// what instrumentation does to them.
//
// Decoding is measured from outside, on stemma's own command, because that is what a
// user runs on a log: reading, finding IDs and writing are part of it.

// eventsTime estimates events.
func (s *session) eventsTime() time.Duration {
	if s.options.quick {
		return 30 * time.Second
	}
	return 2 * time.Minute
}

// eventEngines are the engines with context IDs.
var eventEngines = []string{"dacce", "lucce"}

// events measures what it costs to know the context of an event, and to decode it.
func (s *session) events() error {
	t := &table.Table{
		Name: "events", Title: "Cost of the context of an event", Left: 1,
		Notes: []string{strings.Join([]string{
			"Nanoseconds, loop included, median of five. In a plain build stemma.Here returns the zero ID.",
			"callers: runtime.Callers with room for all frames; callers-64: for 64, where CPU profiles stop. Both give return addresses; names cost more.",
			"slog: a JSON line to nowhere at depth 10, without a context, with stemma.SlogHandler, and with the names of the functions on the stack.",
			"The papers report no cost of a single event; Lucce (section 7) notes that DACCE copies its ccStack for each, which stemma's IDs do not.",
		}, "\n")},
	}
	variants := []measure.Variant{measure.Plain}
	for _, e := range eventEngines {
		variants = append(variants, engineVariant(e))
	}
	args := []string{"-budget=40ms"}
	if s.options.quick {
		args = []string{"-budget=10ms"}
	}
	var names []string
	rows := make(map[string][]string)
	t.Head = []string{"event"}
	for _, v := range variants {
		m := s.buildMicro("events", v)
		if m == nil {
			continue
		}
		r := m.run(nil, args...)
		if r == nil {
			continue
		}
		if names == nil {
			names = slices.SortedFunc(maps.Keys(r.figures), byNumber)
		}
		t.Head = append(t.Head, v.Name+" ns")
		for _, name := range names {
			rows[name] = append(rows[name], number(r.figures[name], 2))
			s.metrics = append(s.metrics, metric{"Event/" + name + "/build=" + v.FileName(), r.figures[name], "ns/op"})
		}
		if v.Name == "dacce" {
			// After this table, and while the binary is there.
			defer s.decoding(m)
		}
	}
	for _, name := range names {
		t.Add(append([]string{name}, rows[name]...)...)
	}
	s.tables = append(s.tables, t)
	return nil
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
func (s *session) decoding(m *micro) {
	t := &table.Table{
		Name: "decode", Title: "Decoding a log", Left: 0,
		Head: []string{"lines", "log MB", "seconds", "lines/s", "user s", "peak MB"},
		Notes: []string{"stemma decode reads the log from a file and writes it to nowhere, with each ID replaced by the stack. " +
			"The lines come from 1024 contexts in turn, 11 calls deep."},
	}
	sizes := []int{1, 10_000, 100_000, 1_000_000}
	if s.options.quick {
		sizes = sizes[:3]
	}
	var x, y []float64
	for _, n := range sizes {
		tell(fmt.Sprintf("decode %d lines", n))
		size, u, err := s.decodeLog(m, n)
		if err != nil {
			s.problem("decode, %d lines: %v", n, err)
			continue
		}
		rate := float64(n) / u.wall.Seconds()
		t.Add(fmt.Sprint(n), number(float64(size)/1e6, 1), number(u.wall.Seconds(), 3), number(rate, 0), number(u.user.Seconds(), 3), number(float64(u.peak)/1e6, 1))
		s.metrics = append(s.metrics, metric{fmt.Sprint("Decode/lines=", n), rate, "lines/s"}, metric{fmt.Sprint("Decode/lines=", n), float64(u.peak), "peak-bytes"})
		x, y = append(x, float64(n)), append(y, float64(u.peak))
	}
	t.Notes = append(t.Notes, "Growth of the peak memory with the lines: bytes = "+law(x, y)+".")
	s.tables = append(s.tables, t)
}

// decodeLog writes a log of n lines and decodes it. A line that keeps its ID is an
// error.
func (s *session) decodeLog(m *micro, n int) (size int64, u usage, err error) {
	name := filepath.Join(s.bench.Work, "log")
	defer os.Remove(name)
	f, err := os.Create(name)
	if err != nil {
		return 0, u, err
	}
	defer f.Close()
	r, err := m.try(f, nil, []string{fmt.Sprint("-log=", n)})
	if err != nil {
		return 0, u, err
	}
	if size, err = f.Seek(0, io.SeekCurrent); err != nil {
		return 0, u, err
	}
	dirs, err := filepath.Glob(filepath.Join(r.out, "*"))
	if err != nil || len(dirs) != 1 {
		return 0, u, fmt.Errorf("%d live directories, want 1 (%w)", len(dirs), err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, u, err
	}
	// A line whose ID could not be decoded would go through unchanged, and fast.
	var found counter
	u, err = s.command(&found, f, nil, s.bench.Stemma, "decode", dirs[0])
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
