// Startup shows what an engine adds to a program that does next to nothing: time until it has
// ended, memory, and the size of its record. It exits with 1 if that is more than it may be.
package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/stats"
	"github.com/stemma-go/stemma/internal/engine"
)

// What an engine may add.
const (
	maxTime   = 5.0  // ms, until the end
	maxMemory = 1024 // kB, resident at the end
	maxRecord = 1024 // kB, as the sizes of its files say
)

func main() {
	runs := flag.Int("runs", 101, "`runs` of each build, in turn")
	flag.Parse()
	ok, err := run(*runs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "startup:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// A build is the program built plainly or with an engine, and what was measured of it.
type build struct {
	name, dir, exe string
	times          []float64 // ms
	memory         []float64 // kB
	size, disk     int64     // of the largest record, in bytes
}

// run reports whether no engine adds too much.
func run(runs int) (ok bool, err error) {
	work, err := os.MkdirTemp("", "startup-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(work)
	tree, err := machine.Find()
	if err != nil {
		return false, err
	}
	builds, err := buildAll(tree, work)
	if err != nil {
		return false, err
	}
	for i := range runs {
		for j := range builds {
			if err := builds[(i+j)%len(builds)].measure(); err != nil {
				return false, err
			}
		}
	}
	for _, l := range machine.Describe(tree).Lines() {
		fmt.Printf("%-8s %s\n", l[0], l[1])
	}
	return show(builds), nil
}

// buildAll builds the program, plain first.
func buildAll(tree machine.Tree, work string) (builds []*build, err error) {
	stemma := filepath.Join(work, "stemma")
	if err := tree.BuildStemma(stemma); err != nil {
		return nil, err
	}
	add := func(name string, words ...string) error {
		b := &build{name: name, dir: filepath.Join(work, name)}
		b.exe = filepath.Join(b.dir, "hello")
		cmd := exec.Command(words[0], append(words[1:], "-o", b.exe, "./micro/hello")...)
		cmd.Dir = tree.Bench
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", name, err, out)
		}
		builds = append(builds, b)
		return nil
	}
	if err := add("plain", "go", "build"); err != nil {
		return nil, err
	}
	for _, e := range engine.List {
		if e.Gives == 0 {
			continue
		}
		if err := add(e.Name, stemma, "build", "-engine="+e.Name); err != nil {
			return nil, err
		}
	}
	return builds, nil
}

var residentPattern = regexp.MustCompile(`(?m)^resident (\d+) kB$`)

// measure runs the program twice: once for the time, and once for the rest.
func (b *build) measure() error {
	out := filepath.Join(b.dir, "out")
	for _, args := range [][]string{nil, {"memory"}} {
		if err := os.RemoveAll(out); err != nil { // making the directory is part of starting
			return err
		}
		cmd := exec.Command(b.exe, args...)
		cmd.Env = append(os.Environ(), "STEMMA_OUT="+out)
		begin := time.Now()
		text, err := cmd.CombinedOutput()
		took := time.Since(begin)
		m := residentPattern.FindSubmatch(text)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w\n%s", b.name, err, text)
		case args == nil:
			b.times = append(b.times, took.Seconds()*1e3)
		case m == nil:
			return fmt.Errorf("%s: have %q, want a line with the resident memory", b.name, text)
		default:
			kb, _ := strconv.ParseFloat(string(m[1]), 64)
			b.memory = append(b.memory, kb)
		}
	}
	return b.weigh(out)
}

// weigh measures the record in out.
func (b *build) weigh(out string) error {
	if b.name == "plain" {
		return nil
	}
	disk, err := measure.DiskUse(out)
	if err != nil {
		return err
	}
	size := int64(0)
	err = filepath.WalkDir(out, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	b.size, b.disk = max(b.size, size), max(b.disk, disk)
	return err
}

// show prints a table, and reports whether no engine adds too much.
func show(builds []*build) (ok bool) {
	ok = true
	head := []string{"engine", "ms to the end", "interval", "added ms", "resident kB", "added kB", "record kB",
		"on disk kB"}
	fmt.Printf("\n| %s |\n| --- |%s\n", strings.Join(head, " | "), strings.Repeat(" ---: |", len(head)-1))
	plainTime, plainMemory := stats.Median(builds[0].times), stats.Median(builds[0].memory)
	for _, b := range builds {
		t, kb := stats.MedianInterval(b.times), stats.Median(b.memory)
		fmt.Printf("| %s | %.2f | %.2f..%.2f | %.2f | %.0f | %.0f | %d | %d |\n", b.name, t.Median, t.Low, t.High,
			t.Median-plainTime, kb, kb-plainMemory, b.size>>10, b.disk>>10)
		if over := b.over(plainTime, plainMemory); len(over) > 0 {
			ok = false
			fmt.Fprintf(os.Stderr, "startup: %s: too much %s\n", b.name, strings.Join(over, ", "))
		}
	}
	fmt.Printf("\nMedians of %d runs in turn; of records, the largest. An engine may add %g ms and %d kB, and its "+
		"record may have %d kB.\n", len(builds[0].times), maxTime, maxMemory, maxRecord)
	return ok
}

// over names what the build has too much of.
func (b *build) over(plainTime, plainMemory float64) (what []string) {
	if stats.Median(b.times)-plainTime > maxTime {
		what = append(what, "time")
	}
	if stats.Median(b.memory)-plainMemory > maxMemory {
		what = append(what, "memory")
	}
	if b.size > maxRecord<<10 {
		what = append(what, "record")
	}
	return what
}
