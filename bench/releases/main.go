// Releases tries stemma with each Go release that it claims to support, or with those
// that are named: stemma must build with it, every hook must find its place, the compiler
// and programs must build, and what each engine records must agree with stack walks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
)

func main() {
	ok, err := run(os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "releases:", err)
		os.Exit(2)
	}
	if !ok && err == nil {
		os.Exit(1)
	}
}

// A tester tries releases.
type tester struct {
	tree     machine.Tree
	stemma   string // built with this Go, and then with the release that is tried
	programs string // a copy of the programs of internal/testing/e2e
	out      io.Writer
	short    bool
	failed   []string
}

// repo is the directory above bench.
func (t *tester) repo() string { return filepath.Dir(t.tree.Bench) }

// run reports whether all releases work.
func run(args []string, out io.Writer) (ok bool, err error) {
	t := &tester{out: out}
	fs := flag.NewFlagSet("releases", flag.ContinueOnError)
	fs.Usage = func() {
		fmt.Fprintln(fs.Output(),
			"usage: go run ./releases [-short] [go1.N.M...]\n\nWithout names, all releases that stemma supports. "+
				"GOTOOLCHAIN downloads them.")
		fs.PrintDefaults()
	}
	fs.BoolVar(&t.short, "short", false, "engine cct only, and no tests")
	if err := fs.Parse(args); err != nil {
		return false, err
	}
	l, err := lab.Open("stemma-releases")
	if err != nil {
		return false, err
	}
	defer l.Close()
	t.tree, t.stemma, t.programs = l.Tree, l.Stemma, filepath.Join(l.Work, "programs")
	if err := os.CopyFS(t.programs, os.DirFS(filepath.Join(t.repo(),
		"internal/testing/e2e/testdata/programs"))); err != nil {
		return false, err
	}
	releases := fs.Args()
	if len(releases) == 0 {
		if releases, err = t.supported(); err != nil {
			return false, err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for _, r := range releases {
		t.try(ctx, r)
	}
	fmt.Fprintf(out, "%d of %d releases failed %s\n", len(t.failed), len(releases), strings.Join(t.failed, " "))
	return len(t.failed) == 0, ctx.Err()
}

// supported returns the releases that stemma claims to support.
func (t *tester) supported() ([]string, error) {
	out, err := exec.Command(t.stemma, "version").Output()
	if err != nil {
		return nil, fmt.Errorf("stemma version: %w", err)
	}
	return releasesIn(string(out))
}

var supportsPattern = regexp.MustCompile(`(?m)^supports (.*)$`)

// rangePattern matches a release, or a range of patch releases.
var rangePattern = regexp.MustCompile(`(go1\.\d+\.)(\d+)(?: to go1\.\d+\.(\d+))?`)

// releasesIn returns all releases of the ranges in what stemma version prints.
func releasesIn(text string) (list []string, err error) {
	for _, m := range rangePattern.FindAllStringSubmatch(supportsPattern.FindString(text), -1) {
		first, _ := strconv.Atoi(m[2])
		last := first
		if m[3] != "" {
			last, _ = strconv.Atoi(m[3])
		}
		for i := first; i <= last; i++ {
			list = append(list, fmt.Sprint(m[1], i))
		}
	}
	if list == nil {
		return nil, fmt.Errorf("stemma version names no releases:\n%s", text)
	}
	return list, nil
}

// try tries one release. What fails is shown, and the rest of its steps left out.
func (t *tester) try(ctx context.Context, release string) {
	begin := time.Now()
	for _, s := range t.steps() {
		cmd := exec.CommandContext(ctx, s.command[0], s.command[1:]...)
		cmd.Dir = s.dir
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+release, "STEMMA_UNTESTED_GO=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(t.out, "%-10s %s: %v\n%s\n", release, s.name, err, out)
			t.failed = append(t.failed, release)
			return
		}
	}
	fmt.Fprintf(t.out, "%-10s ok, %.0f s\n", release, time.Since(begin).Seconds())
}

// A step is a command that must not fail.
type step struct {
	name, dir string
	command   []string
}

func (t *tester) steps() []step {
	verify := func(engine, program string) step {
		return step{"verify " + engine + " " + program, t.programs,
			[]string{t.stemma, "verify", "-engine=" + engine, "./" + program}}
	}
	// A stemma that was built with an older release cannot read the sources of a newer one, as pcce must.
	steps := []step{
		{"build stemma", t.repo(), []string{"go", "build", "-o", t.stemma, "./cmd/stemma"}},
		{"hooks", t.repo(), []string{"go", "test", "-count=1", "-run=TestHooksMatch", "./internal/goroot"}},
		verify("cct", "calls"),
		verify("cct", "goroutines"),
	}
	if t.short {
		return steps
	}
	return append(steps,
		verify("dacce", "calls"), verify("dacce", "goroutines"),
		verify("lucce", "calls"), verify("pcce", "calls"),
		step{"run sample busy", t.programs, []string{t.stemma, "run", "-engine=sample", "./busy"}},
		step{"tests", t.repo(),
			[]string{"go", "test", "-count=1",
				"-run=TestComplete|TestExact|TestIncrements|TestExitHooks|TestInlinedPlaces|" +
					"TestGenericMethods|TestAllocations",
				"./internal/testing/e2e/tree"}})
}
