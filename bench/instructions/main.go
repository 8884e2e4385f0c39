// Instructions holds operations, as -metrics=calls,ops counts them, against the instructions that the same program
// executes on several architectures, function by function, under an emulator. With -variant it counts how many
// instructions an engine adds. It needs qemu-user and a C compiler.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/program"
)

func main() {
	var o options
	flag.StringVar(&o.targets, "targets", "amd64,arm64,riscv64", "`ARCHITECTURES` to count instructions on")
	const own = "gopherlua,crypto,gofmt,esbuild,site,yaegi,staticcheck"
	flag.StringVar(&o.programs, "programs", "", "`NAMES` of the programs (default "+own+"; with -dir all)")
	flag.StringVar(&o.data, "data", "", "a `FILE` that keeps what was counted, and is read instead of counting again")
	flag.BoolVar(&o.recount, "recount", false, "count operations again, and keep the instructions in the file of -data")
	flag.StringVar(&o.write, "write", "", "write tables of costs for stemma report -cost to `DIRECTORY`")
	flag.Func("variant", "count what a `VARIANT` adds, as in -variant 'cct -inlined=off', and not operations; may be "+
		"given several times", func(s string) error {
		o.variants = append(o.variants, s)
		return nil
	})
	flag.StringVar(&o.dir, "dir", "", "take the programs in `DIRECTORY`, not bench's own, and estimate by the costs "+
		"that stemma report -cost has, and not by those of the other programs")
	flag.StringVar(&o.arch, "arch", runtime.GOARCH, "with -variant, the `ARCHITECTURE` to count on")
	flag.StringVar(&o.args, "args", "",
		"with -variant, `ARGUMENTS` of the programs instead of their own, as in -args '-n 1'")
	flag.Parse()
	if o.programs == "" && o.dir == "" {
		o.programs = own
	}
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "instructions:", err)
		os.Exit(1)
	}
}

type options struct {
	targets, programs, data, write, dir, arch, args string
	variants                                        []string
	recount                                         bool
}

// A counted program has what was counted of it.
type counted struct {
	Name string
	// Ops has for each function, by its symbol, how many operations of each class it has executed. A class may be below
	// 0: counters tell apart families, and not always classes of one.
	Ops map[string][]int64
	// Calls has for each function that is not instrumented how often it was called.
	Calls map[string]uint64
	// Compiled has for each architecture and function how many instructions the operations are by a file of stemma
	// costs; not those of a function that is other code there.
	Compiled map[string]map[string]float64
	// Calibrates tells that the program is there for the costs only.
	Calibrates bool
	// Instructions has for each architecture and function how many it has executed.
	Instructions map[string]map[string]uint64
}

func (o options) run() error {
	if len(o.variants) > 0 {
		return o.overhead()
	}
	var all []counted
	if b, err := os.ReadFile(o.data); err == nil {
		if err := json.Unmarshal(b, &all); err != nil {
			return fmt.Errorf("%s: %w", o.data, err)
		}
	} else if o.data != "" && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	all, err := o.count(all)
	if err != nil {
		return err
	}
	targets := strings.Split(o.targets, ",")
	if o.dir != "" {
		return report(all, targets, shipped)
	}
	others := func(i int, arch string) (costs, error) { return without(all, i, arch), nil }
	if err := report(all, targets, others); err != nil {
		return err
	}
	if err := costTable(all, targets).Text(os.Stdout); err != nil || o.write == "" {
		return err
	}
	return writeCosts(all, targets, o.write)
}

// count builds and runs all programs but those that were counted before.
func (o options) count(all []counted) ([]counted, error) {
	if !o.recount && o.dir == "" && len(o.left(all)) == 0 {
		return all, nil
	}
	l, err := lab.Open("instructions")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	c := &counting{work: l.Work, stemma: l.Stemma, targets: strings.Split(o.targets, ",")}
	if c.plugin, err = buildCounter(l.Work); err != nil {
		return nil, err
	}
	calibrating := filepath.Join(l.Tree.Bench, "instructions", "calibrating")
	dirs := []string{"", calibrating}
	if o.dir != "" {
		dirs = []string{o.dir}
	}
	for _, dir := range dirs {
		var names []string
		if dir != calibrating {
			names = lab.Names(o.programs)
		}
		programs, err := l.Programs(dir, names)
		if err != nil {
			return nil, err
		}
		for _, p := range programs {
			if all, err = o.add(all, c, p, dir == calibrating); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
		}
	}
	return all, nil
}

// left returns the programs that are not counted.
func (o options) left(all []counted) (names []string) {
	for _, name := range append(strings.Split(o.programs, ","), "std") {
		if !slices.ContainsFunc(all, func(c counted) bool { return c.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// add counts a program, as far as that is not done, and keeps it in the file of data.
func (o options) add(all []counted, c *counting, p *program.Program, calibrates bool) ([]counted, error) {
	at := slices.IndexFunc(all, func(one counted) bool { return one.Name == p.Name })
	if at < 0 {
		at = len(all)
		all = append(all, counted{Name: p.Name})
	} else if !o.recount {
		return all, nil
	}
	fmt.Fprintln(os.Stderr, "instructions: counting", p.Name)
	if err := c.program(p, &all[at]); err != nil {
		return nil, err
	}
	all[at].Calibrates = calibrates
	if o.data == "" {
		return all, nil
	}
	b, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return all, os.WriteFile(o.data, b, 0o644)
}

// counting is what all programs share.
type counting struct {
	work, plugin, stemma string
	targets              []string
}

// program builds and runs one program. Instructions that are there stay.
func (c *counting) program(p *program.Program, one *counted) (err error) {
	dir := filepath.Join(c.work, p.Name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := p.SetUp(dir); err != nil {
		return err
	}
	prof, err := c.operations(p, dir)
	if err != nil {
		return err
	}
	one.Ops, one.Calls = operationsOf(prof)
	one.Compiled = map[string]map[string]float64{}
	for _, arch := range c.targets {
		if one.Compiled[arch], err = c.compiled(p, dir, arch, prof); err != nil {
			return err
		}
	}
	if one.Instructions != nil {
		return nil
	}
	one.Instructions = map[string]map[string]uint64{}
	for _, arch := range c.targets {
		exe := filepath.Join(dir, arch)
		build := exec.Command("go", "build", "-o", exe, p.Package)
		build.Dir = p.Dir
		build.Env = append(os.Environ(), "GOARCH="+arch, "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(build.Args, " "), err, out)
		}
		r := run{plugin: c.plugin, arch: arch, exe: exe, dir: dir, program: p}
		if one.Instructions[arch], err = r.instructions(); err != nil {
			return err
		}
	}
	return nil
}

// runs runs a command that is a run of p, and fails if p says that it has.
func runs(p *program.Program, dir string, cmd *exec.Cmd) error {
	cmd.Dir = p.Dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return err
	}
	if _, err := p.Checksum(program.Output{Stdout: out, ExitCode: cmd.ProcessState.ExitCode(), Dir: dir}); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return nil
}
