package cli

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/toolchain"
)

// runCommand is build, start, seal and report in one.
func runCommand() *command {
	return &command{
		name:  "run",
		args:  "[flags] [go build flags] package [arguments]",
		short: "build a program, run it and report its calling contexts",
		long: `
Run builds one program as stemma build does and runs it with the arguments that
follow the package: a directory, .go files, an import path of this module, a
command of the standard library (cmd/gofmt) or package@version. Standard input,
output and error, signals and the exit code are the program's own.

After that it writes the profile NAME.stemma and prints a summary to standard
error.`,
		flags: func(fs *flag.FlagSet) {
			declareOptions(fs, new(toolchain.Options))
			declareRun(fs, new(string))
		},
		run: runRun,
	}
}

// declareRun declares what run has beside the flags of a build. -o is not that of go
// build: the executable is temporary.
func declareRun(fs *flag.FlagSet, out *string) {
	fs.StringVar(out, "o", "", "write the profile to `FILE` instead of NAME.stemma")
}

// runRun removes the executable when it is done, and the live directory when it is
// sealed; of a record that cannot be sealed it says where it stays.
func runRun(e *env, args []string) error {
	outFile := ""
	p, err := parseGoCommand("run", args, func(fs *flag.FlagSet) { declareRun(fs, &outFile) })
	if err != nil {
		return err
	}
	prog, err := buildProgram(e, p)
	if err != nil {
		return err
	}
	defer prog.Close()
	rec, err := prog.run(e)
	if err != nil {
		return err
	}
	if outFile == "" {
		outFile = prog.name + ".stemma"
	}
	rec.keep = p.opts.Record != ""
	// The program's exit code counts, whatever comes of its record.
	if err := rec.seal(e, outFile); err != nil {
		fmt.Fprintf(e.stderr, "stemma: %v\n", err)
		if rec.code == exitOK {
			return &exitError{code: exitFailure}
		}
	}
	return exitCode(rec.code)
}

// A program is an instrumented executable in a temporary directory.
// It must be closed. tmp holds nothing else.
type program struct {
	name string   // of the executable, without directory
	exe  string   // its path
	argv []string // what to start: exe and its arguments, behind the words of -exec
	dir  string   // where to run it; empty for the current directory
	tmp  string
}

// Close removes the executable.
func (p *program) Close() error { return os.RemoveAll(p.tmp) }

// buildProgram builds the one program that the arguments name.
// -exec is taken out of the flags, because the program is not started by the go
// command; -C holds for the program, too, as with go run.
func buildProgram(e *env, p *goArgs) (*program, error) {
	pkg, args, err := splitPackage(p.verb, p.args.Rest())
	if err != nil {
		return nil, err
	}
	exec, _ := p.args.Flag("exec")
	wrapper, err := toolchain.SplitQuoted(exec)
	if err != nil {
		return nil, usageError("%s: -exec: %w", p.verb, err)
	}
	p.args.Remove("exec")
	if err := p.opts.CheckWarm(p.args, pkg); err != nil {
		return nil, usageError("%s: %w", p.verb, err)
	}
	dir, _ := p.args.Flag("C")
	b, err := p.newBuild(e)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	tmp, err := os.MkdirTemp("", "stemma-run")
	if err != nil {
		return nil, err
	}
	prog := &program{dir: dir, tmp: tmp}
	if err = prog.build(e, b, p, pkg); err == nil && p.opts.IsWarm() {
		err = p.warm(e, b, pkg, prog.exe)
	}
	if err == nil {
		prog.argv = append(append(wrapper, prog.exe), args...)
		return prog, nil
	}
	prog.Close()
	return nil, err
}

// splitPackage splits the arguments after the flags as go run does: the
// package is one argument, or all leading ones that name .go files.
func splitPackage(verb string, rest []string) (pkg, args []string, err error) {
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	n := 0
	for n < len(rest) && strings.HasSuffix(rest[n], ".go") {
		n++
	}
	if n == 0 && len(rest) > 0 {
		n = 1
	}
	if n == 0 {
		return nil, nil, usageError("%s: no package given; name a directory, .go files or an import path (see 'stemma help %s')", verb, verb)
	}
	return rest[:n], rest[n:], nil
}

// build runs the go command and finds out what the executable is called.
// What is built is known only afterwards: an import path with a major version, or
// a package of several files, has another name than its last element.
func (p *program) build(e *env, b *toolchain.Build, a *goArgs, pkg []string) error {
	flags := a.args.Words()
	if _, ok := a.args.Flag("buildvcs"); !ok {
		flags = append(flags, "-buildvcs=false") // as go run does
	}
	cmd := b.Command("build", append(append(flags, "-o", p.tmp+"/", "--"), pkg...)...)
	if strings.Contains(pkg[0], "@") {
		cmd = b.Command("install", append(append(flags, "--"), pkg...)...)
		cmd.Env = append(cmd.Env, "GOBIN="+p.tmp)
	}
	code, err := runProcess(e, cmd)
	if err != nil {
		return fmt.Errorf("go build: %w", err)
	}
	if code != exitOK {
		return exitCode(code)
	}
	files, err := os.ReadDir(p.tmp)
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return usageError("%s: %s: have %s, want one; name the directory of one command", a.verb, strings.Join(pkg, " "), plural(len(files), "program"))
	}
	p.name = files[0].Name()
	p.exe = filepath.Join(p.tmp, p.name)
	return nil
}

