package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

func TestMain(m *testing.M) {
	if list := os.Getenv("HOSTILE_STEPS"); list != "" {
		os.Unsetenv("HOSTILE_STEPS")
		fmt.Fprintln(os.Stderr, become(strings.Split(strings.TrimSpace(list), "\n"), os.Args[1:]))
		os.Exit(skipCode)
	}
	e2e.Main(m)
}

// engines returns the builds that cases are tried with.
func engines() []string { return e2e.Few(3, "cct", "dacce", "sample", "lucce", "pcce") }

// build returns the program built with an engine, or without stemma if that is "".
func build(t *testing.T, engine string) string {
	switch engine {
	case "":
		return e2e.Plain(t, "hostile")
	case "cct":
		return e2e.Build(t, "hostile", "-recursion=full")
	}
	return e2e.Build(t, "hostile", "-engine="+engine)
}

// A place is where a program runs.
type place struct {
	t     *testing.T
	dir   string   // of the run, for files; the working directory
	out   string   // where it is to record
	tmp   string   // where else it may
	steps []step   // to take before
	env   []string // beside STEMMA_OUT and TMPDIR
	exe   string   // instead of the program
	sys   *syscall.SysProcAttr
	start func(cmd *exec.Cmd) error // instead of cmd.Run
	plain *place                    // where the program ran without stemma
}

// step adds a step.
func (p *place) step(format string, args ...any) {
	p.steps = append(p.steps, fmt.Sprintf(format, args...))
}

// An outcome is what a run has left.
type outcome struct {
	code           int
	stdout, stderr string
	records        []string // live directories
}

func newPlace(t *testing.T) *place {
	p := &place{t: t, dir: t.TempDir(), sys: &syscall.SysProcAttr{}}
	p.out, p.tmp = filepath.Join(p.dir, "out"), filepath.Join(p.dir, "tmp")
	for _, dir := range []string{p.out, p.tmp} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// run runs a program in the place.
func (p *place) run(exe string, action string) outcome {
	p.t.Helper()
	if p.exe != "" {
		exe = p.exe
	}
	// A program that hangs is killed.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, action)
	cmd.WaitDelay = time.Second
	if len(p.steps) > 0 {
		self, err := os.Executable()
		if err != nil {
			p.t.Fatal(err)
		}
		cmd = exec.CommandContext(ctx, self, exe, action)
		cmd.WaitDelay = time.Second
		p.env = append(p.env, "HOSTILE_STEPS="+strings.Join(p.steps, "\n"))
		p.sys.Cloneflags |= syscall.CLONE_NEWNS
		if os.Geteuid() != 0 {
			p.sys.Cloneflags |= syscall.CLONE_NEWUSER
			p.sys.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
			p.sys.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
		}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.SysProcAttr = &stdout, &stderr, p.dir, p.sys
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "STEMMA_") || strings.HasPrefix(v, "GO")
	}), "STEMMA_OUT="+p.out, "TMPDIR="+p.tmp)
	cmd.Env = append(cmd.Env, p.env...)
	run := (*exec.Cmd).Run
	if p.start != nil {
		run = func(cmd *exec.Cmd) error { return p.start(cmd) }
	}
	if err := run(cmd); err != nil && cmd.ProcessState == nil {
		if errors.Is(err, syscall.EPERM) {
			p.t.Skipf("no namespaces: %v", err)
		}
		p.t.Fatal(err)
	}
	if cmd.ProcessState.ExitCode() == skipCode {
		p.t.Skip(stderr.String())
	}
	o := outcome{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
	for _, pattern := range []string{filepath.Join(p.out, "*"), filepath.Join(p.tmp, "stemma-*", "*"),
		filepath.Join(p.dir, "stemma.out", "*")} {
		dirs, _ := filepath.Glob(pattern)
		for _, dir := range dirs {
			if info, err := os.Stat(dir); err == nil && info.IsDir() {
				o.records = append(o.records, dir)
			}
		}
	}
	return o
}

// A hard is a case: a place, what the program does there, and what must come of it.
type hard struct {
	name   string
	action string
	place  func(p *place)
	says   string // what standard error must match: one line, or nothing if it is ""
	maybe  bool   // it may say nothing, if all is recorded
	lost   bool   // there may be no record to look at
	hangs  bool   // seldom it does not end, through no fault of the place: then it is tried again
	runs   int    // that leave a record, 1 if 0
	check  func(t *testing.T, p *place, o outcome)
}

const (
	nothing   = `^stemma: nothing is recorded: .*`
	notAll    = `^stemma: from here on not all is recorded: .*/[a-z0-9.]+: `
	elsewhere = `^stemma: recording in .*, because of `
)

