package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/stemma-go/stemma/internal/toolchain"
)

// cleanCommand removes what programs and builds have left.
func cleanCommand() *command {
	return &command{
		name:  "clean",
		args:  "[-n] [-cache] [DIR...]",
		short: "remove records of programs that have ended, and the compiler's cache",
		long: `
Clean removes the live directories of programs that have ended: those in the
directories that are named, or else in $STEMMA_OUT or stemma.out here, in the
NAME.live-* that an interrupted stemma run has left here, and in stemma-UID in
$TMPDIR or /tmp. It prints what it removes and how much room that took. Programs
that still run keep their records. Sealed files (*.stemma) stay.

IDs in logs cannot be decoded any more when their record is gone: seal it before.`,
		flags: func(fs *flag.FlagSet) { declareClean(fs, new(cleanOptions)) },
		run:   runClean,
	}
}

type cleanOptions struct{ dry, cache bool }

func declareClean(fs *flag.FlagSet, o *cleanOptions) {
	fs.BoolVar(&o.dry, "n", false, "only print what would be removed")
	fs.BoolVar(&o.cache, "cache", false, "remove compilers from the cache, and no records unless directories are named; the next build makes a new one")
}

// runClean goes on behind what cannot be removed. The error then has all of it.
func runClean(e *env, args []string) error {
	var o cleanOptions
	fs := flag.NewFlagSet("clean", flag.ContinueOnError)
	declareClean(fs, &o)
	dirs, err := parseMixed(e, fs, args)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil {
			return err
		} else if !info.IsDir() {
			return usageError("clean: %s: a file; want a live directory, or a directory of them; remove sealed files with rm", dir)
		}
	}
	c := &cleaner{w: e.stdout, dry: o.dry, seen: make(map[string]bool)}
	if len(dirs) == 0 && !o.cache {
		dirs = recordDirs()
	}
	for _, dir := range dirs {
		c.in(dir)
	}
	if o.cache {
		c.fail(toolchain.CleanCache(o.dry, func(path string, bytes uint64) { c.removed(path, "compiler", bytes) }))
	}
	c.total()
	return errors.Join(c.errs...)
}

// recordDirs returns where programs that were started here record.
func recordDirs() []string {
	out := os.Getenv("STEMMA_OUT")
	if out == "" {
		out = outDir
	}
	left, _ := filepath.Glob("*.live-*")
	return slices.DeleteFunc(append([]string{out, filepath.Join(os.TempDir(), fmt.Sprint("stemma-", os.Geteuid()))}, left...),
		func(dir string) bool {
			info, err := os.Lstat(dir)
			return err != nil || !info.IsDir()
		})
}

// A cleaner removes records, and keeps account of it.
type cleaner struct {
	w    io.Writer
	dry  bool
	seen map[string]bool // directories that were looked at, by absolute name
	errs []error

	count, running int
	bytes          uint64
}

func (c *cleaner) fail(err error) {
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

// recordName is what a live directory is called: by program, process ID and run.
var recordName = regexp.MustCompile(`.\.[0-9]+-[0-9a-z]{6}$`)

// in removes the live directory dir, or the live directories in dir, and then dir if it is
// empty.
func (c *cleaner) in(dir string) {
	if abs, err := filepath.Abs(dir); err == nil {
		if c.seen[abs] {
			return
		}
		c.seen[abs] = true
	}
	if isRecord(dir) {
		c.record(dir)
		return
	}
	entries, err := os.ReadDir(dir)
	c.fail(err)
	for _, d := range entries {
		if path := filepath.Join(dir, d.Name()); isRecord(path) {
			c.record(path)
		}
	}
	if !c.dry && !isHere(dir) {
		_ = os.Remove(dir) // it stays if anything is in it
	}
}

// isHere tells whether dir is the working directory, which is not to be removed.
func isHere(dir string) bool {
	a, err := os.Stat(dir)
	b, err2 := os.Stat(".")
	return err != nil || err2 != nil || os.SameFile(a, b)
}

// isRecord tells whether a program has recorded into dir: by its name, and by the file that
// makes it a record. What somebody else has called so, or a link, is none.
func isRecord(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || !recordName.MatchString(filepath.Base(dir)) {
		return false
	}
	f, err := os.Open(recordFile(dir))
	if err != nil {
		return false
	}
	defer f.Close()
	magic := make([]byte, len("stemma\x00"))
	_, err = io.ReadFull(f, magic)
	return err == nil && string(magic) == "stemma\x00"
}

// record removes one live directory, unless its program runs. The main file goes last: if
// the removal is interrupted, what is left is still known for a record.
func (c *cleaner) record(dir string) {
	main := recordFile(dir)
	if isHeld(main) {
		c.running++
		return
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		c.fail(err)
		return
	}
	bytes := toolchain.DiskUsage(dir)
	for _, f := range files {
		if path := filepath.Join(dir, f.Name()); !c.dry && path != main && f.Type().IsRegular() {
			c.fail(os.Remove(path))
		}
	}
	if !c.dry {
		if err := errors.Join(os.Remove(main), os.Remove(dir)); err != nil {
			c.fail(err)
			return
		}
	}
	c.removed(dir, "record", bytes)
}

func (c *cleaner) removed(path, what string, bytes uint64) {
	c.count++
	c.bytes += bytes
	fmt.Fprintf(c.w, "%10s  %s  %s\n", byteText(bytes), what, path)
}

// total prints the sum, and why something that could be expected to go has not.
func (c *cleaner) total() {
	verb := "removed"
	if c.dry {
		verb = "to be removed"
	}
	line := fmt.Sprintf("%10s  %s", byteText(c.bytes), verb)
	if c.count == 0 {
		line = "nothing to remove"
	}
	if c.running > 0 {
		line += "; " + plural(c.running, "record of a program that still runs stays", "records of programs that still run stay")
	}
	fmt.Fprintln(c.w, line)
}

// byteText returns a size for people to read.
func byteText(n uint64) string {
	switch {
	case n >= 10e9:
		return fmt.Sprintf("%.0f GB", float64(n)/1e9)
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.0f kB", float64(n+999)/1e3)
}

// What is told of before it fills a disk: that many bytes in the directory of records.
// Nobody waits for it: beyond maxLooked records it is what those take.
const (
	muchRecorded = 1 << 30
	maxLooked    = 1000
)

// warnFull says on standard error how much lies in the directory of records, if it is much.
func warnFull(e *env, dir string, much uint64) {
	dirs := liveDirs(dir)
	looked := dirs[:min(len(dirs), maxLooked)]
	var bytes uint64
	for _, d := range looked {
		bytes += toolchain.DiskUsage(d)
	}
	if bytes < much {
		return
	}
	more := ""
	if len(dirs) > len(looked) {
		more = " or more"
	}
	fmt.Fprintf(e.stderr, "stemma: %s%s of records in %s (%s); 'stemma clean' removes those of programs that have ended\n",
		byteText(bytes), more, relative(dir), plural(len(dirs), "directory", "directories"))
}
