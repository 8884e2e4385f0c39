package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"github.com/stemma-go/stemma/profile"
)

// Sizes of the program that the record is of. Each function has one kind of callee at each of
// its call sites, as most have.
const (
	functions = 4000
	sites     = 6
	perFile   = 40 // functions in a file
)

// writeRecord writes a record of so many contexts. The same are in all records but for
// one in fifty; their counts differ by the series.
func writeRecord(path string, contexts int, series uint64) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := record(contexts, series).Write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func record(contexts int, series uint64) *profile.Profile {
	p := profile.New(profile.Calls)
	p.Processes = []profile.Process{{Args: []string{"million"}, Run: series + 1, PID: 1, GoVersion: "go1.26.8",
		Engine: "cct", Full: true}}
	for i := range functions {
		p.Funcs = append(p.Funcs, function(p, uint32(i)))
	}
	shape, counts := rand.New(rand.NewPCG(1, 1)), rand.New(rand.NewPCG(2, series))
	calls := []uint64{0}
	free := []uint8{1} // the call sites of each node that lead nowhere yet, as a mask
	for left := contexts; left > 0; {
		// Most contexts are near the one before, as in a walk; so some are deep.
		parent := shape.IntN(len(p.Nodes))
		if shape.IntN(4) > 0 {
			parent = len(p.Nodes) - 1 - shape.IntN(min(len(p.Nodes), 40))
		}
		cell := shape.IntN(sites)
		if free[parent]>>cell&1 == 0 {
			continue
		}
		free[parent] &^= 1 << cell
		n := profile.Node{Parent: uint32(parent), Cell: uint32(cell), Func: 1, First: uint32(len(calls))}
		if parent > 0 {
			n.Func = 1 + (p.Nodes[parent].Func*sites+uint32(cell))*2654435761%functions
		}
		p.Nodes = append(p.Nodes, n)
		free = append(free, 1<<sites-1)
		count := 1 + uint64(math.Exp(2.5*shape.NormFloat64()+3))
		if counts.IntN(50) == 0 {
			count = 0
		} else {
			left--
		}
		calls = append(calls, count+count*uint64(counts.IntN(100))/100)
	}
	p.Columns[0].Values = calls
	return p
}

// function returns a function of a file of several, with its call sites on lines of their own.
func function(p *profile.Profile, i uint32) profile.Func {
	word := func(format string, args ...any) uint32 {
		p.Strings = append(p.Strings, fmt.Sprintf(format, args...))
		return uint32(len(p.Strings) - 1)
	}
	pkg := i / perFile
	file := word("/src/example.com/module/internal/pkg%d/file.go", pkg)
	receivers := []string{"", "(*Reader).", "(*encodeState).", "Value."}
	f := profile.Func{File: file, Line: 1 + 20*(i%perFile), Cells: sites, Counters: 1,
		Name: word("example.com/module/internal/pkg%d.%sdoWork%d", pkg, receivers[i%4], i)}
	for cell := range uint32(sites) {
		f.Sites = append(f.Sites, profile.Site{Kind: profile.SiteCall, File: file, Line: f.Line + 2 + cell,
			Inlined: profile.None, Cell: int32(cell), Counter: profile.None})
	}
	return f
}
