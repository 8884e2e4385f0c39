package store

import (
	"time"

	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/safefile"
)

// Seal writes the sum of the profiles at paths to out, and returns it. The
// file appears under its name only when it is complete. Only its user can read it: it has the command line.
// Equal sums give equal files, whatever the order of paths. elapsed is how long the
// program ran, 0 if that is not known.
func Seal(paths []string, out string, elapsed time.Duration) (*record.Record, error) {
	_, p, err := LoadSum(paths)
	if err != nil {
		return nil, err
	}
	if p, err = record.Merge(p); err != nil { // for its canonical order
		return nil, err
	}
	if p.IDs != nil && elapsed > 0 {
		p.IDs.Stats.Elapsed = elapsed
	}
	return p, safefile.Write(out, safefile.Private, p.Write)
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
