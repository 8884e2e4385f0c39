// Assertions runs assertions on growth many times beside busy loops, and shows the ranges of
// the exponents that they see: those of linear code, n log n and quadratic code must not overlap.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/stemma-go/stemma/bench/internal/lab"
)

func main() {
	runs := flag.Int("runs", 1000, "how often the assertions run")
	each := flag.Int("each", 20, "how many of these runs one process makes")
	loops := flag.Int("loops", 2, "how many busy loops run beside them")
	flag.Parse()
	if err := run(*runs, *each, *loops); err != nil {
		fmt.Fprintln(os.Stderr, "assertions:", err)
		os.Exit(1)
	}
}

var kinds = []string{"linear", "nlogn", "quadratic"} // in ascending order

var printed = regexp.MustCompile(`growth (\w+) ([0-9.]+)`)

func run(runs, each, loops int) error {
	l, err := lab.Open("assertions")
	if err != nil {
		return err
	}
	defer l.Close()
	exe := filepath.Join(l.Work, "growing.test")
	cmd := exec.Command(l.Stemma, "test", "-c", "-o", exe, "./assertions/growing")
	cmd.Dir = l.Tree.Bench
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building the test: %w", err)
	}
	stop, err := lab.Busy(loops, true)
	if err != nil {
		return err
	}
	defer stop()
	seen := make(map[string][]float64)
	for done := 0; done < runs; done += each {
		test := exec.Command(exe, "-test.v", fmt.Sprintf("-test.count=%d", min(each, runs-done)))
		test.Env = append(os.Environ(), "STEMMA_OUT="+l.Work)
		out, err := test.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		for _, m := range printed.FindAllStringSubmatch(string(out), -1) {
			k, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				return err
			}
			seen[m[1]] = append(seen[m[1]], k)
		}
	}
	return report(seen, runs)
}

// report prints the ranges; it returns an error if two overlap, or if a run is missing.
func report(seen map[string][]float64, runs int) error {
	var err error
	last := -1.0
	fmt.Println("| calls | runs | least exponent | largest |\n| --- | --- | --- | --- |")
	for _, kind := range kinds {
		if len(seen[kind]) != runs {
			return fmt.Errorf("%s: have %d exponents, want %d", kind, len(seen[kind]), runs)
		}
		low, high := seen[kind][0], seen[kind][0]
		for _, k := range seen[kind] {
			low, high = min(low, k), max(high, k)
		}
		fmt.Printf("| %s | %d | %.4f | %.4f |\n", kind, runs, low, high)
		if low <= last {
			err = fmt.Errorf("%s: the least exponent is %.4f, and one of the kind before is %.4f", kind, low, last)
		}
		last = high
	}
	return err
}
