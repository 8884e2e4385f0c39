// Entries counts, under an emulator, how often each function of a program is entered, and holds that against the
// program's own record of the same run. It needs qemu-user and a C compiler.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/profile"
)

// plugin is the source of a plugin for QEMU that counts entries and calls.
//
//go:embed plugin/entries.c
var plugin []byte

// emulator runs programs.
const emulator = "qemu-x86_64"

// A program is what is run. Arguments make it short: it takes about thirty times as long as on the processor.
type program struct {
	name, pkg string
	dir       string // below bench
	args      []string
}

var programs = []program{
	{"gopherlua", ".", "programs/gopherlua", []string{"-n=1"}},
	{"gofmt", "cmd/gofmt", ".", []string{"-l", "GOROOT/src/go/printer", "GOROOT/src/net/http/cookie.go"}},
	{"defers", "./defers", "../internal/testing/e2e/testdata/programs", nil},
	{"goroutines", "./goroutines", "../internal/testing/e2e/testdata/programs", nil},
	{"calls", "./calls", "../internal/testing/e2e/testdata/programs", nil},
	{"asm", "./asm", "../internal/testing/e2e/testdata/programs", nil},
}

func main() {
	short := flag.Bool("short", false, "the small programs only")
	keep := flag.String("o", "", "keep builds and counts in `DIRECTORY`")
	reuse := flag.Bool("reuse", false, "with -o, build and run nothing: compare what is there")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./entries [flags] [programs]")
		flag.PrintDefaults()
	}
	flag.Parse()
	different, err := run(*short, *reuse, *keep, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "entries:", err)
		os.Exit(2)
	}
	if different > 0 {
		os.Exit(1)
	}
}

// run returns how many functions differ.
func run(short, reuse bool, keep string, names []string) (different int, err error) {
	if _, err := exec.LookPath(emulator); err != nil {
		return 0, fmt.Errorf("%w; install qemu-user", err)
	}
	var l *lab.Lab
	if keep == "" {
		l, err = lab.Open("entries")
	} else if err = os.MkdirAll(keep, 0o777); err == nil {
		l, err = lab.In(keep, "")
	}
	if err != nil {
		return 0, err
	}
	defer l.Close()
	if err := buildPlugin(l.Work); err != nil {
		return 0, err
	}
	machine.Describe(l.Tree).Print()
	for _, p := range programs {
		if len(names) > 0 && !slices.Contains(names, p.name) || short && strings.HasPrefix(p.dir, "programs") {
			continue
		}
		n, err := p.compare(l, reuse)
		if err != nil {
			return different, fmt.Errorf("%s: %w", p.name, err)
		}
		different += n
	}
	return different, nil
}

// buildPlugin compiles the plugin.
func buildPlugin(dir string) error {
	source := filepath.Join(dir, "entries.c")
	if err := os.WriteFile(source, plugin, 0o644); err != nil {
		return err
	}
	cmd := exec.Command("cc", "-O2", "-shared", "-fPIC", "-o", filepath.Join(dir, "entries.so"), source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cc: %w\n%s", err, out)
	}
	return nil
}

// compare builds and runs the program, prints what differs and returns how many functions do. Nothing is inlined, so
// that each call enters a function; one P runs Go code, which is not preempted: the plugin's counters are not atomic.
func (p program) compare(l *lab.Lab, reuse bool) (different int, err error) {
	dir := filepath.Join(l.Work, p.name)
	exe, live, list, out := filepath.Join(dir, p.name), filepath.Join(dir, "live"), filepath.Join(dir, "entries"),
		filepath.Join(dir, "counts")
	if reuse {
		return p.hold(exe, live, out)
	}
	if err := os.RemoveAll(live); err != nil {
		return 0, err
	}
	build := exec.Command(l.Stemma, "build", "-gcflags=all=-l", "-o", exe, p.pkg)
	build.Dir = filepath.Join(l.Tree.Bench, p.dir)
	if text, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(build.Args, " "), err, text)
	}
	c, err := readCode(exe)
	if err != nil {
		return 0, err
	}
	if err := c.writeEntries(list); err != nil {
		return 0, err
	}
	args := []string{"-cpu", "max", "-plugin", fmt.Sprintf("%s,lo=%x,hi=%x,entries=%s,out=%s",
		filepath.Join(l.Work, "entries.so"), c.lo, c.hi, list, out), exe}
	for _, a := range p.args {
		args = append(args, strings.ReplaceAll(a, "GOROOT", l.Tree.GOROOT))
	}
	cmd := exec.Command(emulator, args...)
	cmd.Dir = build.Dir
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", "STEMMA_OUT="+live)
	if text, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%.2000s", strings.Join(cmd.Args, " "), err, text)
	}
	return p.hold(exe, live, out)
}

