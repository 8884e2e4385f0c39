package measure

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/bench/internal/program"
)

// How it works.
//
// A machine that is shared with others changes its speed within seconds, by more than
// what is measured here. So the builds of a program do not run one after another but
// take turns, some thousandths of a run each: all have been started, one runs, and the
// others are stopped (SIGSTOP). What others do on the machine then meets all of
// them alike. Processor time does not pass while a process is stopped, and wall time is
// that of its turns.

// turnTime is the length of a turn: short against the changes of a machine, and
// long against what the change of turns costs, which is a cold cache.
const turnTime = 50 * time.Millisecond

// A process is a run that may be interrupted.
type process struct {
	bin            *Binary
	cmd            *exec.Cmd
	files          string // directory for what it writes
	stdout, stderr bytes.Buffer
	wall           time.Duration // of its turns
	peak           int64         // bytes of resident memory
	ended          chan error    // what Wait says
	running        bool
	failed         error // to start, or to end in time
}

// newProcess prepares a run of bin, which records in out. It is a process group of
// its own, with what it starts.
func newProcess(bin *Binary, out string) *process {
	files := out + ".files"
	p := &process{bin: bin, files: files, cmd: exec.Command(bin.Path, bin.Program.RunArgs(files)...),
		ended: make(chan error, 1)}
	p.cmd.Dir = bin.Program.Dir
	p.cmd.Env = append(append(os.Environ(), "STEMMA_OUT="+out), bin.Variant.Env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	// It must not outlive bench, stopped for ever.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	return p
}

// turn lets p run for the given time, or until it ends. It reports whether it has.
func (p *process) turn(d time.Duration) (ended bool) {
	start := time.Now()
	defer func() { p.wall += time.Since(start) }()
	if p.running {
		p.signal(syscall.SIGCONT)
	} else if p.failed = p.start(); p.failed != nil {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case err := <-p.ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			p.failed = err
		}
		return true // gofmt's exit code is part of its result
	case <-timer.C:
		p.signal(syscall.SIGSTOP)
		return false
	}
}

// start begins the run.
func (p *process) start() error {
	if err := os.MkdirAll(p.files, 0o755); err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	p.running = true
	stop := WatchPeak(p.cmd.Process.Pid)
	go func() {
		err := p.cmd.Wait()
		p.peak = stop()
		p.ended <- err
	}()
	return nil
}

// signal sends a signal to p and what it has started. That they are gone is no
// error: the next turn will find out.
func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// kill ends p, which has taken too long.
func (p *process) kill(limit time.Duration) {
	p.signal(syscall.SIGKILL)
	<-p.ended
	p.failed = fmt.Errorf("stopped after %v", limit)
}

// result returns what was measured, of a process that has ended. After that, what
// it has written is gone, except for its record.
func (p *process) result() (Run, error) {
	defer os.RemoveAll(p.files)
	if p.failed != nil {
		return Run{}, fmt.Errorf("run: %w", p.failed)
	}
	state := p.cmd.ProcessState
	sum, err := p.bin.Program.Checksum(program.Output{Stdout: p.stdout.Bytes(), ExitCode: state.ExitCode(),
		Dir: p.files})
	if err != nil {
		return Run{}, fmt.Errorf("run: %w%s", err, excerpt(p.stderr.Bytes(), 12, 4))
	}
	return Run{User: state.UserTime(), System: state.SystemTime(), Wall: p.wall, Peak: p.peak, Checksum: sum,
		Stderr: p.stderr.String()}, nil
}

// takeTurns runs processes until all have ended, in turns of the given time and
// in the given order. None runs for longer than limit.
func takeTurns(ps []*process, d, limit time.Duration) {
	for len(ps) > 0 {
		var left []*process
		for _, p := range ps {
			switch {
			case p.turn(min(d, limit-p.wall)):
			case p.wall >= limit:
				p.kill(limit)
			default:
				left = append(left, p)
			}
		}
		ps = left
	}
}

// availableMemory returns how many bytes processes can take, 0 if that is not known.
func availableMemory() int64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "MemAvailable:"); ok {
			var kb int64
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}
