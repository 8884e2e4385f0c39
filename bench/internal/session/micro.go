package session

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

// Micro is a small program of bench's own that prints figures.
type Micro struct {
	S       *Session
	Name    string // of its directory in bench/micro
	Variant measure.Variant
	path    string
}

// BuildMicro builds a program in bench/micro. If that fails it returns nil,
// and the problems have the reason.
func (s *Session) BuildMicro(name string, v measure.Variant) *Micro {
	if !s.Available(v) {
		return nil
	}
	Tell(fmt.Sprintf("build %s: %s", name, v.Name))
	p := &program.Program{Name: "micro-" + name, Dir: s.Tree.Bench, Package: "./micro/" + name}
	bin, err := s.Bench.Build(p, v)
	if err != nil {
		s.Failed(name, v, err)
		return nil
	}
	return &Micro{s, name, v, bin.Path}
}

// MicroRun is one run of a micro.
type MicroRun struct {
	Figures map[string]float64
	Wall    time.Duration
	Cpu     time.Duration // user and system
	peak    int64         // bytes of resident memory
	Record  int64         // bytes of the live directory on disk, 0 without one
	Out     string        // where the live directory is
}

// Run runs m with arguments and variables of the environment. The live directory
// is there until the next run. Failures are problems, and give nil.
func (m *Micro) Run(env []string, args ...string) *MicroRun {
	Tell(strings.Join(append([]string{"run " + m.Name + ":", m.Variant.Name}, append(env, args...)...), " "))
	r, err := m.Try(nil, env, args)
	if err != nil {
		m.S.Problem("%s, %s, %s: %v", m.Name, m.Variant.Name, strings.Join(append(env, args...), " "), err)
		return nil
	}
	return r
}

// Try runs m. Its output goes to stdout or, if that is nil, is parsed.
func (m *Micro) Try(stdout io.Writer, env, args []string) (*MicroRun, error) {
	r := &MicroRun{Out: filepath.Join(filepath.Dir(m.path), "out")}
	// Records of an earlier run would be counted with those of this one.
	if err := os.RemoveAll(r.Out); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if stdout == nil {
		stdout = &text
	}
	usage, err := m.S.Command(stdout, nil, append(env, "STEMMA_OUT="+r.Out), m.path, args...)
	if err != nil {
		return nil, err
	}
	r.Wall, r.Cpu, r.peak = usage.Wall, usage.cpu, usage.Peak
	if m.Variant.Records() {
		if r.Record, err = measure.DiskUse(r.Out); err != nil {
			return nil, err
		}
	}
	r.Figures, err = parseFigures(text.String())
	return r, err
}

// Usage is what a process took.
type Usage struct {
	User, cpu, Wall time.Duration // cpu: user and system
	Peak            int64
}

// Command runs a command to its end; an error has what it printed.
func (s *Session) Command(stdout io.Writer, stdin io.Reader, env []string, name string, args ...string) (Usage, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.Options.Timeout)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return Usage{}, err
	}
	stop := measure.WatchPeak(cmd.Process.Pid)
	err := cmd.Wait()
	peak := stop()
	if ctx.Err() != nil {
		return Usage{}, fmt.Errorf("stopped after %v", s.Options.Timeout)
	}
	if err != nil {
		text := stderr.String()
		return Usage{}, fmt.Errorf("%w: %s", err, strings.TrimSpace(text[max(0, len(text)-500):]))
	}
	u := Usage{User: cmd.ProcessState.UserTime(), Wall: time.Since(begin), Peak: peak}
	u.cpu = u.User + cmd.ProcessState.SystemTime()
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
