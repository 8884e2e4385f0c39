package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/profile"
)

// operations runs a program that counts its operations, and returns them by function and class, with the number of
// calls of each function that is not instrumented.
func (c *counting) operations(p *program.Program, dir string) (map[string][]int64, map[string]uint64, error) {
	exe, record := filepath.Join(dir, "ops"), filepath.Join(dir, "ops.stemma")
	build := exec.Command(c.stemma, "build", "-metrics=calls,ops", "-o", exe, p.Package)
	build.Dir = p.Dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("stemma build: %w\n%s", err, out)
	}
	live := filepath.Join(dir, "live")
	cmd := exec.Command(exe, p.RunArgs(dir)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "STEMMA_OUT="+live)
	if err := runs(p, dir, cmd); err != nil {
		return nil, nil, err
	}
	if out, err := exec.Command(c.stemma, "seal", "-o", record, live).CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("stemma seal: %w\n%s", err, out)
	}
	f, err := os.Open(record)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	prof, err := profile.Read(f)
	if err != nil {
		return nil, nil, err
	}
	ops, calls := operationsOf(prof)
	return ops, calls, nil
}

// operationsOf adds up a profile by function. What is inlined belongs to the function that it is inlined into, as its
// instructions do.
func operationsOf(p *profile.Profile) (ops map[string][]int64, calls map[string]uint64) {
	ops, calls = map[string][]int64{}, map[string]uint64{}
	for i, n := range p.Nodes {
		f := &p.Funcs[n.Func]
		if f.Kind != profile.FuncOrdinary {
			continue
		}
		counts := p.NodeCounts(i)
		sum := ops[p.String(f.Name)]
		if sum == nil {
			sum = make([]int64, len(profile.OpClasses()))
			ops[p.String(f.Name)] = sum
		}
		for _, w := range f.Weights {
			sum[w.Class] += int64(w.N) * int64(counts[w.Counter])
		}
		for _, s := range f.Sites {
			if s.Counter != profile.None && s.Kind != profile.SiteUnknown {
				calls[p.String(s.Callee)] += counts[s.Counter]
			}
		}
	}
	return ops, calls
}
