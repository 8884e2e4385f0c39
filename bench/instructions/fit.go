package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/stemma-go/stemma/internal/costmodel"
)

// A costs has a weight for each class of operations: how many instructions it takes.
type costs []float64

// of returns the estimate for operations of all classes.
func (c costs) of(ops []int64) (sum float64) {
	for k, cost := range c {
		sum += cost * float64(ops[k])
	}
	return sum
}

// fit returns the costs that explain the instructions of functions best: those with the least sum of squared errors,
// where that of a function counts by the inverse of its instructions, so that neither large nor small ones decide
// alone. No cost is negative. It descends along one class at a time; the sum of squares is convex.
func fit(ops [][]int64, instructions []float64, classes int) costs {
	gram, right := make([][]float64, classes), make([]float64, classes)
	for k := range gram {
		gram[k] = make([]float64, classes)
	}
	for i, o := range ops {
		if instructions[i] == 0 {
			continue
		}
		for k := range classes {
			right[k] += float64(o[k])
			for l := range classes {
				gram[k][l] += float64(o[k]) * float64(o[l]) / instructions[i]
			}
		}
	}
	c := make(costs, classes)
	for range 20000 {
		moved := 0.0
		for k := range c {
			if gram[k][k] == 0 {
				continue
			}
			slope := right[k]
			for l := range c {
				slope -= gram[k][l] * c[l]
			}
			next := max(0, c[k]+slope/gram[k][k])
			moved = max(moved, math.Abs(next-c[k]))
			c[k] = next
		}
		if moved < 1e-9 {
			break
		}
	}
	return c
}

// shipped returns the costs that stemma report -cost has for an architecture, of the Go release that this program was
// built with.
func shipped(_ int, arch string) (costs, error) {
	t, err := costmodel.Find("linux-"+arch, runtime.Version())
	if err != nil {
		return nil, err
	}
	return t.Costs[:], nil
}

// writeCosts writes a table of costs for each architecture, of the Go release that this program was built with.
func writeCosts(all []counted, targets []string, dir string) error {
	major, rest, _ := strings.Cut(runtime.Version(), ".")
	minor, _, _ := strings.Cut(rest, ".")
	for _, arch := range targets {
		t := &costmodel.Table{Release: fmt.Sprint(major, ".", minor)}
		copy(t.Costs[:], without(all, -1, arch))
		f, err := os.Create(filepath.Join(dir, "linux-"+arch+".txt"))
		if err != nil {
			return err
		}
		if err := t.Write(f); err != nil {
			f.Close()
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}
