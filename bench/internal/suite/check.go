package suite

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/stemma-go/stemma/internal/record"
)

// A Check is how many contexts were compared with stack walks, and how many of them differ.
type Check struct{ Contexts, Mismatches uint64 }

// Plus returns the sum of c and d.
func (c Check) Plus(d Check) Check {
	return Check{c.Contexts + d.Contexts, c.Mismatches + d.Mismatches}
}

// verifyResult is the first line that stemma verify prints.
var verifyResult = regexp.MustCompile(`(?m)^checked (\d+) contexts?, (\d+) mismatch(?:es)?$`)

// Compare lets stemma verify compare what checkers have left in out. That it exits 1 where contexts differ is a
// result, and the first of them are printed.
func Compare(stemma, out string) (c Check, err error) {
	text, err := exec.Command(stemma, "verify", "-live", "-v", "-show=3", out).Output()
	m := verifyResult.FindSubmatch(text)
	if m == nil {
		return c, fmt.Errorf("stemma verify: no result (%w)", err)
	}
	for i, n := range []*uint64{&c.Contexts, &c.Mismatches} {
		if *n, err = strconv.ParseUint(string(m[i+1]), 10, 64); err != nil {
			return Check{}, err
		}
	}
	if c.Mismatches > 0 {
		fmt.Printf("%s\n", bytes.TrimSpace(text))
	}
	return c, nil
}

// CompareSamples adds up what the programs that have left records in out say of their own samples: an entry whose
// frame had gone unnoticed counts as a trace that differs as well.
func CompareSamples(out string) (c Check, err error) {
	dirs, err := filepath.Glob(filepath.Join(out, "*.*-*"))
	if err != nil {
		return c, err
	}
	for _, dir := range dirs {
		r, err := record.Open(os.DirFS(dir))
		if err != nil {
			return c, fmt.Errorf("%s: %w", dir, err)
		}
		for _, proc := range r.Processes {
			if s := proc.Sampling; s != nil {
				c.Contexts += s.Stat("checked")
				c.Mismatches += s.Stat("mismatches") + s.Stat("dead")
			}
		}
	}
	return c, nil
}
