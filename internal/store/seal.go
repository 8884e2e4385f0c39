package store

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stemma-go/stemma/internal/progress"
	"github.com/stemma-go/stemma/internal/record"
)

// Seal writes the sum of the profiles at paths to out, and returns it. The
// file appears under its name only when it is complete.
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
	return p, WriteFile(out, p.Write)
}

// SealRepeats writes the first of several runs of the same work to out, with what varies in
// them, and returns it.
func SealRepeats(paths []string, out string) (*record.Record, error) {
	_, p, err := LoadRepeats(paths)
	if err != nil {
		return nil, err
	}
	return p, WriteFile(out, p.Write)
}

// WriteFile replaces the file at path by what write writes.
// It writes to a file beside it and renames that: path holds what it held, or all
// of the new contents, but never a part. What is no file, as /dev/null or a pipe, is written
// to as it is. The error names path.
func WriteFile(path string, write func(io.Writer) error) error {
	defer progress.Step("writing "+path, "", nil)()
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return writeTo(path, path, os.O_WRONLY, write)
	}
	// The process ID keeps two commands with one output apart. Not os.CreateTemp: its
	// files are readable by their owner only, and this one gets the usual mode.
	tmp := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	defer os.Remove(tmp) // fails after the rename, as it should
	if err := writeTo(tmp, path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, write); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// writeTo opens a file and writes what write writes; errors of writing name path.
func writeTo(name, path string, flags int, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, flags, 0o666)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	err = write(w)
	if err == nil {
		err = w.Flush()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
