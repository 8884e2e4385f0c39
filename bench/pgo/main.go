// Pgo compares builds of programs with go build -pgo: with exact counts of calls, with a CPU profile, and without.
// It also says whether the counts of two runs with -deterministic=clock make the same file.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/stemma-go/stemma/bench/internal/lab"
	"github.com/stemma-go/stemma/bench/internal/measure"
	"github.com/stemma-go/stemma/bench/internal/program"
	"github.com/stemma-go/stemma/bench/internal/stats"
)

func main() {
	rounds := flag.Int("rounds", 9, "how often each build runs")
	only := flag.String("program", "crypto,gopherlua,yaegi,gofmt", "measure these `PROGRAMS`; all, if it is empty")
	flag.Parse()
	if err := run(*rounds, lab.Names(*only)); err != nil {
		fmt.Fprintln(os.Stderr, "pgo:", err)
		os.Exit(1)
	}
}

func run(rounds int, names []string) error {
	l, err := lab.Open("pgo")
	if err != nil {
		return err
	}
	defer l.Close()
	chosen, err := l.Programs("", names)
	if err != nil {
		return err
	}
	fmt.Println("| program | same file from two runs | build | user time to no PGO, median | interval |")
	fmt.Println("| --- | --- | --- | --- | --- |")
	for _, p := range chosen {
		if err := compare(l, p, rounds); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

// compare prints the lines of one program.
func compare(l *lab.Lab, p *program.Program, rounds int) error {
	if err := l.SetUp(p); err != nil {
		return err
	}
	b, dir := l.Bench(10*time.Minute), filepath.Join(l.Work, p.Name)
	counts, same, err := countsOf(b, p, dir)
	if err != nil {
		return err
	}
	cpu := filepath.Join(dir, "cpu.pgo")
	sample := measure.Variant{Name: "sample", Flags: []string{"-engine=sample"}}
	if err := profileOf(b, p, sample, filepath.Join(dir, "sampled"), "pprof", cpu); err != nil {
		return err
	}
	variants := []measure.Variant{
		{Name: "plain", GoFlags: []string{"-pgo=off"}},
		{Name: "plain again", GoFlags: []string{"-pgo=off"}},
		{Name: "counts of calls", GoFlags: []string{"-pgo=" + counts}},
		{Name: "CPU profile", GoFlags: []string{"-pgo=" + cpu}},
	}
	var bins []*measure.Binary
	for _, v := range variants {
		bin, err := b.Build(p, v)
		if err != nil {
			return err
		}
		bins = append(bins, bin)
	}
	for i, s := range b.Rounds(bins, rounds, func(string) {}) {
		if s.Err != nil {
			return fmt.Errorf("%s: %w", variants[i].Name, s.Err)
		}
		if i == 0 {
			continue
		}
		r := stats.MedianInterval(stats.Ratios(s.Values(measure.User), s.PlainValues(measure.User)))
		fmt.Printf("| %s | %v | %s | %.3f | %.3f to %.3f |\n", p.Name, same, variants[i].Name, r.Median, r.Low, r.High)
	}
	return nil
}

// countsOf writes a file with the calls of a run, and reports whether another run makes the same.
func countsOf(b *measure.Bench, p *program.Program, dir string) (file string, same bool, err error) {
	v := measure.Variant{Name: "cct", Flags: []string{"-engine=cct"}, Env: []string{"STEMMA_DETERMINISTIC=clock"}}
	var texts [2][]byte
	for i := range texts {
		file = filepath.Join(dir, fmt.Sprintf("calls%d.pgo", i))
		if err := profileOf(b, p, v, filepath.Join(dir, fmt.Sprint("counted", i)), "pgo", file); err != nil {
			return "", false, err
		}
		if texts[i], err = os.ReadFile(file); err != nil {
			return "", false, err
		}
	}
	return file, bytes.Equal(texts[0], texts[1]), nil
}

// profileOf builds the program, runs it and exports its record.
func profileOf(b *measure.Bench, p *program.Program, v measure.Variant, out, format, file string) error {
	bin, err := b.Build(p, v)
	if err != nil {
		return err
	}
	if _, err := b.Run(bin, out); err != nil {
		return err
	}
	cmd := exec.Command(b.Stemma, "export", "-format", format, "-o", file, out)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("stemma export: %w\n%s", err, text)
	}
	return nil
}
