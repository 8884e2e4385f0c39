package base

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/terminal"
)

// Coloured reports whether what is written to w reaches a terminal that may get colours:
// see https://no-color.org.
func Coloured(w io.Writer) bool {
	f, ok := w.(*firstWrite)
	return ok && f.terminal && os.Getenv("NO_COLOR") == "" && !terminal.IsDumb()
}

// NoPager is a flag of all commands that page. It may stand anywhere before a "--".
const NoPager = "no-pager"

// cutNoPager takes -no-pager out of the arguments.
func cutNoPager(args []string) (rest []string, found bool) {
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	isFlag := func(arg string) bool { return arg == "-"+NoPager || arg == "--"+NoPager }
	rest = slices.DeleteFunc(slices.Clone(args[:end]), isFlag)
	return append(rest, args[end:]...), slices.ContainsFunc(args[:end], isFlag)
}

// Paged runs a command whose output is long, or late. Standard output goes through a pager if
// it is a terminal; standard error shows how far it is, up to the first output.
func Paged(e *Env, name string, args []string, run func(*Env, []string) error) error {
	args, off := cutNoPager(args)
	var out io.Writer = e.Stdout
	var p *pager
	f, ok := e.Stdout.(*os.File)
	isTerminal := ok && terminal.Is(f)
	if isTerminal && !off {
		if words := pagerCommand(); len(words) > 0 {
			p = &pager{words: words, env: e, out: f}
			out = p
		}
	}
	stop := progress.Begin(e.Stderr, "%s", name).End
	defer stop()
	inner := *e
	inner.Stdout, inner.Stderr = &firstWrite{out, stop, isTerminal}, &firstWrite{e.Stderr, stop, false}
	err := run(&inner, args)
	stop()
	if p == nil {
		return err
	}
	return p.close(err)
}

// pagerCommand returns the words of $STEMMA_PAGER, else $PAGER, else less, if that is there;
// none if the variable is empty or cat.
func pagerCommand() []string {
	for _, name := range []string{"STEMMA_PAGER", "PAGER"} {
		if text, ok := os.LookupEnv(name); ok {
			words, err := SplitQuoted(text)
			if err != nil || len(words) == 0 || words[0] == "cat" {
				return nil
			}
			return words
		}
	}
	if _, err := exec.LookPath("less"); err != nil {
		return nil
	}
	return []string{"less"}
}

// A firstWrite calls begun before each write to w.
type firstWrite struct {
	w        io.Writer
	begun    func()
	terminal bool // where w leads, perhaps through a pager
}

func (f *firstWrite) Write(b []byte) (int, error) {
	f.begun()
	return f.w.Write(b)
}

// A pager gets what is written, from the first byte on: without output there is none.
// One that cannot be started is done without.
type pager struct {
	words []string
	env   *Env
	out   *os.File
	cmd   *exec.Cmd
	in    io.WriteCloser
	plain bool
	keys  chan os.Signal
}

func (p *pager) Write(b []byte) (int, error) {
	if p.cmd == nil && !p.plain {
		p.plain = p.start() != nil
	}
	if p.plain {
		return p.out.Write(b)
	}
	return p.in.Write(b)
}

// start starts the pager. An interrupt is the pager's business from now on: this process ends
// when the pager has, because then a write fails.
func (p *pager) start() (err error) {
	cmd := exec.Command(p.words[0], p.words[1:]...)
	cmd.Stdout, cmd.Stderr = p.out, p.env.Stderr
	if _, ok := os.LookupEnv("LESS"); !ok {
		cmd.Env = append(os.Environ(), "LESS=FRX") // no pager for one screen; leave the text there
	}
	if p.in, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	p.keys = make(chan os.Signal, 1)
	signal.Notify(p.keys, os.Interrupt)
	return nil
}

// close waits for the pager. That it was left before the end is no error.
func (p *pager) close(err error) error {
	if p.cmd != nil {
		_ = p.in.Close() // what could not be written is of no interest any more
		_ = p.cmd.Wait() // its exit code is that of a key
		signal.Stop(p.keys)
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}