// TestHostile runs a program in each place, plain and recorded by each engine: output and exit
// code are the same, and there is a whole record, or one line says what is missing.
func TestHostile(t *testing.T) {
	e2e.NeedMore(t)
	e2e.NeedBuilds(t)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			plain, want := c.run(t, "", nil)
			if want.stderr != "" {
				t.Fatalf("the plain program printed %s", want.stderr)
			}
			for j, engine := range engines() {
				if !e2e.Covers(i, len(cases), j, len(engines())) {
					continue
				}
				t.Run(engine, func(t *testing.T) {
					p, have := c.run(t, engine, plain)
					if have.code != want.code || have.stdout != want.stdout {
						t.Errorf("exit code %d, want %d; output\n%swant\n%s\n%s", have.code, want.code, have.stdout,
							want.stdout, have.stderr)
					}
					c.said(t, have)
					c.recorded(t, engine, have)
					if c.check != nil {
						c.check(t, p, have)
					}
				})
			}
		})
	}
}

// TestPriority ends segments where a filter ends whoever asks for another priority, as units of systemd may have one,
// and where it is refused.
func TestPriority(t *testing.T) {
	e2e.NeedMore(t)
	e2e.NeedBuilds(t)
	for _, c := range []struct {
		name, step, unit string
		killed           bool
	}{
		{"unit", "forbid", "0a", false},
		{"filter works", "forbid", "", true},
		{"refused", "refuse", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t)
			p.step("%s %s %s", c.step, sysSetpriority, sysSchedSetattr)
			p.env = []string{"STEMMA_ROTATE=20ms,1000", "INVOCATION_ID=" + c.unit, "JOURNAL_STREAM=", "NOTIFY_SOCKET="}
			var killed bool
			p.start = func(cmd *exec.Cmd) error { // until a segment is there, or the program has ended
				cmd.Stdin = nil
				stdin, err := cmd.StdinPipe()
				if err != nil {
					return err
				}
				if err := cmd.Start(); err != nil {
					return err
				}
				go func() {
					for range 3000 {
						if list, _ := filepath.Glob(filepath.Join(p.out, "*", "tree")); len(list) > 1 {
							break
						}
						time.Sleep(10 * time.Millisecond)
					}
					stdin.Close()
				}()
				err = cmd.Wait()
				status := cmd.ProcessState.Sys().(syscall.WaitStatus)
				killed = status.Signaled() && status.Signal() == syscall.SIGSYS
				return err
			}
			o := p.run(build(t, "cct"), "endless")
			if killed != c.killed || !killed && (o.stderr != "" || len(o.records) < 2) {
				t.Errorf("killed by SIGSYS: %v; %q, %d records, want the run's and segments", killed, o.stderr,
					len(o.records))
			}
		})
	}
}

// run runs the program in the place, built with an engine, or without stemma if that is "". One that hangs, as the
// plain program does as well, is tried again.
func (c *hard) run(t *testing.T, engine string, plain *place) (p *place, o outcome) {
	t.Helper()
	for range 3 {
		p = newPlace(t)
		c.place(p)
		p.plain = plain
		if o = p.run(build(t, engine), c.action); !c.hangs || o.code != killedCode {
			break
		}
	}
	return p, o
}

// killedCode stands for the exit code of a program that was killed, such as one that hangs.
const killedCode = -1

// said checks what a program has printed on standard error.
func (c *hard) said(t *testing.T, o outcome) {
	t.Helper()
	switch {
	case o.stderr == "" && (c.says == "" || c.maybe):
	case c.says == "" || strings.Count(o.stderr, "\n") != 1 || !regexp.MustCompile(c.says).MatchString(o.stderr):
		t.Errorf("standard error: have %q, want one line that matches %q", o.stderr, c.says)
	}
}

// recorded checks the records. If nothing was said they are whole.
func (c *hard) recorded(t *testing.T, engine string, o outcome) {
	t.Helper()
	if strings.Contains(c.says, "nothing is recorded: ") && o.stderr != "" {
		if len(o.records) != 0 && c.runs == 0 {
			t.Errorf("there are records of what was said not to be recorded: %v", o.records)
		}
		return
	}
	if c.lost {
		return
	}
	if len(o.records) != max(c.runs, 1) {
		t.Fatalf("records %v, want %d", o.records, max(c.runs, 1))
	}
	for _, dir := range o.records {
		p, err := record.Open(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		// Who is killed, or calls exec, ends at that moment: addresses that were sampled within the last tick have no
		// description yet. About one sample in ten thousand strikes in the few instructions with which the runtime
		// changes stacks, and finds no outermost frame.
		ends := strings.HasPrefix(c.name, "killed") || c.action == "replace"
		for i := range p.Processes {
			proc := &p.Processes[i]
			proc.Losses = slices.DeleteFunc(proc.Losses, func(l profile.Loss) bool {
				return ends && l.Kind == profile.LossPlaces || l.Kind == profile.LossTruncated && l.Count == 1
			})
		}
		if o.stderr == "" {
			e2e.NoLoss(t, p.Profile)
		}
		if calls := e2e.Calls(cct.New(p.Profile),
			"main.leaf"); engine == "cct" && o.stderr == "" && c.runs == 0 && !strings.HasPrefix(c.action, "end") &&
			c.name != "killed" && calls < 4096+4096+1 {
			t.Errorf("%d calls of leaf are recorded, %d were made", calls, 4096+4096+1)
		}
	}
}

// apparent returns how large the files of a directory seem to be.
func apparent(t *testing.T, dir string) (size int64) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			size += info.Size()
		}
	}
	return size
}