// hold holds what the plugin has written against the record.
func (p program) hold(exe, live, out string) (different int, err error) {
	c, err := readCode(exe)
	if err != nil {
		return 0, err
	}
	seen, err := readCounts(out, c)
	if err != nil {
		return 0, err
	}
	recorded, err := readRecord(live, c)
	if err != nil {
		return 0, err
	}
	return report(p.name, seen, recorded), nil
}

// readRecord returns what the one record below dir has.
func readRecord(dir string, c *code) (*counts, error) {
	dirs, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(dirs) != 1 {
		return nil, fmt.Errorf("%s: have %d records, want 1", dir, len(dirs))
	}
	r, err := record.Open(os.DirFS(dirs[0]))
	if err != nil {
		return nil, err
	}
	p := r.Profile
	if lost := p.Lost(); len(lost) > 0 {
		return nil, fmt.Errorf("%s: lost %v", dirs[0], lost)
	}
	column := p.Column(profile.Calls.Name)
	have := newCounts()
	natives := map[string]bool{}
	for _, f := range c.functions {
		natives[f.name] = natives[f.name] || !f.counts
	}
	for _, n := range p.Nodes {
		f := &p.Funcs[n.Func]
		if f.Kind != profile.FuncOrdinary {
			continue
		}
		have.entries[p.Strings[f.Name]] += column.Values[n.First]
		for _, s := range f.Sites {
			// What turns out to count itself, as a function that another package links to may, is no native.
			if callee := p.Strings[s.Callee]; s.Counter != profile.None && natives[callee] {
				to := have.natives
				if callee == p.Strings[f.Name] {
					to = have.standIns
				}
				to[callee] += column.Values[n.First+uint32(s.Counter)]
			}
		}
	}
	return have, nil
}

// report prints where two counts differ, and returns in how many functions.
func report(name string, seen, recorded *counts) (different int) {
	var lines []string
	passed := seen.passed
	for f := range seen.standIns {
		if _, ok := recorded.standIns[f]; !ok {
			delete(seen.standIns, f)
		}
	}
	compare := func(what string, seen, recorded map[string]uint64) (same int, calls uint64) {
		all := maps.Clone(seen)
		maps.Copy(all, recorded)
		for _, f := range slices.Sorted(maps.Keys(all)) {
			if recorded[f] == 0 && what == "native" && passed[f] {
				continue
			}
			if seen[f] == recorded[f] {
				if seen[f] > 0 {
					same++
				}
				calls += seen[f]
				continue
			}
			different++
			lines = append(lines, fmt.Sprintf("   %s %s: %d in the record, %d executed", what, f, recorded[f], seen[f]))
		}
		return same, calls
	}
	functions, entries := compare("function", seen.entries, recorded.entries)
	natives, calls := compare("native", seen.natives, recorded.natives)
	values, through := compare("value of", seen.standIns, recorded.standIns)
	fmt.Printf("%-12s %d functions with %d entries, %d natives with %d calls: the same; %d differ\n", name, functions,
		entries, natives+values, calls+through, different)
	for _, l := range lines {
		fmt.Println(l)
	}
	return different
}
