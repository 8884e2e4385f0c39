// Package clean removes records that are not needed any more, and caches.
package clean

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
	"github.com/stemma-go/stemma/internal/toolchain"
	"github.com/stemma-go/stemma/profile"
)

// Options say what clean does: dry removes nothing, cache removes compilers as well.
type Options struct{ Dry, Cache bool }

// Run removes records in dirs, or those of programs that were started here if there are none, and the compilers
// if the options ask for them. It prints to w what it removes. What is removed is what was looked at, whatever takes
// its name meanwhile: all happens in directories that are open.
func Run(w io.Writer, dirs []string, o Options) error {
	c := &cleaner{w: w, dry: o.Dry}
	for _, path := range dirs {
		d, err := safefile.OpenDir(path)
		c.fail(err)
		c.in(d)
	}
	if len(dirs) == 0 && !o.Cache {
		c.here()
	}
	if o.Cache {
		c.fail(toolchain.CleanCache(o.Dry,
			func(path string, bytes uint64) { c.removed(path, "compiler", bytes) },
			func(path string) { fmt.Fprintf(c.w, "kept, since a build uses it: %s\n", profile.Printable(path)) }))
	}
	c.total()
	return errors.Join(c.errs...)
}

// here removes records of programs that were started here: in $STEMMA_OUT or stemma.out, and in what runs of
// stemma have left. The names of the latter two are known to all: what others have put there is left alone.
func (c *cleaner) here() {
	if out := os.Getenv("STEMMA_OUT"); out != "" {
		d, err := safefile.OpenDir(out)
		if !os.IsNotExist(err) {
			c.fail(err)
		}
		c.in(d)
	} else {
		c.own(store.OutDir)
	}
	here, err := os.ReadDir(".")
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) { // then nobody has started anything here
		c.fail(err)
	}
	for _, entry := range here {
		if ofRun.MatchString(entry.Name()) {
			c.own(entry.Name())
		}
	}
	c.temporaries()
	c.elsewhere()
}

// temporaries removes the temporary directories that runs of stemma have left which were killed, unless their program
// still runs.
func (c *cleaner) temporaries() {
	list, err := os.ReadDir(os.TempDir())
	c.fail(err)
	for _, entry := range list {
		if !base.TemporaryName.MatchString(entry.Name()) {
			continue
		}
		d, err := safefile.OpenItself(filepath.Join(os.TempDir(), entry.Name()))
		if err != nil {
			continue // it has gone, or is somebody else's
		}
		if !d.IsOwn() || inUse(d) || isExecuted(d.Path) {
			d.Close()
			continue
		}
		bytes := toolchain.DiskUsage(d.FS())
		if c.dry {
			d.Close()
		} else if err := d.RemoveAll(); err != nil {
			c.fail(err)
			continue
		}
		c.removed(d.Path, "temporary directory", bytes)
	}
}

// isExecuted reports whether a process of this user executes a program in a directory.
func isExecuted(dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	exes, _ := filepath.Glob("/proc/[0-9]*/exe")
	return slices.ContainsFunc(exes, func(link string) bool {
		exe, err := os.Readlink(link)
		return err == nil && strings.HasPrefix(exe, dir+string(filepath.Separator))
	})
}

// ofRun matches the names of directories that stemma run, test and verify make, and remove when all is sealed.
var ofRun = regexp.MustCompile(`\.live-[0-9]+$`)

// elsewhere says what is in the user's directory below the temporary one, where programs record that cannot do it where
// they run: from wherever they were started.
func (c *cleaner) elsewhere() {
	path := filepath.Join(os.TempDir(), fmt.Sprint("stemma-", os.Geteuid()))
	if n := len(store.LiveDirs(path)); n > 0 {
		fmt.Fprintf(c.w, "left alone: %s in %s, of programs that were started anywhere; 'stemma clean %s' removes "+
			"those of programs that have ended\n", humanize.Plural(n, "record"), path, base.Typed(path))
	}
}

