// Package clean removes records that are not needed any more.
package clean

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/stemma-go/stemma/internal/store"
	"github.com/stemma-go/stemma/internal/toolchain"
	"github.com/stemma-go/stemma/internal/words"
)

// Options say what clean does: dry removes nothing, cache removes compilers, too.
type Options struct{ Dry, Cache bool }

// Run removes records in dirs, and the compilers if the options say so, and prints to w what
// it removes.
func Run(w io.Writer, dirs []string, o Options) error {
	c := &cleaner{w: w, dry: o.Dry, seen: make(map[string]bool)}
	for _, dir := range dirs {
		c.in(dir)
	}
	if o.Cache {
		c.fail(toolchain.CleanCache(o.Dry,
			func(path string, bytes uint64) { c.removed(path, "compiler", bytes) },
			func(path string) { fmt.Fprintf(c.w, "kept, since a build uses it: %s\n", path) }))
	}
	c.total()
	return errors.Join(c.errs...)
}

// Dirs returns where programs that were started here record.
func Dirs() []string {
	out := os.Getenv("STEMMA_OUT")
	if out == "" {
		out = store.OutDir
	}
	left, _ := filepath.Glob("*.live-*")
	return slices.DeleteFunc(append([]string{out, filepath.Join(os.TempDir(), fmt.Sprint("stemma-", os.Geteuid()))},
		left...),
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
	f, err := os.Open(store.MainFile(dir))
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
	main := store.MainFile(dir)
	if store.IsHeld(main) {
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
	fmt.Fprintf(c.w, "%10s  %s  %s\n", words.Bytes(bytes), what, path)
}

// total prints the sum, and why something that could be expected to go has not.
func (c *cleaner) total() {
	verb := "removed"
	if c.dry {
		verb = "to be removed"
	}
	line := fmt.Sprintf("%10s  %s", words.Bytes(c.bytes), verb)
	if c.count == 0 {
		line = "nothing to remove"
	}
	if c.running > 0 {
		line += "; " + words.Plural(c.running, "record of a program that still runs stays",
			"records of programs that still run stay")
	}
	fmt.Fprintln(c.w, line)
}

// What is told of before it fills a disk: that many bytes in the directory of records.
// Nobody waits for it: beyond maxLooked records it is what those take.
const (
	Much      = 1 << 30
	maxLooked = 1000
)

// Warn says how much lies in the directory of records, if it is much.
func Warn(w io.Writer, dir string, much uint64) {
	dirs := store.LiveDirs(dir)
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
	fmt.Fprintf(w, "stemma: %s%s of records in %s (%s); 'stemma clean' removes those of programs that have ended\n",
		words.Bytes(bytes), more, store.Relative(dir), words.Plural(len(dirs), "directory", "directories"))
}
