// Package lab sets up what an experiment works with: a directory, the stemma command of this tree, and programs.
package lab

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
)

// A Lab is a directory that an experiment works in, with the stemma command of the tree.
type Lab struct {
	Tree   machine.Tree
	Work   string // the directory
	Stemma string // the command

	own bool // Work was made here
}

// Open makes a directory with this name in its own and builds stemma there.
func Open(name string) (*Lab, error) {
	work, err := os.MkdirTemp("", name+"-")
	if err != nil {
		return nil, err
	}
	l, err := In(work, "")
	if err != nil {
		os.RemoveAll(work)
		return nil, err
	}
	l.own = true
	return l, nil
}

// In is Open for a directory that stays. It builds no command if it is given one.
func In(work, stemma string) (*Lab, error) {
	tree, err := machine.Find()
	if err != nil {
		return nil, err
	}
	l := &Lab{Tree: tree, Work: work, Stemma: filepath.Join(work, "stemma")}
	if stemma != "" {
		l.Stemma, err = filepath.Abs(stemma)
		return l, err
	}
	return l, tree.BuildStemma(l.Stemma)
}

// Close removes the directory that Open has made.
func (l *Lab) Close() error {
	if !l.own {
		return nil
	}
	return os.RemoveAll(l.Work)
}

// Bench builds and runs programs in the directory.
func (l *Lab) Bench(timeout time.Duration) *measure.Bench {
	return &measure.Bench{Stemma: l.Stemma, Work: l.Work, Timeout: timeout}
}

// Programs returns the programs of these names, and all if there are none: of the directory dir or, if that is "",
// bench's own.
func (l *Lab) Programs(dir string, names []string) ([]*program.Program, error) {
	own := dir == ""
	if own {
		dir = filepath.Join(l.Tree.Bench, "programs")
	}
	all, err := program.Find(dir)
	if err != nil {
		return nil, err
	}
	if own {
		all = append(all, program.Std(l.Tree.GOROOT, l.Work)...)
	}
	return program.Select(all, names)
}

// SetUp makes what runs of a program need, in a directory of the program's own.
func (l *Lab) SetUp(p *program.Program) error {
	dir := filepath.Join(l.Work, p.Name, "setup")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	return p.SetUp(dir)
}

// Names divides a list with commas. It has no names if it is empty.
func Names(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// Busy starts loops that take all the CPU they get, with a low priority if they are to be nice, until stop is called.
func Busy(loops int, nice bool) (stop func(), err error) {
	var started []*exec.Cmd
	stop = func() {
		for _, c := range started {
			c.Process.Kill()
			c.Wait()
		}
	}
	words := []string{"sh", "-c", "while :; do :; done"}
	if nice {
		words = append([]string{"nice"}, words...)
	}
	for range loops {
		c := exec.Command(words[0], words[1:]...)
		if err := c.Start(); err != nil {
			stop()
			return nil, err
		}
		started = append(started, c)
	}
	return stop, nil
}