// The life of a record.
//
// run makes a directory, here rather than in the system's temporary one, which
// may be small and in memory, and names it to the program in STEMMA_OUT. The
// program and its instrumented children each make a live directory in it. When
// the program has ended its own is sealed into the profile and removed, with the
// outer one if nothing else is in it. If stemma is killed in between, what was
// recorded is in NAME.live-* and can be sealed by hand.

// A runRecord is what a run of a program has left.
// Who has sealed or compared it removes it.
type runRecord struct {
	base string // holds the live directories of the program and its children
	pid  int
	code int // exit code

	elapsed time.Duration // how long the program ran
	keep    bool          // the live directory holds what is not sealed
}

// run runs the program to its end.
// The program's own exit code is no error. STEMMA_OUT goes to its children, so that
// their records come to the same place.
func (p *program) run(e *env) (*runRecord, error) {
	base, err := liveBase(p.name)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "STEMMA_OUT="+base)
	if p.dir != "" {
		cmd.Env = append(cmd.Env, "PWD="+cmd.Dir)
	}
	begin := time.Now()
	code, err := runProcess(e, cmd)
	if err != nil {
		_ = os.Remove(base) // it is empty: nothing ran
		return nil, err
	}
	return &runRecord{base: base, pid: cmd.Process.Pid, code: code, elapsed: time.Since(begin)}, nil
}

// liveBase makes the directory for live directories: here, on the disk where the
// profile is going to be, or if that cannot be in the system's temporary one.
// The path is absolute: the program may run elsewhere, or change its directory.
func liveBase(name string) (string, error) {
	wd, err := os.Getwd()
	if err == nil {
		var base string
		if base, err = os.MkdirTemp(wd, name+".live-"); err == nil {
			return base, nil
		}
	}
	return os.MkdirTemp("", name+".live-")
}

// seal turns the program's live directory into the profile outFile and removes
// it. Live directories of other instrumented processes stay.
// The directory is removed only when the profile is complete. Children may still
// be running; their records are listed, and not touched.
func (r *runRecord) seal(e *env, outFile string) error {
	own, others, err := r.liveDirs()
	if err != nil {
		return err
	}
	if own == "" {
		if len(others) == 0 {
			_ = os.Remove(r.base)
		}
		err = errors.New("the program left no record: it did not start, could not write, or was not instrumented")
	} else if err = sealAndSummarize(e, own, outFile, r.elapsed); err != nil {
		return fmt.Errorf("%w; the record stays in %s", err, own)
	} else if r.keep {
		fmt.Fprintf(e.stderr, "stemma: the recorded calls are in the live directory; see 'stemma replay %s'\n", relative(own))
	} else if len(others) == 0 {
		err = os.RemoveAll(r.base)
	} else {
		err = os.RemoveAll(own)
	}
	if len(others) > 0 {
		fmt.Fprintf(e.stderr, "stemma: %s, of children or of what the program was before it replaced itself:\n", plural(len(others), "more record"))
		listDirs(e, others)
	}
	return err
}

// liveDirs returns the live directory of the program, and those of others.
// own is empty if the program left none. It is told by the process ID in its name: a
// wrapper that -exec names must replace itself by the program, unless there is one record
// only. A program that has replaced itself has left several; the last one is its own.
func (r *runRecord) liveDirs() (own string, others []string, err error) {
	dirs, err := os.ReadDir(r.base)
	if err != nil {
		return "", nil, err
	}
	mine := regexp.MustCompile(fmt.Sprintf(`\.%d-[0-9a-z]+$`, r.pid))
	last := time.Time{}
	for _, d := range dirs {
		dir := filepath.Join(r.base, d.Name())
		others = append(others, dir)
		if info, err := d.Info(); err == nil && mine.MatchString(d.Name()) && info.ModTime().After(last) {
			own, last = dir, info.ModTime()
		}
	}
	if own == "" && len(others) == 1 {
		own = others[0]
	}
	return own, slices.DeleteFunc(others, func(dir string) bool { return dir == own }), nil
}

// maxListed is how many live directories a message lists.
const maxListed = 10

// listDirs prints directories, relative to the current one where they are below it.
func listDirs(e *env, dirs []string) {
	for i, dir := range dirs {
		if i == maxListed {
			fmt.Fprintf(e.stderr, "\tand %d more\n", len(dirs)-i)
			return
		}
		fmt.Fprintf(e.stderr, "\t%s\n", relative(dir))
	}
}

// relative returns a path relative to the current directory if it is below that.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
