// Package settings finds all that GODEBUG can say to a Go release, and compares what a program does with each in two
// builds.
package settings

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/internal/record"
)

// tables are the variables of GOROOT that list settings.
var tables = []struct{ file, variable string }{
	{"src/runtime/runtime1.go", "dbgvars"},
	{"src/internal/godebugs/table.go", "All"},
	{"src/internal/godebugs/table.go", "Removed"},
}

// values are what is tried of settings beside their old values, 0 and 1.
var values = map[string][]string{
	"checkfinalizers":    {"1", "2"},
	"fips140":            {"on", "only", "debug"},
	"netdns":             {"go", "cgo", "go+2"},
	"profstackdepth":     {"1", "1000"},
	"scheddetail":        {"1,schedtrace=5"},
	"schedtrace":         {"5"},
	"traceadvanceperiod": {"1000000"},
}

// further are settings that no table has, and combinations.
var further = []string{
	"", "cpu.all=off", "cpu.avx2=off", "inittrace=1,checkfinalizers=1,traceallocfree=1", "gctrace=1,gccheckmark=1",
	"gcstoptheworld=1,clobberfree=1", "inittrace=1,sbrk=1", "no such setting", "=,==,",
}

// Find returns what is to be tried of the Go release in goroot.
func Find(goroot string) (list []string, err error) {
	for _, t := range tables {
		found, err := readTable(filepath.Join(goroot, t.file), t.variable)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	slices.Sort(list)
	return append(slices.Compact(list), further...), nil
}

// readTable returns the settings in a variable of a file: a list of structures, or of pointers to such.
func readTable(file, variable string) (list []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			if v.Names[0].Name != variable || len(v.Values) != 1 {
				continue
			}
			for _, e := range v.Values[0].(*ast.CompositeLit).Elts {
				list = append(list, settingsOf(e)...)
			}
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: no settings in %s", file, variable)
	}
	return list, nil
}

// settingsOf returns the settings of one entry of a table.
func settingsOf(entry ast.Expr) (list []string) {
	lit, ok := entry.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	fields := map[string]string{}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if text, ok := kv.Value.(*ast.BasicLit); ok && text.Kind == token.STRING {
			fields[strings.ToLower(kv.Key.(*ast.Ident).Name)], _ = strconv.Unquote(text.Value)
		}
	}
	name := fields["name"]
	try := values[name]
	if try == nil {
		try = []string{"0", "1"}
		if old := fields["old"]; old != "" && !slices.Contains(try, old) {
			try = append(try, old)
		}
	}
	for _, v := range try {
		list = append(list, name+"="+v)
	}
	return list
}

// Ends are how the program settings ends: what END is in its environment.
var Ends = []string{"", "panic", "fault", "exit"}

// A Run is what a run of the program was told, beside GODEBUG.
type Run struct {
	Setting, End string
	Traced       bool // an execution trace is taken
}

func (r Run) String() string {
	s := "GODEBUG=" + r.Setting
	if r.End != "" {
		s += " END=" + r.End
	}
	if r.Traced {
		s += " TRACED=1"
	}
	return s
}

// An outcome is what can be seen of a run.
type outcome struct {
	code   int
	stdout string
	kinds  map[string]bool // of lines on standard error
	stderr string
	dir    string // of the record
}

// limit is how long a run may take.
const limit = 20 * time.Second

// run runs the program with its record below out.
func run(exe, out string, r Run) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "STEMMA_") || strings.HasPrefix(v, "GO")
	}), "GODEBUG="+r.Setting, "END="+r.End, "STEMMA_OUT="+out, "GOTRACEBACK=all")
	if r.Traced {
		cmd.Env = append(cmd.Env, "TRACED=1")
	}
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, 10*time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		return o, err
	}
	o = outcome{cmd.ProcessState.ExitCode(), stdout.String(), kindsOf(stderr.String()), stderr.String(), ""}
	if ctx.Err() != nil {
		o.code = -2
	}
	dirs, _ := filepath.Glob(filepath.Join(out, fmt.Sprintf("*.%d-*", cmd.Process.Pid)))
	if len(dirs) > 0 {
		o.dir = dirs[0]
	}
	return o, nil
}

var (
	numbers = regexp.MustCompile(`(0x[0-9a-f]+|[0-9]+)`)
	tracing = regexp.MustCompile(`^(SCHED|scav|pacer:|GC forced|scvg|  [PMG]#:|  [PMG]#|\t|goroutine #|created by|\S+\()`)
)

// kindsOf returns the kinds of lines in text: the first word of each, without its numbers. Lines that depend on when a
// trace is printed, and stacks, are left out.
func kindsOf(text string) map[string]bool {
	kinds := map[string]bool{}
	for line := range strings.Lines(text) {
		line = numbers.ReplaceAllString(strings.TrimRight(line, "\n"), "#")
		if line == "" || tracing.MatchString(line) {
			continue
		}
		kinds[strings.Fields(line + " -")[0]] = true
	}
	return kinds
}

// tries is how often a run is made before it is said to differ: what a scheduler or a collector prints depends on
// what else the machine does.
const tries = 3

// Compare runs a plain and an instrumented build of the program. It returns what the instrumented one does that the
// plain one does not in the same run; out is a directory for records, which are read and removed.
func Compare(plain, instrumented, out string, r Run) error {
	var seen []outcome
	var differs error
	for range tries {
		o, err := run(plain, out, r)
		if err != nil {
			return err
		}
		seen = append(seen, o)
		have, err := run(instrumented, out, r)
		if err != nil {
			return err
		}
		if differs = errors.Join(have.differs(seen), have.readable(r)); differs == nil {
			return nil
		}
	}
	return fmt.Errorf("%v: %w", r, differs)
}

// differs compares an instrumented run with plain ones.
func (o outcome) differs(plain []outcome) error {
	first := plain[0]
	if first.broken() && o.code != 0 {
		return nil
	}
	if o.code != first.code {
		return fmt.Errorf("exit code %d, want %d\n%.2000s", o.code, first.code, o.stderr)
	}
	if !slices.ContainsFunc(plain, func(p outcome) bool { return p.stdout == o.stdout }) {
		return fmt.Errorf("it prints %q, want %q", o.stdout, first.stdout)
	}
	for kind := range o.kinds {
		if !slices.ContainsFunc(plain, func(p outcome) bool { return p.kinds[kind] }) {
			return fmt.Errorf("a line on standard error begins with %q, none in plain Go does\n%.2000s", kind, o.stderr)
		}
	}
	for kind := range first.kinds {
		if !o.kinds[kind] && !slices.ContainsFunc(plain, func(p outcome) bool { return !p.kinds[kind] }) {
			return fmt.Errorf("no line on standard error begins with %q, as in plain Go\n%.2000s", kind, o.stderr)
		}
	}
	return nil
}

// broken reports whether the runtime itself has failed, as plain Go's does with sbrk=1, in one way or another.
func (o outcome) broken() bool { return o.code == -2 || strings.Contains(o.stderr, "fatal error: ") }

// readable reads the record of a run, and removes it. A program whose END is empty has lost nothing.
func (o outcome) readable(r Run) error {
	if o.dir == "" {
		if o.code == 0 {
			return errors.New("no record")
		}
		return nil
	}
	defer os.RemoveAll(o.dir)
	p, err := record.Open(os.DirFS(o.dir))
	if err != nil {
		return err
	}
	if err := p.CheckValid(); err != nil {
		return err
	}
	if lost := p.Lost(); len(lost) > 0 && r.End == "" && o.code == 0 {
		return fmt.Errorf("lost %v", lost)
	}
	return nil
}
