package base

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/stemma-go/stemma/internal/terminal"
)

// forwarded are the signals that a child gets when stemma gets them. Those of
// job control are left alone: the terminal sends them to the child as well,
// because it is in stemma's process group, and both stop and go on together.
var forwarded = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2,
	syscall.SIGALRM, syscall.SIGWINCH, syscall.SIGIO, syscall.SIGPWR,
}

// Run runs cmd with e's streams and returns its exit code, 128+n if
// signal n killed it. Signals reach it, and do not end stemma before it.
// An error is one of starting the program, or of copying its streams. The child gets the files of e
// themselves if they are files: nothing is copied in between, and it sees a terminal where stemma has one.
func Run(e *Env, cmd *exec.Cmd) (int, error) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.Stdin, e.Stdout, e.Stderr
	defer HoldSignals()()
	signals := make(chan os.Signal, 32)
	for _, s := range forwarded {
		if !signal.Ignored(s) { // as under nohup: the child ignores it as well
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan struct{})
	go forward(cmd.Process, signals, done)
	err := cmd.Wait()
	close(done)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return statusCode(exit.Sys().(syscall.WaitStatus)), nil
	}
	return 0, err
}

// forward sends signals on to p until done.
// One channel keeps them in the order in which they came.
func forward(p *os.Process, signals chan os.Signal, done chan struct{}) {
	for {
		select {
		case s := <-signals:
			if !fromTerminal(s) {
				_ = p.Signal(s) // it may have ended
			}
		case <-done:
			return
		}
	}
}

// fromTerminal reports whether a signal has most likely come from a key or a
// change of the terminal, and so gone to the child as well: to send it on would be
// to press the key twice, which ends programs that ask for patience.
func fromTerminal(s os.Signal) bool {
	switch s {
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGWINCH:
		tty, err := os.Open("/dev/tty")
		if err != nil {
			return false
		}
		defer tty.Close()
		return terminal.Foreground(tty)
	}
	return false
}

// statusCode returns the exit code that a shell would show.
// A child that was killed by signal n cannot be told from one that exits with
// 128+n; shells have the same ambiguity.
func statusCode(s syscall.WaitStatus) int {
	if s.Signaled() {
		return 128 + int(s.Signal())
	}
	return s.ExitStatus()
}
