// Settings runs a program with each setting of GODEBUG, built plainly and with each engine and metric, and reports
// where the builds behave differently.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/testing/e2e/settings"
)

type options struct {
	builds  []string
	workers int
	short   bool
}

func main() {
	var o options
	flag.Func("build", "try a `BUILD` only, as in -build='-engine=dacce -events=alloc'; may be repeated",
		func(s string) error {
			o.builds = append(o.builds, s)
			return nil
		})
	flag.IntVar(&o.workers, "p", runtime.GOMAXPROCS(0), "`runs` at once")
	flag.BoolVar(&o.short, "short", false, "only runs that end well, without execution traces")
	flag.Parse()
	different, err := o.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "settings:", err)
		os.Exit(2)
	}
	if different > 0 {
		os.Exit(1)
	}
}

// allBuilds returns the flags of a build with each engine, and with each metric and all of them.
func allBuilds() (list []string) {
	for _, e := range engine.List {
		if e.Gives != 0 {
			list = append(list, "-engine="+e.Name)
		}
	}
	names := engine.MetricNames()
	for _, name := range names[1:] {
		list = append(list, "-metrics=calls,"+name)
	}
	const events = " -events=alloc,block,go,panic,error"
	return append(list, "-metrics="+strings.Join(names, ","), "-engine=dacce"+events, "-engine=lucce"+events,
		"-engine=sample -every=100us", "-verify")
}

// runs returns what the program is told.
func (o options) runs(list []string) (runs []settings.Run) {
	for _, s := range list {
		for _, end := range settings.Ends {
			if end == "" || !o.short {
				runs = append(runs, settings.Run{Setting: s, End: end})
			}
		}
		if !o.short {
			runs = append(runs, settings.Run{Setting: s, Traced: true})
		}
	}
	return runs
}

// run returns how many runs differ.
func (o options) run() (different int, err error) {
	l, err := lab.Open("settings")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	list, err := settings.Find(l.Tree.GOROOT)
	if err != nil {
		return 0, err
	}
	program := filepath.Join(filepath.Dir(l.Tree.Bench), "internal/testing/e2e/testdata/programs/settings")
	build := func(exe string, words ...string) error {
		cmd := exec.Command(words[0], append(words[1:], "-o", exe, ".")...)
		cmd.Dir = program
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
		}
		return nil
	}
	plain := filepath.Join(l.Work, "plain")
	if err := build(plain, "go", "build"); err != nil {
		return 0, err
	}
	if o.builds == nil {
		o.builds = allBuilds()
	}
	machine.Describe(l.Tree).Print()
	for i, flags := range o.builds {
		exe := filepath.Join(l.Work, fmt.Sprint("build", i), "settings")
		if err := build(exe, slices.Concat([]string{l.Stemma, "build"}, strings.Fields(flags))...); err != nil {
			return different, err
		}
		begin, runs := time.Now(), o.runs(list)
		errs := compareAll(plain, exe, filepath.Join(l.Work, "out"), runs, o.workers)
		different += len(errs)
		fmt.Printf("%-50s %d settings, %d runs, %d differ (%.0f s)\n", flags, len(list), len(runs), len(errs),
			time.Since(begin).Seconds())
		for _, err := range errs {
			fmt.Println("   ", err)
		}
	}
	return different, nil
}

// compareAll returns how runs of the two executables differ.
func compareAll(plain, exe, out string, runs []settings.Run, workers int) (errs []error) {
	all := make([]error, len(runs))
	next := make(chan int)
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for i := range next {
				all[i] = settings.Compare(plain, exe, out, runs[i])
			}
		})
	}
	for i := range runs {
		next <- i
	}
	close(next)
	done.Wait()
	return slices.DeleteFunc(all, func(err error) bool { return err == nil })
}
