package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A service is a server or an agent that is started again after it was killed.
type service struct {
	name string
	args []string
	env  []string
	dir  string // of its log
	live string // answers with 200 when it can be used; "" for what need not be waited for

	mu   sync.Mutex
	cmd  *exec.Cmd
	dead chan struct{} // closed when cmd has ended
}

// start starts it, and waits until it can be used.
func (s *service) start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(s.dir, s.name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(s.args[0], s.args[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = s.dir, log, log, append(os.Environ(), s.env...)
	// What is typed is for this command only, which ends the others; if it is killed, they go as well.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	dead := make(chan struct{})
	s.mu.Lock()
	s.cmd, s.dead = cmd, dead
	s.mu.Unlock()
	go func() {
		_ = cmd.Wait() // whoever is killed ends so
		close(dead)
	}()
	if s.live == "" {
		return nil
	}
	for until := time.Now().Add(2 * time.Minute); ; {
		if answers(ctx, s.live) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-dead:
			return fmt.Errorf("%s has ended; %s says why", s.name, log.Name())
		case <-time.After(200 * time.Millisecond):
		}
		if time.Now().After(until) {
			return fmt.Errorf("%s: no answer from %s within two minutes; %s may say why", s.name, s.live, log.Name())
		}
	}
}

func answers(ctx context.Context, url string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

// end sends a signal, and waits for the end.
func (s *service) end(sig os.Signal) {
	s.mu.Lock()
	cmd, dead := s.cmd, s.dead
	s.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(sig) // it may have ended
	select {
	case <-dead:
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		<-dead
	}
}

// free returns an address of this machine that nobody has.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// A worker is a process of the fleet.
type worker struct {
	url string // where it is asked for its counts
	log string // a file

	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startWorker starts a program.
func startWorker(exe, log string, env ...string) (*worker, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	w := &worker{log: log, cmd: exec.Command(exe)}
	w.cmd.Stderr, w.cmd.Env = file, append(os.Environ(), env...)
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	w.out = bufio.NewReader(out)
	w.url, err = w.out.ReadString('\n')
	w.url = strings.TrimSpace(w.url)
	if err != nil {
		w.kill()
		return nil, fmt.Errorf("%s: %w; %s may say why", exe, err, log)
	}
	return w, nil
}

// stop lets the work end, and adds what the program says that it has counted.
func (w *worker) stop(sums map[string]int64) error {
	if _, err := io.WriteString(w.in, "\n"); err != nil {
		return err
	}
	for range 2 {
		line, err := w.out.ReadString('\n')
		if err != nil {
			return err
		}
		var name string
		var n int64
		if _, err := fmt.Sscan(line, &name, &n); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		sums[name] += n
	}
	return nil
}

// end lets the program end.
func (w *worker) end() error {
	_ = w.in.Close()
	return w.cmd.Wait()
}

func (w *worker) kill() {
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
}
