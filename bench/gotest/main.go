// Gotest runs Go's own tests of the compiler and the runtime, those in the directory test of a Go tree and those of
// cgo, built plainly and instrumented, and reports which behave differently.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/suite"
)

//go:embed exceptions.txt
var exceptionsText string

// A build is a way to instrument a program.
type build struct {
	name  string
	flags []string // of stemma build
	env   []string // of runs
}

// builds are what is tried. With maymorestack each function calls the runtime before it checks its stack, which is
// moved each time, or which makes the goroutine yield.
var builds = []build{
	{"cct", []string{"-engine=cct"}, nil},
	{"dacce", []string{"-engine=dacce"}, []string{"STEMMA_REENCODE_US=1000"}},
	{"sample", []string{"-engine=sample", "-every=100us"}, nil},
	{"cct+move", []string{"-engine=cct", "-gcflags=all=-d=maymorestack=runtime.mayMoreStackMove"}, nil},
	{"dacce+move", []string{"-engine=dacce", "-gcflags=all=-d=maymorestack=runtime.mayMoreStackMove"}, nil},
	{"sample+move", []string{"-engine=sample", "-gcflags=all=-d=maymorestack=runtime.mayMoreStackMove"}, nil},
	{"cct+yield", []string{"-engine=cct", "-gcflags=all=-d=maymorestack=runtime.mayMoreStackPreempt"}, nil},
	{"dacce+yield", []string{"-engine=dacce", "-gcflags=all=-d=maymorestack=runtime.mayMoreStackPreempt"}, nil},
}

// cgoTests are packages of cgo's tests. The others build programs themselves, by a go command that knows nothing of
// stemma, or of kinds that stemma refuses.
var cgoTests = []string{"cmd/cgo/internal/test", "cmd/cgo/internal/testnocgo", "cmd/cgo/internal/testtls"}

type options struct {
	dir     string
	builds  []string
	only    string
	step    int
	workers int
	short   bool
	check   bool // compare contexts with stack walks
	timeout time.Duration
	names   []string // of tests
}

func main() {
	var o options
	builtNames := make([]string, len(builds))
	for i, b := range builds {
		builtNames[i] = b.name
	}
	list := flag.String("builds", strings.Join(builtNames, ","), "`BUILDS` to try")
	flag.StringVar(&o.dir, "dir", "", "the `directory` test of a Go tree (default: that of GOROOT)")
	flag.StringVar(&o.only, "only", "", "`files` or cgo")
	flag.IntVar(&o.step, "step", 1, "every `N`-th file only")
	flag.IntVar(&o.workers, "p", runtime.GOMAXPROCS(0), "`files` that are tried at once")
	flag.BoolVar(&o.short, "short", false, "every fiftieth file, and tests of cgo with -short")
	flag.BoolVar(&o.check, "verify", false,
		"compare contexts with stack walks at each function entry, and samples with full stack walks")
	flag.DurationVar(&o.timeout, "timeout", time.Minute, "longest `duration` of a program")
	flag.Parse()
	o.builds, o.names = strings.Split(*list, ","), flag.Args()
	if o.short && o.step == 1 {
		o.step = 50
	}
	ok, err := o.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run reports whether nothing behaves differently but what exceptions.txt has.
func (o options) run() (ok bool, err error) {
	known, err := suite.ParseExceptions(exceptionsText)
	if err != nil {
		return false, err
	}
	l, err := lab.Open("gotest")
	if err != nil {
		return false, err
	}
	defer l.Close()
	machine.Describe(l.Tree).Print()
	ok = true
	if o.check {
		return o.verify(l)
	}
	if o.only != "cgo" {
		if ok, err = o.files(l, known); err != nil {
			return false, err
		}
	}
	if o.only != "files" && len(o.names) == 0 {
		ok = o.cgo(l, known) && ok
	}
	return ok, nil
}

// testDir returns the directory of Go's tests.
func (o options) testDir(tree machine.Tree) (string, error) {
	dir := o.dir
	if dir == "" {
		dir = filepath.Join(tree.GOROOT, "test")
	}
	_, err := os.Stat(filepath.Join(dir, "fixedbugs"))
	if errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("%s: have no tests of Go there, want the directory test of a Go tree, as downloads from "+
			"go.dev/dl have it; packages of Linux distributions and what GOTOOLCHAIN downloads come without: name "+
			"another one by -dir, that of a near release will do", dir)
	}
	return filepath.Abs(dir)
}

