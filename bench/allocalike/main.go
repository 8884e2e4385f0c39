// Allocalike compares what programs allocate when go build and when stemma has built them: the numbers of objects and
// bytes that package runtime counts itself, with one P and no collection. It prints a table, and with -where the
// functions whose allocations differ.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/bench/internal/wrap"
)

// environment is that of all runs: collections and a second P would decide what pools have.
var environment = []string{"GOMAXPROCS=1", "GOGC=off"}

type options struct {
	dir   string
	only  []string
	runs  int
	flags []string
	where bool
}

func main() {
	var o options
	flag.StringVar(&o.dir, "dir", "", "the programs in the subdirectories of this `directory`, not bench's own")
	only := flag.String("program", "", "run these programs `A,B,C`; all, if it is empty")
	flag.IntVar(&o.runs, "runs", 3, "`times` that each build is run")
	flags := flag.String("flags", "-engine=cct", "`flags` of stemma build")
	flag.BoolVar(&o.where, "where", false, "also print the functions whose allocations differ")
	flag.Parse()
	o.only, o.flags = lab.Names(*only), strings.Fields(*flags)
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "allocalike:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	l, err := lab.Open("allocalike")
	if err != nil {
		return err
	}
	defer l.Close()
	all, err := l.Programs(o.dir, o.only)
	if err != nil {
		return err
	}
	t := &table.Table{Title: "What programs allocate, built by go build and by stemma", Left: 1, Head: []string{
		"program", "objects", "by stemma", "difference", "bytes", "by stemma", "difference", "objects, by size"}}
	b := l.Bench(20 * time.Minute)
	var failed []error
	for _, p := range all {
		if err := compare(l, b, p, o, t); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.Name, err))
		}
	}
	return errors.Join(append(failed, t.Text(os.Stdout))...)
}

// compare builds and runs one program in both ways and adds its row.
func compare(l *lab.Lab, b *measure.Bench, p *program.Program, o options, t *table.Table) error {
	if err := l.SetUp(p); err != nil {
		return err
	}
	how := "memstats"
	if strings.HasPrefix(p.MainDir(), l.Tree.GOROOT) {
		how = "memstats-at-exit"
	}
	variants := []measure.Variant{{Name: "plain", Wrap: how, Env: environment},
		{Name: "stemma", Flags: o.flags, Wrap: how, Env: environment}}
	var have [2][]amounts
	var sizes [2][]map[uint64]uint64
	for i, v := range variants {
		fmt.Fprintln(os.Stderr, "allocalike:", p.Name, v.Name)
		bin, err := b.Build(p, v)
		if err != nil {
			return err
		}
		for range o.runs {
			a, by, err := allocated(b, bin)
			if err != nil {
				return err
			}
			have[i], sizes[i] = append(have[i], a), append(sizes[i], by)
		}
	}
	row := []string{p.Name}
	for k := range (amounts{}) {
		row = append(row, show(have[0], k), show(have[1], k), difference(have[0], have[1], k))
	}
	row = append(row, bySize(sizes[0], sizes[1]))
	t.Add(row...)
	fmt.Fprintln(os.Stderr, "allocalike:", strings.Join(row, " | ")) // the table comes when all programs have run
	if o.where {
		return where(b, p, variants)
	}
	return nil
}

// amounts are objects and bytes.
type amounts [2]uint64

// allocated runs a program and returns what it has allocated: all of it, and how many objects of each size.
func allocated(b *measure.Bench, bin *measure.Binary) (a amounts, by map[uint64]uint64, err error) {
	out := filepath.Join(b.Work, bin.Program.Name, "records")
	defer os.RemoveAll(out)
	r, err := b.Run(bin, out)
	if err != nil {
		return a, nil, err
	}
	for line := range strings.Lines(r.Stderr) {
		if rest, ok := strings.CutPrefix(line, wrap.MemStatsLine); ok {
			return parse(rest)
		}
	}
	return a, nil, fmt.Errorf("no line %q on standard error", wrap.MemStatsLine)
}

// parse takes what is behind wrap.MemStatsLine.
func parse(rest string) (a amounts, by map[uint64]uint64, err error) {
	in, frees := strings.NewReader(rest), uint64(0)
	if _, err := fmt.Fscan(in, &a[0], &frees, &a[1]); err != nil {
		return a, nil, err
	}
	by = make(map[uint64]uint64)
	for {
		var size, n uint64
		switch _, err := fmt.Fscan(in, &size, &n); err {
		case nil:
			by[size] = n
		case io.EOF:
			return a, by, nil
		default:
			return a, nil, err
		}
	}
}

// bySize writes the sizes whose objects are more, or fewer, in all runs of the second build than in all of the first,
// each with the least difference: 704:+7.
func bySize(plain, other []map[uint64]uint64) string {
	var list []string
	for _, size := range slices.Sorted(maps.Keys(plain[0])) {
		of := func(runs []map[uint64]uint64) (all []uint64) {
			for _, by := range runs {
				all = append(all, by[size])
			}
			return all
		}
		a, b := of(plain), of(other)
		switch {
		case slices.Min(b) > slices.Max(a):
			list = append(list, fmt.Sprintf("%d:+%d", size, slices.Min(b)-slices.Max(a)))
		case slices.Min(a) > slices.Max(b):
			list = append(list, fmt.Sprintf("%d:-%d", size, slices.Min(a)-slices.Max(b)))
		}
	}
	return strings.Join(list, " ")
}

// bounds returns the least and the greatest amount of several runs.
func bounds(list []amounts, k int) (low, high uint64) {
	low = list[0][k]
	for _, a := range list {
		low, high = min(low, a[k]), max(high, a[k])
	}
	return low, high
}

// show writes the amount of several runs, with what they vary by.
func show(list []amounts, k int) string {
	low, high := bounds(list, k)
	if low == high {
		return fmt.Sprint(low)
	}
	return fmt.Sprintf("%d+%d", low, high-low)
}

// difference writes how much more the second list has: its least amount, less the first one's.
func difference(plain, other []amounts, k int) string {
	low, _ := bounds(plain, k)
	least, _ := bounds(other, k)
	return fmt.Sprintf("%+d", int64(least-low))
}

// where prints what the profile allocs, of each allocation, has more in the second build than in the first.
func where(b *measure.Bench, p *program.Program, variants []measure.Variant) error {
	var files []string
	for _, v := range variants {
		file := filepath.Join(b.Work, p.Name, v.Name+".pprof")
		v.Env = append([]string{"GODEBUG=memprofilerate=1", wrap.AllocsEnv + "=" + file}, environment...)
		bin, err := b.Build(p, v)
		if err != nil {
			return err
		}
		if _, _, err := allocated(b, bin); err != nil {
			return err
		}
		files = append(files, file)
	}
	c := exec.Command("go", "tool", "pprof", "-sample_index=alloc_objects", "-top", "-nodecount=40",
		"-diff_base="+files[0], files[1])
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c.Run()
}
