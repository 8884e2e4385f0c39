// Package builds compares how long stemma build and go build take.
package builds

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/session"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// rebuilds is how often a rebuild is measured; the median counts.
const rebuilds = 3

// Time estimates builds: two cold builds of each program are most of it.
func Time(s *session.Session) time.Duration {
	return time.Duration(len(s.Programs)) * 4 * time.Minute
}

// Run compares how long stemma build and go build take.
func Run(s *session.Session) error {
	t := &table.Table{
		Name: "builds", Title: "Builds", Left: 1,
		Head: []string{"program", "go build, cold s", "stemma build, cold s", "ratio", "go build, rebuild s",
			"stemma build, rebuild s", "ratio",
			"go build, no change s", "stemma build, no change s"},
		Notes: []string{"cold: with an empty build cache, std included. rebuild: after a change of package main. " +
			"Median of 3 rebuilds, wall time."},
	}
	first, err := firstBuild(s)
	if err != nil {
		s.Problem("first build: %v", err)
	} else {
		t.Notes = append(t.Notes,
			fmt.Sprintf("On a fresh machine the first build also makes the compiler: %s took %.0f s.",
				s.Programs[0].Name, first.Seconds()))
	}
	for _, p := range s.Programs {
		if !p.Module {
			continue // its source is in GOROOT and cannot be changed
		}
		cells, err := buildTimes(s, p)
		if err != nil {
			s.Problem("%s: builds: %v", p.Name, err)
			continue
		}
		t.Add(cells...)
	}
	s.Tables = append(s.Tables, t)
	return nil
}

// firstBuild returns how long the first program takes to build where neither
// stemma nor the go command has built anything before.
func firstBuild(s *session.Session) (time.Duration, error) {
	p := s.Programs[0]
	session.Tell(fmt.Sprintf("build %s with empty caches", p.Name))
	dir := filepath.Join(s.Bench.Work, "first")
	defer os.RemoveAll(dir)
	c := s.Bench.BuildCommand(p, s.Options.Variants[0], filepath.Join(dir, "bin", p.Name))
	c.Env = []string{"GOCACHE=" + filepath.Join(dir, "gocache"), "STEMMA_CACHE=" + filepath.Join(dir, "stemma")}
	return timed(c)
}

func timed(c *measure.Command) (time.Duration, error) {
	start := time.Now()
	err := c.Run()
	return time.Since(start), err
}

// buildTimes returns the row of p. It builds a copy, whose sources it changes.
func buildTimes(s *session.Session, p *program.Program) ([]string, error) {
	dir := filepath.Join(s.Bench.Work, "builds")
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "source")
	if err := os.CopyFS(source, os.DirFS(p.Dir)); err != nil {
		return nil, err
	}
	clone := *p
	clone.Dir = source
	var times [2]buildSeconds
	for i, v := range []measure.Variant{measure.Plain, s.Options.Variants[0]} {
		session.Tell(fmt.Sprintf("time builds of %s: %s", p.Name, v.Name))
		c := s.Bench.BuildCommand(&clone, v, filepath.Join(dir, v.FileName(), p.Name))
		c.Env = []string{"GOCACHE=" + filepath.Join(dir, "gocache-"+v.FileName())}
		var err error
		if times[i], err = timeBuilds(c); err != nil {
			return nil, err
		}
	}
	plain, stemma := times[0], times[1]
	return []string{p.Name,
		session.Number(plain.cold, 1), session.Number(stemma.cold, 1), session.Number(stemma.cold/plain.cold, 2),
		session.Number(plain.rebuild, 2), session.Number(stemma.rebuild, 2),
		session.Number(stemma.rebuild/plain.rebuild, 2),
		session.Number(plain.unchanged, 2), session.Number(stemma.unchanged, 2)}, nil
}

// buildSeconds is how many seconds a build takes, by what was built before.
type buildSeconds struct{ cold, rebuild, unchanged float64 }

func timeBuilds(c *measure.Command) (t buildSeconds, err error) {
	main, err := mainFile(c.Dir)
	if err != nil {
		return t, err
	}
	cold, err := timed(c)
	if err != nil {
		return t, err
	}
	var changed, same []float64
	for i := range rebuilds {
		if err := appendLine(main, fmt.Sprintf("// %s %d", filepath.Base(c.Args[0]), i)); err != nil {
			return t, err
		}
		for _, times := range []*[]float64{&changed, &same} {
			d, err := timed(c)
			if err != nil {
				return t, err
			}
			*times = append(*times, d.Seconds())
		}
	}
	return buildSeconds{cold.Seconds(), stats.Median(changed), stats.Median(same)}, nil
}

// mainFile returns a file of package main in dir.
func mainFile(dir string) (string, error) {
	names, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(names, func(n string) bool { return !strings.HasSuffix(n, "_test.go") })
	if i < 0 {
		return "", fmt.Errorf("%s: no Go files", dir)
	}
	return filepath.Join(dir, names[i]), nil
}

func appendLine(name, line string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	// Files copied from the module cache are read-only.
	if err := os.Remove(name); err != nil {
		return err
	}
	return os.WriteFile(name, append(data, "\n"+line+"\n"...), 0o644)
}