// choose returns the tests in the directory that are to be tried.
func (o options) choose(tree machine.Tree) (chosen []*testCase, err error) {
	dir, err := o.testDir(tree)
	if err != nil {
		return nil, err
	}
	cases, err := findCases(dir)
	if err != nil {
		return nil, err
	}
	for i, c := range cases {
		if len(o.names) > 0 && slices.Contains(o.names, c.name) || len(o.names) == 0 && i%o.step == 0 {
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

// tester returns what tries tests with the builds that were asked for.
func (o options) tester(l *lab.Lab) *tester {
	t := &tester{stemma: l.Stemma, timeout: o.timeout}
	for _, b := range builds {
		if slices.Contains(o.builds, b.name) {
			t.builds = append(t.builds, b)
		}
	}
	return t
}

// each calls try for each test, in a directory that it makes and removes, several at once.
func (o options) each(l *lab.Lab, chosen []*testCase, try func(i int, work string) (outcome string)) {
	next := make(chan int)
	var done sync.WaitGroup
	for w := range o.workers {
		done.Go(func() {
			for i := range next {
				outcome := try(i, filepath.Join(l.Work, fmt.Sprint("worker", w)))
				fmt.Fprintf(os.Stderr, "%s %d/%d %s: %s\n", time.Now().Format("15:04:05"), i+1, len(chosen),
					chosen[i].name, outcome)
			}
		})
	}
	for i := range chosen {
		next <- i
	}
	close(next)
	done.Wait()
}

// files tries the tests in the directory.
func (o options) files(l *lab.Lab, known suite.Exceptions) (ok bool, err error) {
	chosen, err := o.choose(l.Tree)
	if err != nil {
		return false, err
	}
	t := o.tester(l)
	results := make([]*result, len(chosen))
	o.each(l, chosen, func(i int, work string) string {
		results[i] = t.try(chosen[i], work)
		return results[i].outcome()
	})
	return report(results, t.builds, known), nil
}

// report prints the results, and reports whether no test behaves differently but those that are known.
func report(results []*result, builds []build, known suite.Exceptions) (ok bool) {
	ok = true
	unbuilt := 0
	for _, r := range results {
		if r.unusable != "" {
			unbuilt++
			fmt.Printf("left out: %s: %s\n", r.name, r.unusable)
		}
	}
	fmt.Printf("%d tests, %d left out\n", len(results), unbuilt)
	for _, b := range builds {
		same, listed, different, slow := 0, 0, 0, 0
		for _, r := range results {
			how, differs := r.different[b.name]
			switch reason := known[r.name]; {
			case r.unusable != "":
			case r.endless[b.name]:
				slow++
				fmt.Printf("left out: %s: %s: %s\n", b.name, r.name, endless)
			case !differs:
				same++
			case reason != "" && (reason[0] != '-' || slices.Contains(b.flags, strings.SplitN(reason, ":", 2)[0])):
				listed++
				fmt.Printf("known: %s: %s: %s\n", b.name, r.name, reason)
			default:
				different++
				fmt.Printf("DIFFERENT: %s: %s: %s\n", b.name, r.name, how)
			}
		}
		ok = ok && different == 0
		fmt.Printf("%-12s %d the same, %d do not end in plain Go either, %d known exceptions, %d different\n",
			b.name, same, slow, listed, different)
	}
	return ok
}

// cgo runs cgo's tests with each build, and reports whether all pass that pass in plain Go.
func (o options) cgo(l *lab.Lab, known suite.Exceptions) (ok bool) {
	ok = true
	for _, b := range builds {
		if !slices.Contains(o.builds, b.name) {
			continue
		}
		t := &suite.Tester{Known: known, Work: l.Work, Stemma: l.Stemma, Release: version.Lang(l.Tree.GoVersion),
			Env: b.env, Build: b.flags, Timeout: 10 * o.timeout, Short: o.short, Compare: true}
		var results []*suite.Result
		for _, pkg := range cgoTests {
			results = append(results, t.Test(pkg))
		}
		r := suite.NewReport(results)
		fmt.Printf("cgo, %s: %s%s\n", b.name, r.Summary(), r.Failures())
		ok = ok && r.OK()
	}
	return ok
}
