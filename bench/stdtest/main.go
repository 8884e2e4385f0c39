// Stdtest runs the tests of the standard library with stemma and compares what
// fails with a list of known exceptions.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"go/version"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/suite"
)

//go:embed exceptions.txt
var exceptionsText string

// options is what the command line says.
type options struct {
	workers  int
	short    bool
	all      bool
	timeout  time.Duration
	stemma   string
	arch     string
	build    []string // flags of stemma test
	packages []string
}

func main() {
	o, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "stdtest:", err)
		os.Exit(2)
	}
	ok, err := run(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stdtest:", err)
	}
	if !ok || err != nil {
		os.Exit(1)
	}
}

func parseFlags(args []string) (*options, error) {
	o := new(options)
	fs := flag.NewFlagSet("stdtest", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprintln(fs.Output(), "usage: go run ./stdtest [flags] [packages]\n\nPackages are std if there are none.")
		fs.PrintDefaults()
	}
	fs.IntVar(&o.workers, "p", runtime.GOMAXPROCS(0), "`packages` that are tested at once")
	fs.BoolVar(&o.short, "short", false, "pass -short to the tests")
	fs.BoolVar(&o.all, "all", false, "also run the packages and tests that are listed as not to be run")
	fs.DurationVar(&o.timeout, "timeout", 20*time.Minute, "longest `duration` of the tests of a package")
	fs.StringVar(&o.stemma, "stemma", "", "stemma `command` (default: built from the directory above)")
	fs.StringVar(&o.arch, "arch", runtime.GOARCH,
		"build the tests for this `ARCHITECTURE`, without cgo, and run them in QEMU's emulator of user space")
	fs.Func("build", "`flag` of stemma test, as in -build=-recursion=full; may be repeated", func(s string) error {
		o.build = append(o.build, s)
		return nil
	})
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if o.workers < 1 {
		return nil, fmt.Errorf("-p: have %d, want at least 1", o.workers)
	}
	o.packages = fs.Args()
	if len(o.packages) == 0 {
		o.packages = []string{"std"}
	}
	return o, nil
}

// run reports whether all failures are known.
func run(o *options) (ok bool, err error) {
	known, err := suite.ParseExceptions(exceptionsText)
	if err != nil {
		return false, err
	}
	work, err := os.MkdirTemp("", "stemma-stdtest-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	l, err := lab.In(work, o.stemma)
	if err != nil {
		return false, err
	}
	flags, err := machine.Target(o.arch)
	if err != nil {
		return false, err
	}
	t := &suite.Tester{Known: known, Work: work, Stemma: l.Stemma, Release: version.Lang(l.Tree.GoVersion),
		Flags: flags, Build: o.build, Timeout: o.timeout, Short: o.short, All: o.all}
	packages, err := suite.List("", nil, o.packages)
	if err != nil {
		return false, err
	}
	machine.Describe(l.Tree).Print()
	r := suite.NewReport(testAll(t, o.workers, packages))
	fmt.Print(r.Text(known))
	return r.OK(), nil
}

// testAll tests packages, several at once, and returns what came out in their
// order.
func testAll(t *suite.Tester, workers int, packages []string) []*suite.Result {
	results := make([]*suite.Result, len(packages))
	next := make(chan int)
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for i := range next {
				results[i] = t.Test(packages[i])
				fmt.Fprintf(os.Stderr, "%s %d/%d %s: %s\n", time.Now().Format("15:04:05"), i+1, len(packages),
					packages[i], results[i].Outcome())
			}
		})
	}
	for i := range packages {
		next <- i
	}
	close(next)
	done.Wait()
	return results
}
