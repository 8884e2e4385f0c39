package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"sort"

	"github.com/stemma-go/stemma/bench/internal/table"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/profile"
)

// A pair is what was counted of one function: operations of each class, those that count, and instructions; and how
// many the compiler says that the operations are, if it is known.
type pair struct {
	ops          []int64
	sum          float64
	instructions float64
	compiled     float64
	known        bool
}

// other is more instructions than any operation takes: a function that has more for each runs other code on that
// machine, which on amd64 is in assembly that it calls.
const other = 100

// pairs returns the functions that have both, and the instructions of all. Those that run other code are left out.
func (c *counted) pairs(arch string) (list []pair, total float64) {
	for _, name := range slices.Sorted(maps.Keys(c.Instructions[arch])) {
		n := float64(c.Instructions[arch][name])
		total += n
		if ops, ok := c.Ops[name]; ok {
			p := pair{ops: ops, sum: float64(ops[layout.OpCounted]), instructions: n}
			p.compiled, p.known = c.Compiled[arch][name]
			if n > other*p.sum {
				continue
			}
			list = append(list, p)
		}
	}
	return list, total
}

// report prints how operations and instructions go together, and how well the costs of operations that there are for a
// program and an architecture predict the instructions of the program.
func report(all []counted, targets []string, costsFor func(i int, arch string) (costs, error)) error {
	t := &table.Table{Title: "Operations and instructions", Left: 2, Head: []string{"program", "target", "functions",
		"rank correlation", "instructions (millions)", "in them", "by class", "known", "error", "all"}}
	for _, arch := range targets {
		for i := range all {
			if all[i].Calibrates {
				continue
			}
			list, total := all[i].pairs(arch)
			var ops, instructions []float64
			var sum, estimate, known, compiled, rest float64
			c, err := costsFor(i, arch)
			if err != nil {
				return err
			}
			for _, p := range list {
				ops, instructions = append(ops, p.sum), append(instructions, p.instructions)
				sum, estimate = sum+p.instructions, estimate+c.of(p.ops)
				if p.known {
					known, compiled = known+p.instructions, compiled+p.compiled
				} else {
					rest += c.of(p.ops)
				}
			}
			t.Add(all[i].Name, arch, fmt.Sprint(len(list)), fmt.Sprintf("%.4f", rankCorrelation(ops, instructions)),
				fmt.Sprintf("%.0f", total/1e6), fmt.Sprintf("%.1f %%", 100*sum/total),
				fmt.Sprintf("%+.1f %%", 100*(estimate/sum-1)), fmt.Sprintf("%.1f %%", 100*known/sum),
				fmt.Sprintf("%+.2f %%", 100*(compiled/known-1)), fmt.Sprintf("%+.2f %%", 100*((compiled+rest)/sum-1)))
		}
	}
	t.Notes = []string{"\"In them\" is the share of instructions in functions that are instrumented: the others are " +
		"the runtime's, and assembly; and those that execute more than a hundred instructions for each operation, " +
		"since they run other code there. \"By class\" is the error of the estimate for that share, with costs of " +
		"operations that the other programs have given, and those that are there to calibrate; with -dir those of " +
		"stemma report -cost. \"Known\" is how much of it a file of stemma costs has, and \"error\" that of its " +
		"instructions. \"All\" is the error of those together with the estimate for the others: what stemma " +
		"report -cost=FILE says."}
	return t.Text(os.Stdout)
}

// without returns the costs that all programs but number i give; all, if i is negative.
func without(all []counted, i int, arch string) costs {
	var ops [][]int64
	var instructions []float64
	for k := range all {
		if k == i {
			continue
		}
		list, _ := all[k].pairs(arch)
		for _, p := range list {
			ops = append(ops, p.ops)
			instructions = append(instructions, p.instructions)
		}
	}
	return fit(ops, instructions, int(layout.OpCounted))
}

// costTable shows what an operation of each class costs on each architecture.
func costTable(all []counted, targets []string) *table.Table {
	t := &table.Table{Title: "Instructions for an operation", Left: 1,
		Head: append([]string{"class"}, targets...)}
	found := make([]costs, len(targets))
	for i, arch := range targets {
		found[i] = without(all, -1, arch)
	}
	for k, class := range profile.OpClasses()[:layout.OpCounted] {
		row := []string{class}
		for i := range targets {
			row = append(row, fmt.Sprintf("%.3f", found[i][k]))
		}
		t.Add(row...)
	}
	return t
}

// rankCorrelation returns Spearman's rank correlation.
func rankCorrelation(x, y []float64) float64 {
	rx, ry := ranks(x), ranks(y)
	var mx, my float64
	for i := range rx {
		mx, my = mx+rx[i]/float64(len(rx)), my+ry[i]/float64(len(rx))
	}
	var xy, xx, yy float64
	for i := range rx {
		dx, dy := rx[i]-mx, ry[i]-my
		xy, xx, yy = xy+dx*dy, xx+dx*dx, yy+dy*dy
	}
	return xy / math.Sqrt(xx*yy)
}

// ranks returns the rank of each value; equal ones share the mean of theirs.
func ranks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, k int) bool { return x[order[i]] < x[order[k]] })
	r := make([]float64, len(x))
	for i := 0; i < len(order); {
		k := i
		for k < len(order) && x[order[k]] == x[order[i]] {
			k++
		}
		for _, o := range order[i:k] {
			r[o] = float64(i+k-1) / 2
		}
		i = k
	}
	return r
}
