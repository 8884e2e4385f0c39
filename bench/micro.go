package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
)

// Programs in bench/micro print what they measure themselves, because it is too short to
// be seen from outside. They are part of module bench, not modules of their own like
// the programs that stand for real ones.

// micro is a small program of bench's own that prints figures.
type micro struct {
	s       *session
	name    string // of its directory in bench/micro
	variant measure.Variant
	path    string
}

// buildMicro builds a program in bench/micro. Nil says that it could not be, which
// is among the problems then.
func (s *session) buildMicro(name string, v measure.Variant) *micro {
	if !s.available(v) {
		return nil
	}
	tell(fmt.Sprintf("build %s: %s", name, v.Name))
	p := &program.Program{Name: "micro-" + name, Dir: s.tree.Bench, Package: "./micro/" + name}
	bin, err := s.bench.Build(p, v)
	if err != nil {
		if s.isAvailable(v, err) {
			s.problem("%s, %s: skipped: %v", name, v.Name, err)
		}
		return nil
	}
	return &micro{s, name, v, bin.Path}
}

// microRun is one run of a micro.
type microRun struct {
	figures map[string]float64
	wall    time.Duration
	cpu     time.Duration // user and system
	peak    int64         // bytes of resident memory
	record  int64         // bytes of the live directory on disk, 0 without one
	out     string        // where the live directory is
}

// run runs m with arguments and variables of the environment. The live directory
// is there until the next run. Failures are problems, and give nil.
func (m *micro) run(env []string, args ...string) *microRun {
	tell(strings.Join(append([]string{"run " + m.name + ":", m.variant.Name}, append(env, args...)...), " "))
	r, err := m.try(nil, env, args)
	if err != nil {
		m.s.problem("%s, %s, %s: %v", m.name, m.variant.Name, strings.Join(append(env, args...), " "), err)
		return nil
	}
	return r
}

// try runs m. Its output goes to stdout or, if that is nil, is parsed.
func (m *micro) try(stdout io.Writer, env, args []string) (*microRun, error) {
	r := &microRun{out: filepath.Join(filepath.Dir(m.path), "out")}
	// Records of an earlier run would be counted with those of this one.
	if err := os.RemoveAll(r.out); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if stdout == nil {
		stdout = &text
	}
	usage, err := m.s.command(stdout, nil, append(env, "STEMMA_OUT="+r.out), m.path, args...)
	if err != nil {
		return nil, err
	}
	r.wall, r.cpu, r.peak = usage.wall, usage.cpu, usage.peak
	if m.variant.Records() {
		if r.record, err = measure.DiskUse(r.out); err != nil {
			return nil, err
		}
	}
	r.figures, err = parseFigures(text.String())
	return r, err
}

// usage is what a process took.
type usage struct {
	user, cpu, wall time.Duration // cpu: user and system
	peak            int64
}

// command runs a command to its end; an error tells what it said.
func (s *session) command(stdout io.Writer, stdin io.Reader, env []string, name string, args ...string) (usage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.options.timeout)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return usage{}, err
	}
	stop := measure.WatchPeak(cmd.Process.Pid)
	err := cmd.Wait()
	peak := stop()
	if ctx.Err() != nil {
		return usage{}, fmt.Errorf("stopped after %v", s.options.timeout)
	}
	if err != nil {
		text := stderr.String()
		return usage{}, fmt.Errorf("%w: %s", err, strings.TrimSpace(text[max(0, len(text)-500):]))
	}
	u := usage{user: cmd.ProcessState.UserTime(), wall: time.Since(begin), peak: peak}
	u.cpu = u.user + cmd.ProcessState.SystemTime()
	return u, nil
}

// parseFigures parses lines "NAME VALUE UNIT". Nothing else may be among them.
func parseFigures(text string) (map[string]float64, error) {
	figures := make(map[string]float64)
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 3 {
			return nil, fmt.Errorf("line %q: want a name, a value and a unit", line)
		}
		v, err := strconv.ParseFloat(words[1], 64)
		if err != nil {
			return nil, fmt.Errorf("line %q: %w", line, errors.Unwrap(err))
		}
		figures[words[0]] = v
	}
	return figures, nil
}
