// Fingerprints measures how many contexts of programs keep their fingerprint when the same program is run again, is
// rebuilt with shifted lines, and is built with another patch release of Go.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/program"
)

func main() {
	o := &options{}
	o.declare(flag.CommandLine)
	flag.Parse()
	if err := o.run(lab.Names(o.only)); err != nil {
		fmt.Fprintln(os.Stderr, "fingerprints:", err)
		os.Exit(1)
	}
}

type options struct {
	release, work, only string
	contexts            int
	lab                 *lab.Lab
	path                string // of the environment
}

// declare declares the flags.
func (o *options) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.release, "release", "go1.26.0", "the other patch release")
	fs.StringVar(&o.work, "work", "", "keep records in `DIR`, and use those that are there")
	fs.IntVar(&o.contexts, "contexts", 10_000_000, "how many contexts are looked at for collisions: ten "+
		"million take about two minutes and 1.3 GB of memory")
	fs.StringVar(&o.only, "only", "", "these programs `A,B`; all, if it is empty")
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), "usage: go run ./fingerprints [flags]\n\nEach program is built three times and run "+
			"four times, which takes minutes for each.\n\n")
		fs.PrintDefaults()
	}
}

// builds are the ways in which a program is built and run. All others are compared with the first one.
var builds = []string{"first", "again", "shifted", "release"}

func (o *options) run(names []string) (err error) {
	if o.work == "" {
		if o.work, err = os.MkdirTemp("", "fingerprints-"); err != nil {
			return err
		}
		defer os.RemoveAll(o.work)
	}
	if o.lab, err = lab.In(o.work, ""); err != nil {
		return err
	}
	o.path = os.Getenv("PATH")
	list, err := o.lab.Programs("", names)
	if err != nil {
		return err
	}
	calls, known := make(map[string][]edge), make(map[[2]string]bool)
	header(os.Stdout, o.release)
	for _, p := range list {
		trees := make(map[string]*tree)
		for _, build := range builds {
			err := o.record(p, build)
			if err == nil {
				trees[build], err = readTree(o.recordDir(p, build))
			}
			if err != nil {
				return fmt.Errorf("%s, %s: %w", p.Name, build, err)
			}
		}
		row(os.Stdout, p.Name, trees)
		edges(trees["first"], calls, known)
	}
	collide(os.Stdout, calls, o.contexts)
	return nil
}

// recordDir is where the record of a program is.
func (o *options) recordDir(p *program.Program, build string) string {
	return filepath.Join(o.work, "records", p.Name+"."+build)
}

// record builds and runs a program, unless that is done.
func (o *options) record(p *program.Program, build string) error {
	dir := o.recordDir(p, build)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	fmt.Fprintln(os.Stderr, "fingerprints:", p.Name, build)
	exe := filepath.Join(o.work, "built", p.Name+"."+build)
	if build == "again" {
		exe = filepath.Join(o.work, "built", p.Name+".first")
	}
	source, err := o.prepare(p, build)
	if err != nil {
		return err
	}
	if build != "again" {
		if err := o.command(source.Dir, o.lab.Stemma, "build", "-o", exe, source.Package).Run(); err != nil {
			return err
		}
	}
	if err := o.setUp(source, build); err != nil {
		return err
	}
	return o.runOnce(p, source, exe, dir)
}

// runOnce runs a program, and keeps its record when it has ended.
func (o *options) runOnce(p, source *program.Program, exe, dir string) error {
	tmp := dir + ".tmp"
	for _, d := range []string{tmp, dir} {
		if err := os.RemoveAll(d); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(tmp, "run"), 0o777); err != nil {
		return err
	}
	cmd := o.command(source.Dir, exe, source.RunArgs(filepath.Join(tmp, "run"))...)
	cmd.Env = append(cmd.Env, "STEMMA_OUT="+filepath.Join(tmp, "records"))
	cmd.Stdout = nil
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || p.Name != "gofmt" { // gofmt reports files that are wrong on purpose
			return err
		}
	}
	return os.Rename(tmp, dir)
}

// command returns a command whose messages are seen.
func (o *options) command(dir, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr, cmd.Env = dir, os.Stderr, os.Environ()
	return cmd
}

// prepare returns the program as it is to be built, and sets the environment to that of the build.
func (o *options) prepare(p *program.Program, build string) (*program.Program, error) {
	root, toolchain := o.lab.Tree.GOROOT, "local"
	source := *p
	switch build {
	case "release":
		out, err := exec.Command("env", "GOTOOLCHAIN="+o.release, "go", "env", "GOROOT").Output()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.release, err)
		}
		root = strings.TrimSpace(string(out))
	case "shifted":
		root = filepath.Join(o.work, "goroot")
		if err := o.shiftedRoot(root); err != nil {
			return nil, err
		}
		if p.Module {
			source.Dir = filepath.Join(o.work, "shifted", p.Name)
			if err := o.shiftedModule(p, source.Dir); err != nil {
				return nil, err
			}
		}
	}
	for key, value := range map[string]string{"GOROOT": root, "GOTOOLCHAIN": toolchain,
		"PATH": filepath.Join(root, "bin") + string(filepath.ListSeparator) + o.path} {
		if err := os.Setenv(key, value); err != nil {
			return nil, err
		}
	}
	return &source, nil
}

// shiftedRoot makes a copy of GOROOT with shifted lines, of all but the commands that stemma changes by hand.
func (o *options) shiftedRoot(root string) error {
	if _, err := os.Stat(root); err == nil {
		return nil
	}
	tmp := root + ".tmp"
	if err := o.command(o.work, "cp", "-r", o.lab.Tree.GOROOT, tmp).Run(); err != nil {
		return err
	}
	if err := shiftAll(filepath.Join(tmp, "src")); err != nil {
		return err
	}
	return os.Rename(tmp, root)
}

// shiftedModule makes a copy of a program with all that it imports, and shifts its lines.
func (o *options) shiftedModule(p *program.Program, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	tmp := dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.CopyFS(tmp, os.DirFS(p.Dir)); err != nil {
		return err
	}
	if err := o.command(tmp, "go", "mod", "vendor").Run(); err != nil {
		return err
	}
	if err := shiftAll(tmp); err != nil {
		return err
	}
	return os.Rename(tmp, dir)
}

// setUp makes what runs need. What the compiler compiles is the same for all builds, but for the packages that are
// imported, which are its own release's.
func (o *options) setUp(p *program.Program, build string) error {
	dir := filepath.Join(o.work, "setup", p.Name+"."+build)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := p.SetUp(dir); err != nil {
		return err
	}
	own, first := filepath.Join(os.Getenv("GOROOT"), "src", "net", "http"),
		filepath.Join(o.lab.Tree.GOROOT, "src", "net", "http")
	for i, arg := range p.Args {
		if name, ok := strings.CutPrefix(arg, own+string(filepath.Separator)); ok && p.Name == "compile" {
			p.Args[i] = filepath.Join(first, name)
		}
	}
	return nil
}
