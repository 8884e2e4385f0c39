// Thirdparty runs the tests of modules of the wild in plain Go and with each engine of
// stemma, and compares test by test what passes.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/suite"
)

//go:embed modules.txt
var modulesText string

//go:embed exceptions.txt
var exceptionsText string

// options is what the command line says.
type options struct {
	engines []string
	long    bool
	check   bool // compare contexts with stack walks
	keep    bool
	timeout time.Duration
	stemma  string
	names   []string // parts of modules' names; none for all modules
}

func main() {
	o, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "thirdparty:", err)
		os.Exit(2)
	}
	ok, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "thirdparty:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

func parseFlags(args []string) (*options, error) {
	o := new(options)
	fs := flag.NewFlagSet("thirdparty", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprintln(fs.Output(),
			"usage: go run ./thirdparty [flags] [part of a module's name...]\n\nWithout names, all modules of "+
				"modules.txt.")
		fs.PrintDefaults()
	}
	engines := fs.String("engines", "cct,dacce,lucce,pcce,sample", "`engines`, separated by commas")
	fs.BoolVar(&o.check, "verify", false,
		"compare the contexts in ten of the modules, or those that are named, with stack walks")
	fs.BoolVar(&o.long, "long", false, "do not pass -short to the tests")
	fs.BoolVar(&o.keep, "keep", false, "keep the copies of the modules, and say where they are")
	fs.DurationVar(&o.timeout, "timeout", 5*time.Minute, "longest `duration` of the tests of a package")
	fs.StringVar(&o.stemma, "stemma", "", "stemma `command` (default: built from the directory above)")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	o.engines, o.names = strings.Split(*engines, ","), fs.Args()
	return o, nil
}

// run reports whether all tests pass that pass in plain Go, but for known exceptions.
func run(o *options) (ok bool, err error) {
	known, err := suite.ParseExceptions(exceptionsText)
	if err != nil {
		return false, err
	}
	modules, err := parseModules(modulesText)
	if err != nil {
		return false, err
	}
	modules = slices.DeleteFunc(modules, func(m *module) bool { return !o.wants(m) })
	if len(modules) == 0 {
		return false, fmt.Errorf("no module of modules.txt has a name with %s in it", strings.Join(o.names, " or "))
	}
	work, err := os.MkdirTemp("", "stemma-thirdparty-")
	if err != nil {
		return false, err
	}
	if o.keep {
		fmt.Fprintln(os.Stderr, "modules are copied to", work)
	} else {
		defer os.RemoveAll(work)
	}
	l, err := lab.In(work, o.stemma)
	if err != nil {
		return false, err
	}
	o.stemma = l.Stemma
	machine.Describe(l.Tree).Print()
	if o.check {
		return o.verify(o.verified(modules), work)
	}
	t := suite.Tester{Stemma: o.stemma, Work: work, Known: known, Timeout: o.timeout, Short: !o.long, Compare: true,
		Release: version.Lang(l.Tree.GoVersion)}
	ok = true
	for i, m := range modules {
		r, err := o.try(t, m, filepath.Join(work, fmt.Sprint("module", i), m.path)) // golden stacks have the path
		if err != nil {
			return false, fmt.Errorf("%s: %w", m.name(), err)
		}
		if len(r) > 0 {
			ok = suite.NewReport(r).OK() && ok
		}
	}
	return ok, nil
}

// wants reports whether a module was asked for.
func (o *options) wants(m *module) bool {
	return len(o.names) == 0 ||
		slices.ContainsFunc(o.names, func(name string) bool { return strings.Contains(m.name(), name) })
}

// try tests one module with all engines. It prints a line for each, and what should have
// passed.
func (o *options) try(t suite.Tester, m *module, dir string) (all []*suite.Result, err error) {
	if err := lab.FetchModule(m.path, m.version, dir); err != nil {
		return nil, err
	}
	t.Dir, t.Flags = dir, m.flags
	t.Env = append([]string{"GOFLAGS=-mod=mod", "GOWORK=off"}, m.env...) // go.sum may lack what tests need
	packages, err := suite.List(dir, t.Env, m.packages)
	if err != nil {
		return nil, err
	}
	for _, engine := range o.engines {
		t.Build = []string{"-engine=" + engine}
		var results []*suite.Result
		for _, p := range packages {
			results = append(results, t.Test(p))
		}
		r := suite.NewReport(results)
		fmt.Printf("%-7s %-45s %s\n", engine, m.name()+"@"+m.version, r.Summary())
		fmt.Print(r.Failures())
		all = append(all, results...)
	}
	return all, nil
}
