package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/internal/costmodel"
	"github.com/stemma-go/stemma/profile"
)

// operations runs a program that counts its operations, and returns its profile.
func (c *counting) operations(p *program.Program, dir string) (*profile.Profile, error) {
	exe, record := filepath.Join(dir, "ops"), filepath.Join(dir, "ops.stemma")
	build := exec.Command(c.stemma, "build", "-metrics=calls,ops", "-o", exe, p.Package)
	build.Dir = p.Dir
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("stemma build: %w\n%s", err, out)
	}
	live := filepath.Join(dir, "live")
	cmd := exec.Command(exe, p.RunArgs(dir)...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "STEMMA_OUT="+live)
	if err := runs(p, dir, cmd); err != nil {
		return nil, err
	}
	if out, err := exec.Command(c.stemma, "seal", "-o", record, live).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("stemma seal: %w\n%s", err, out)
	}
	f, err := os.Open(record)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return profile.Read(f)
}

// compiled returns how many instructions of an architecture the operations of a profile are, by function, where the
// compiler says what each counter stands for.
func (c *counting) compiled(p *program.Program, dir, arch string, prof *profile.Profile) (map[string]float64, error) {
	file := filepath.Join(dir, arch+".costs")
	cmd := exec.Command(c.stemma, "costs", "-o", file, p.Package)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("stemma costs: %w\n%s", err, out)
	}
	costs, err := costmodel.Open(file)
	if err != nil {
		return nil, err
	}
	sums := map[string]float64{}
	known, _ := costs.In(prof)
	for i, n := range prof.Nodes {
		weights, ok := known[n.Func]
		if !ok {
			continue
		}
		sum := 0.0
		counts := prof.NodeCounts(i)
		for _, w := range weights {
			sum += float64(w.N) * float64(counts[w.Counter])
		}
		sums[prof.String(prof.Funcs[n.Func].Name)] += sum
	}
	return sums, nil
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