// own removes records in a directory that must be this user's.
func (c *cleaner) own(path string) {
	info, err := os.Lstat(path)
	if os.IsNotExist(err) || err == nil && info.Mode().IsRegular() {
		return
	}
	d, err := safefile.OpenItself(path)
	if err != nil {
		fmt.Fprintf(c.w, "left alone: %s\n", profile.Printable(err.Error()))
		return
	}
	if uid, _ := d.Owner(); !d.IsOwn() {
		fmt.Fprintf(c.w, "left alone, since it belongs to user %d: %s\n", uid, profile.Printable(path))
		d.Close()
		return
	}
	if inUse(d) {
		fmt.Fprintf(c.w, "left alone, since a stemma that runs uses it: %s\n", profile.Printable(path))
		d.Close()
		return
	}
	c.in(d)
}

// inUse reports whether a stemma that runs a program has locked the directory: what has ended in it is still to be
// sealed.
func inUse(d *safefile.Dir) bool {
	f, err := d.Root.Open(".")
	if err != nil {
		return false
	}
	defer f.Close()
	return store.Holds(f)
}

// A cleaner removes records, and keeps account of it.
type cleaner struct {
	w    io.Writer
	dry  bool
	seen []os.FileInfo // directories that were looked at
	errs []error

	count, running int
	bytes          uint64
}

func (c *cleaner) fail(err error) {
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

// in removes the live directory d, or the live directories in d. Then d goes as well if it is empty and has a name that
// programs or runs of stemma have given it. It closes d, which may be nil.
func (c *cleaner) in(d *safefile.Dir) {
	if d == nil || c.known(d) {
		return
	}
	defer d.Close()
	before := c.count
	if c.record(d, func() (os.FileInfo, error) { return os.Stat(d.Path) }) {
		return
	}
	entries, err := d.Names()
	c.fail(err)
	// Segments go first: what is left if this is interrupted has all that its program has counted.
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int { return rank(a.Name()) - rank(b.Name()) })
	for _, entry := range entries {
		if !entry.IsDir() || !store.RecordName.MatchString(entry.Name()) {
			continue
		}
		if sub, err := d.Sub(entry.Name()); err == nil { // else it is none any more
			c.record(sub, func() (os.FileInfo, error) { return d.Stat(entry.Name()) })
			sub.Close()
		}
	}
	left, err := d.Names()
	if name := filepath.Base(d.Path); err != nil || isHere(d) || !ofRun.MatchString(name) &&
		(name != store.OutDir || c.count == before || os.Getenv("STEMMA_OUT") != "") {
		return
	}
	isEmpty := len(left) == 0
	if !c.dry {
		isEmpty = d.RemoveEmpty() == nil // it stays if anything is in it
	}
	if isEmpty && c.count == before {
		c.removed(d.Path, "empty directory", 0)
	}
}

// rank is 0 for the name of a segment, and 1 for others.
func rank(name string) int {
	if _, _, ok := store.SegmentOf(name); ok {
		return 0
	}
	return 1
}

// known reports whether a directory was looked at already, under whatever name.
func (c *cleaner) known(d *safefile.Dir) bool {
	info, err := d.Stat(".")
	if err != nil || slices.ContainsFunc(c.seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
		d.Close()
		return true
	}
	c.seen = append(c.seen, info)
	return false
}

// isHere reports whether d is the working directory, which is not to be removed.
func isHere(d *safefile.Dir) bool {
	a, err := d.Stat(".")
	b, err2 := os.Stat(".")
	return err != nil || err2 != nil || os.SameFile(a, b)
}

// mainOf opens the file that makes d a record, nil if it is none. A program has recorded into d if it has such a name
// and such a file. What somebody else has called so, or a link, is none.
func mainOf(d *safefile.Dir) *os.File {
	if !store.RecordName.MatchString(filepath.Base(d.Path)) {
		return nil
	}
	for _, name := range engine.Files() {
		f, err := d.Open(name)
		if err != nil {
			continue
		}
		if store.Begun(f) {
			return f
		}
		f.Close()
	}
	return nil
}

