package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/machine"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/table"
)

// What an engine adds, in instructions. A change of one instruction for a call is seen, which times hide in noise.

// Parts are the instructions of a run by whose they are.
type parts struct {
	code    float64 // of the program and its packages, with what is inserted into them
	stemma  float64 // of functions of stemma: all but what is inserted
	runtime float64 // of Go's runtime: when it collects garbage and what else it does depends on the clock
}

func (p parts) all() float64 { return p.code + p.stemma + p.runtime }

// partsOf adds up the instructions of functions.
func partsOf(byFunction map[string]uint64) (p parts) {
	for name, n := range byFunction {
		switch {
		case strings.Contains(name, "stemma"):
			p.stemma += float64(n)
		case strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/"):
			p.runtime += float64(n)
		default:
			p.code += float64(n)
		}
	}
	return p
}

// A comparison counts instructions of one program, built plainly and in other ways.
type comparison struct {
	bench  *measure.Bench
	plugin string
	arch   string
	table  *table.Table
}

// overhead prints what variants add to programs, on one architecture.
func (o options) overhead() error {
	variants := []measure.Variant{measure.Plain}
	for _, s := range o.variants {
		v, err := measure.ParseVariant(s)
		if err != nil {
			return err
		}
		variants = append(variants, v)
	}
	l, err := lab.Open("instructions")
	if err != nil {
		return err
	}
	defer l.Close()
	plugin, err := buildCounter(l.Work)
	if err != nil {
		return err
	}
	programs, err := l.Programs(o.dir, lab.Names(o.programs))
	if err != nil {
		return err
	}
	if _, err := machine.Target(o.arch); err != nil {
		return err
	}
	c := &comparison{bench: l.Bench(time.Hour), plugin: plugin, arch: o.arch, table: &table.Table{
		Title: "Instructions of a run on " + o.arch, Left: 2,
		Head: []string{"program", "variant", "all (millions)", "to plain", "code to plain", "stemma's functions",
			"a call", "of it inserted", "text to plain"},
		Notes: []string{"Counted under QEMU, with GOMAXPROCS=1. Code is what is not Go's runtime, with what is " +
			"inserted; stemma's functions are in hundredths of the plain run's instructions. A call is one that " +
			"cct counts: how many instructions more there are for it, without those of Go's runtime."},
	}}
	for _, p := range programs {
		fmt.Fprintln(os.Stderr, "instructions: counting", p.Name)
		if err := l.SetUp(p); err != nil {
			return err
		}
		if o.args != "" {
			p.Args = strings.Fields(o.args)
		}
		if err := c.program(p, variants); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return c.table.Markdown(os.Stdout)
}

// program adds the rows of a program.
func (c *comparison) program(p *program.Program, variants []measure.Variant) error {
	var plain parts
	var plainText uint64
	var calls float64
	for i, v := range variants {
		have, text, err := c.count(p, v, &calls)
		if err != nil {
			return fmt.Errorf("%s: %w", v.Name, err)
		}
		row := []string{p.Name, v.Name, fmt.Sprintf("%.0f", have.all()/1e6)}
		if i == 0 {
			plain, plainText = have, text
			row = append(row, "", "", "", "", "", "")
		} else {
			more := have.code - plain.code
			row = append(row, fmt.Sprintf("%.3f", have.all()/plain.all()), fmt.Sprintf("%.3f", have.code/plain.code),
				fmt.Sprintf("%.1f %%", 100*have.stemma/plain.all()), perCall(more+have.stemma, calls),
				perCall(more, calls), fmt.Sprintf("%.3f", float64(text)/float64(plainText)))
		}
		c.table.Add(row...)
	}
	return nil
}

// perCall returns a number of instructions for each call.
func perCall(n, calls float64) string {
	if calls == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", n/calls)
}

// count builds and runs one variant, and returns its instructions and the bytes of its text. The number of calls is
// that of the first variant that counts them.
func (c *comparison) count(p *program.Program, v measure.Variant, calls *float64) (parts, uint64, error) {
	bin, err := c.bench.Build(p, v)
	if err != nil {
		return parts{}, 0, err
	}
	dir, err := os.MkdirTemp(c.bench.Work, "run-")
	if err != nil {
		return parts{}, 0, err
	}
	defer os.RemoveAll(dir)
	live := filepath.Join(dir, "live")
	r := run{plugin: c.plugin, arch: c.arch, exe: bin.Path, dir: dir, program: p,
		env: append([]string{"STEMMA_OUT=" + live}, v.Env...)}
	byFunction, err := r.instructions()
	if err != nil {
		return parts{}, 0, err
	}
	if v.Records() && *calls == 0 {
		record, err := c.bench.Record(live)
		if err != nil {
			return parts{}, 0, err
		}
		*calls = float64(record.Calls)
	}
	text, err := textSize(bin.Path)
	return partsOf(byFunction), text, err
}
