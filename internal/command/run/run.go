// Package run builds, runs and tests programs, and seals what they record.
package run

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/internal/base"
)

// A Program is an instrumented executable in a temporary directory.
// It must be closed. tmp holds nothing else.
type Program struct {
	Name string   // of the executable, without directory
	exe  string   // its path
	Env  []string // what it gets beside the environment of stemma
	Keep bool     // live directories hold what is not sealed
	argv []string // what to start: exe and its arguments, behind the words of -exec
	dir  string   // where to run it; empty for the current directory
	tmp  *base.Temporary
}

// Close removes the executable.
func (p *Program) Close() error { return p.tmp.RemoveAll() }

// Run runs the program to its end.
// The program's own exit code is no error. STEMMA_OUT goes to its children, so that
// their records come to the same place.
func (p *Program) Run(e *base.Env) (*Outcome, error) {
	dir, err := liveBase(p.Name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(append(os.Environ(), "STEMMA_OUT="+dir.Path), p.Env...)
	if p.dir != "" {
		wd, err := filepath.Abs(p.dir)
		if err != nil {
			return nil, errors.Join(err, dir.RemoveAll())
		}
		cmd.Env = append(cmd.Env, "PWD="+wd)
	}
	begin := time.Now()
	code, err := base.Run(e, cmd)
	if errors.Is(err, syscall.ENOEXEC) {
		err = fmt.Errorf("%w: it is for another machine (GOARCH), which an emulator stands in for, as in "+
			"-exec qemu-aarch64; or copy there what stemma build makes", err)
	}
	if err != nil {
		_ = dir.RemoveAll() // it is empty: nothing ran
		return nil, err
	}
	return &Outcome{Base: dir.Path, held: dir, pid: cmd.Process.Pid, Code: code, elapsed: time.Since(begin)}, nil
}