// record removes one live directory, unless its program runs, and reports whether it is one. The main file goes last:
// if the removal is interrupted, what is left is still known for a record. named returns what has the name of d by now.
func (c *cleaner) record(d *safefile.Dir, named func() (os.FileInfo, error)) bool {
	ofRunning := isOfRunning(d) // before its files are looked at: they may be complete when the program has ended
	main := mainOf(d)
	if main == nil {
		return !ofRunning && c.unfinished(d)
	}
	defer main.Close()
	if ofRunning || store.Holds(main) || !isSame(d, named) {
		c.running++
		return true
	}
	files, err := d.Names()
	if err != nil {
		c.fail(err)
		return true
	}
	bytes := toolchain.DiskUsage(d.FS())
	if !c.dry {
		if err := c.remove(d, files, filepath.Base(main.Name())); err != nil {
			c.fail(err)
			return true
		}
	}
	c.removed(d.Path, "record", bytes)
	return true
}

// isOfRunning reports whether d is a segment of a program that still runs.
func isOfRunning(d *safefile.Dir) bool {
	live, _, ok := store.SegmentOf(d.Path)
	if !ok {
		return false
	}
	place, err := store.Probe(live)
	return err == nil && place.Running()
}

// isSame reports whether d still has its name: a program that begins a segment of context IDs gives it another one.
func isSame(d *safefile.Dir, named func() (os.FileInfo, error)) bool {
	a, err := d.Stat(".")
	b, err2 := named()
	return err == nil && err2 == nil && os.SameFile(a, b)
}

// unfinished removes a segment that the program was writing when it was killed, and reports whether d is one.
func (c *cleaner) unfinished(d *safefile.Dir) bool {
	files, err := store.UnfinishedFiles(d)
	if _, _, ok := store.SegmentOf(d.Path); !ok || err != nil {
		return false
	}
	bytes := toolchain.DiskUsage(d.FS())
	if !c.dry {
		for _, f := range files {
			c.fail(d.Remove(f.Name()))
		}
		c.fail(d.RemoveEmpty())
	}
	c.removed(d.Path, "unfinished segment", bytes)
	return true
}

// remove removes the files of a record, the main one last, and the record.
func (c *cleaner) remove(d *safefile.Dir, files []os.DirEntry, main string) error {
	for _, f := range files {
		if f.Name() != main && f.Type().IsRegular() {
			c.fail(d.Remove(f.Name()))
		}
	}
	return errors.Join(d.Remove(main), d.RemoveEmpty())
}

func (c *cleaner) removed(path, what string, bytes uint64) {
	c.count++
	c.bytes += bytes
	size := humanize.Bytes(bytes)
	if bytes == 0 {
		size = ""
	}
	fmt.Fprintf(c.w, "%10s  %s  %s\n", size, what, profile.Printable(path))
}

// total prints the sum, and why something that could be expected to go has not.
func (c *cleaner) total() {
	verb := "removed"
	if c.dry {
		verb = "to be removed"
	}
	line := fmt.Sprintf("%10s  %s", humanize.Bytes(c.bytes), verb)
	switch {
	case c.count == 0:
		line = "nothing to remove"
	case c.bytes == 0:
		line = fmt.Sprintf("%s %s", humanize.Plural(c.count, "directory", "directories"), verb)
	}
	if c.running > 0 {
		line += "; " + humanize.Plural(c.running, "record of a program that still runs stays",
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
	dirs := store.RecordDirs(dir)
	looked := dirs[:min(len(dirs), maxLooked)]
	var bytes uint64
	for _, d := range looked {
		bytes += toolchain.DiskUsage(os.DirFS(d))
	}
	if bytes < much {
		return
	}
	more := ""
	if len(dirs) > len(looked) {
		more = " or more"
	}
	fmt.Fprintf(w, "stemma: %s%s of records in %s (%s); 'stemma clean' removes those of programs that have ended\n",
		humanize.Bytes(bytes), more, store.Relative(dir), humanize.Plural(len(dirs), "directory", "directories"))
}
