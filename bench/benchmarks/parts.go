package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/records"
	"github.com/stemma-go/stemma/internal/cct"
)

// aloneRuns is how often a benchmark that varies runs alone, until two runs differ.
const aloneRuns = 10

// reasons runs one benchmark alone, without -deterministic, until two of its runs count unlike, and returns the calls
// with which they part.
func (o *options) reasons(l *lab.Lab, tests []binary, name string) (string, error) {
	pattern := alone(name)
	for _, b := range tests {
		var first map[string]uint64
		for range aloneRuns {
			out := filepath.Join(l.Work, "alone")
			cmd := exec.Command(b.file, "-test.run=^$", "-test.bench="+pattern, "-test.benchtime="+o.benchtime)
			cmd.Dir, cmd.Stderr = b.dir, os.Stderr
			cmd.Env = append(append(os.Environ(), b.env...), "STEMMA_DETERMINISTIC=", "STEMMA_OUT="+out)
			text, err := cmd.Output()
			if err != nil {
				return "", fmt.Errorf("%s: %w\n%s", b.file, err, text)
			}
			counts, err := benchmarked(out)
			if err = cmp.Or(err, os.RemoveAll(out)); err != nil {
				return "", err
			}
			if len(counts) == 0 {
				break // that benchmark is in another package
			}
			if first == nil {
				first = counts
			}
			if list := parts(first, counts); list != nil {
				return strings.Join(list[:min(len(list), 3)], ", "), nil
			}
		}
	}
	return fmt.Sprintf("%d runs of it alone do not differ", aloneRuns), nil
}

// alone returns the pattern of one benchmark by its name in a line, as collect has it.
func alone(name string) string {
	name = name[strings.Index(name, "Benchmark"):]
	name = regexp.MustCompile(`-\d+$`).ReplaceAllString(name, "")
	elements := strings.Split(name, "/")
	for i, e := range elements {
		elements[i] = "^" + regexp.QuoteMeta(e) + "$"
	}
	return strings.Join(elements, "/")
}

// benchmarked returns how often each context below a benchmark was entered, by the names on its path, which are behind
// each other on lines. A program leaves one record.
func benchmarked(out string) (map[string]uint64, error) {
	r, err := records.Open(out)
	if err != nil {
		return nil, err
	}
	t := cct.New(r.Profile)
	paths, counts := make([]string, len(t.Nodes)), make(map[string]uint64)
	for i, n := range t.Nodes[1:] {
		name := t.Funcs[n.Func].Name
		if above := paths[n.Parent]; above != "" || isBenchmark(name) {
			paths[1+i] = above + "\n" + name
			counts[paths[1+i]] += n.Count
		}
	}
	return counts, nil
}

// isBenchmark reports whether a function is a benchmark's, which is not one of package testing.
func isBenchmark(name string) bool { return strings.HasPrefix(path.Ext(name), ".Benchmark") }

// parts returns the calls with which two runs part: those of contexts that differ though what makes them does not. The
// largest differences come first.
func parts(first, second map[string]uint64) (list []string) {
	type difference struct{ first, second uint64 }
	found := make(map[string]difference)
	all := maps.Clone(first)
	maps.Copy(all, second)
	for at := range all {
		i := strings.LastIndexByte(at, '\n')
		above := at[:i]
		if first[at] == second[at] || first[above] != second[above] {
			continue
		}
		call := above[strings.LastIndexByte(above, '\n')+1:] + " → " + at[i+1:]
		d := found[call]
		found[call] = difference{d.first + first[at], d.second + second[at]}
	}
	larger := func(d difference) uint64 { return max(d.first, d.second) - min(d.first, d.second) }
	for _, call := range slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		return cmp.Or(cmp.Compare(larger(found[b]), larger(found[a])), cmp.Compare(a, b))
	}) {
		list = append(list, fmt.Sprintf("%s (%d and %d calls)", call, found[call].first, found[call].second))
	}
	return list
}
