package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stemma-go/stemma/bench/internal/lab"
)

// A planting is a call that is added to a function of a module. benchstat must see it, and nothing else.
type planting struct {
	file, behind string // where it is added: at the end of this text of a file
	benchmarks   string // those that are compared, as -bench has them
	grown        string // the beginning of the names of those whose loops call the function once
}

// try runs benchmarks twice as they are, and once with the call, and returns what benchstat says of the calls of both.
func (p *planting) try(l *lab.Lab, dir, metrics string) (string, error) {
	file := filepath.Join(dir, p.file)
	old, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	with := strings.Replace(string(old), p.behind, p.behind+"\tplanted()\n", 1)
	if with == string(old) {
		return "", fmt.Errorf("%s: nothing is %q", file, p.behind)
	}
	with += "\n//go:noinline\nfunc planted() {}\n"
	defer os.WriteFile(file, old, 0o666)
	var texts []string
	for i, source := range []string{string(old), string(old), with} {
		if err := os.WriteFile(file, []byte(source), 0o666); err != nil {
			return "", err
		}
		text, err := output(dir, l.Stemma, "test", "-metrics="+metrics, "-deterministic", "-run=^$",
			"-bench="+p.benchmarks, "-count=5", ".")
		if err != nil {
			return "", err
		}
		texts = append(texts, fmt.Sprintf("%s.bench%d.txt", dir, i))
		if err := os.WriteFile(texts[i], []byte(text), 0o666); err != nil {
			return "", err
		}
	}
	var said strings.Builder
	var errs []error
	for i, grown := range []string{"", p.grown} {
		cmd := exec.Command("go", "tool", "benchstat", "-format=csv", texts[0], texts[i+1])
		cmd.Dir, cmd.Stderr = l.Tree.Bench, os.Stderr
		text, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("benchstat: %w", err)
		}
		lines, wrong := judge(string(text), grown)
		fmt.Fprintf(&said, "\nbenchstat, %s, of calls/op:\n%s\n", []string{"nothing added", "a call added"}[i],
			strings.Join(lines, "\n"))
		errs = append(errs, wrong)
	}
	return said.String(), errors.Join(errs...)
}

// judge takes the lines of calls out of what benchstat has printed as CSV: name, calls, interval, calls, interval,
// difference. It finds those wrong that differ and should not, and those that should differ by one and do not.
func judge(text, grown string) (lines []string, wrong error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1 // it writes tables of several widths
	records, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	calls, found := false, 0
	for _, f := range records {
		switch {
		case slices.Contains(f, "calls/op"):
			calls = true
		case len(f) > 1 && strings.HasSuffix(f[1], "/op"):
			calls = false
		case calls && len(f) > 5 && f[0] != "" && f[0] != "geomean": // the first names the files
			lines = append(lines, strings.Join(f, " "))
			want := 0.0
			if grown != "" && strings.HasPrefix(f[0], grown) {
				want = 1
			}
			before, err1 := strconv.ParseFloat(f[1], 64)
			after, err2 := strconv.ParseFloat(f[3], 64)
			if err := errors.Join(err1, err2); err != nil {
				return lines, err
			}
			if found++; math.Abs(after-before-want) > 0.0005 || f[2] != "0%" || f[4] != "0%" {
				wrong = errors.Join(wrong, fmt.Errorf("%s: %g calls more, want %g", f[0], after-before, want))
			}
		}
	}
	if found == 0 {
		wrong = fmt.Errorf("no calls in what benchstat says:\n%s", text)
	}
	return lines, wrong
}
