package store

import (
	"slices"
	"time"

	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/safefile"
)

// Seal writes the sum of the profiles at paths to out, and returns it. The
// file appears under its name only when it is complete. Only its user can read it: it has the command line.
// Equal sums give equal files, whatever the order of paths. elapsed is how long the
// program ran, 0 if that is not known. Notes say which counts are missing, and are kept with the first process.
func Seal(paths []string, out string, elapsed time.Duration, notes ...string) (*record.Record, error) {
	p, err := Sum(paths)
	if err != nil {
		return nil, err
	}
	if len(notes) > 0 && p.IDs == nil {
		first := &p.Processes[0]
		first.Notes = append(slices.Clip(first.Notes), notes...)
	}
	if p.IDs != nil && elapsed > 0 {
		p.IDs.Stats.Elapsed = elapsed
	}
	return p, safefile.Write(out, safefile.Private, p.Write)
}

// Sum returns the sum of the profiles at paths as it is sealed: equal sums give equal files.
func Sum(paths []string) (*record.Record, error) {
	_, p, err := LoadSum(paths)
	if err != nil {
		return nil, err
	}
	return record.Merge(p) // for its canonical order
}

// SealRepeats writes the first of several runs of the same work to out, with what varies in
// them, and returns it.
func SealRepeats(paths []string, out string) (*record.Record, error) {
	_, p, err := LoadRepeats(paths)
	if err != nil {
		return nil, err
	}
	return p, safefile.Write(out, safefile.Private, p.Write)
}
