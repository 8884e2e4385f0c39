// Package doctor looks for what will not work on this machine.
package doctor

import (
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/safefile"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// How a check ends.
const (
	findingOK   = "ok"
	findingNote = "note"
	findingFail = "FAIL"
)

// A doctor looks at a machine and prints what it finds. What it asks the kernel is in functions,
// for tests.
type doctor struct {
	w      io.Writer
	failed int

	limit func(resource int) (bytes uint64, limited bool)
	disk  func(dir string) (free uint64, noExec bool, err error)
}

// Examine looks at this machine, prints what it finds to w, and returns how much of it will
// not work. version is that of stemma.
func Examine(w io.Writer, version string) (failed int) {
	d := &doctor{w: w, limit: limitOf, disk: diskOf}
	d.found(findingOK, "stemma", "%s", version)
	d.golang()
	d.cache()
	d.fileSize()
	d.addressSpace()
	d.timers()
	d.records()
	d.temporary()
	return d.failed
}

// found prints what a check has found.
func (d *doctor) found(state, what, format string, args ...any) {
	if state == findingFail {
		d.failed++
	}
	fmt.Fprintf(d.w, "%-4s  %-13s  %s\n", state, what, fmt.Sprintf(format, args...))
}

// golang looks at the Go in force here, and at the compiler that is made of it.
func (d *doctor) golang() {
	g, err := toolchain.Find("")
	if err == nil {
		err = g.Check()
	}
	if err != nil {
		d.found(findingFail, "go", "build, run and test: %v", err)
		return
	}
	if g.Warning != "" {
		d.found(findingNote, "go", "%s", g.Warning)
	} else {
		d.found(findingOK, "go", "%s %s/%s in %s; supported: %s", g.Version, g.OS, g.Arch, g.Root, goroot.Supported())
	}
	entry, err := toolchain.Locate(g)
	switch {
	case err != nil:
		d.found(findingFail, "compiler", "build, run and test: %v", err)
	case entry.Exists():
		d.found(findingOK, "compiler", "%s", entry.Dir)
	default:
		d.found(findingOK, "compiler", "not built yet; the first build takes about a minute more")
	}
}

// littleRoom is how much of a disk is too little for a compiler and a build.
const littleRoom = 1 << 30

// cache looks at the owner of the cache, and whether it can be written.
func (d *doctor) cache() {
	dir, err := toolchain.CacheDir()
	if err == nil {
		err = toolchain.CheckCache(dir)
	}
	if err != nil {
		d.found(findingFail, "cache", "build, run and test: %v", err)
		return
	}
	size := humanize.Bytes(toolchain.DiskUsage(os.DirFS(dir)))
	if err := tryFile(dir, func(*os.File) error { return nil }); err != nil {
		d.found(findingNote, "cache",
			"%s · %s; it cannot be written: %v; set STEMMA_CACHE, unless the compiler is built", dir, size, err)
		return
	}
	d.found(findingOK, "cache", "%s · %s", dir, size)
	d.room("cache disk", dir)
}

// room looks at the space on a disk.
func (d *doctor) room(what, dir string) {
	switch free, _, err := d.disk(existing(dir)); {
	case err != nil:
		d.found(findingNote, what, "%v", err)
	case free < littleRoom:
		d.found(findingNote, what, "%s left; a compiler takes about 100 MB, a build more", humanize.Bytes(free))
	default:
		d.found(findingOK, what, "%s left", humanize.Bytes(free))
	}
}

// treeSize is what a program reserves for its tree, and for the counters of each P.
func treeSize() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("STEMMA_TREE_SIZE"), 0, 64); err == nil && n > 0 {
		return n
	}
	return 1 << 30
}

// fileSize looks at ulimit -f: the files of a record are as large as what they are mapped to.
func (d *doctor) fileSize() {
	switch most, limited := d.limit(limitFileSize); {
	case !limited:
		d.found(findingOK, "ulimit -f", "unlimited")
	case most < treeSize():
		d.found(findingFail, "ulimit -f",
			"records: files may have %s, and those of a record have %s, most of them holes; run 'ulimit "+
				"-f unlimited'", humanize.Bytes(most), humanize.Bytes(treeSize()))
	default:
		d.found(findingOK, "ulimit -f", "%s", humanize.Bytes(most))
	}
}

// addressSpace looks at ulimit -v. A program has a tree, counters for each P, and its own memory.
func (d *doctor) addressSpace() {
	ps := uint64(runtime.GOMAXPROCS(0))
	most, limited := d.limit(limitAddressSpace)
	switch need := (1+ps)*treeSize() + littleRoom; {
	case !limited:
		d.found(findingOK, "ulimit -v", "unlimited")
	case most < need:
		d.found(findingFail, "ulimit -v",
			"programs: address space is limited to %s, and a tree with counters for %s needs %s of it; run 'ulimit "+
				"-v unlimited', or set STEMMA_TREE_SIZE to fewer bytes",
			humanize.Bytes(most), humanize.Plural(ps, "P"), humanize.Bytes(need))
	default:
		d.found(findingOK, "ulimit -v", "%s", humanize.Bytes(most))
	}
}

// timers looks at RLIMIT_SIGPENDING, which bounds the timers of all processes of the user. Each thread
// that is sampled has two.
func (d *doctor) timers() {
	switch most, limited := d.limit(limitTimers); {
	case !limited:
		d.found(findingOK, "ulimit -i", "unlimited")
	case most < 2*uint64(runtime.GOMAXPROCS(0)+4):
		d.found(findingFail, "ulimit -i",
			"%s: the kernel gives you %s, and each thread needs two; raise 'ulimit -i'",
			engine.Giving(engine.Samples), humanize.Plural(most, "timer"))
	case most < 1000:
		d.found(findingNote, "ulimit -i", "%s: the kernel gives you %s; threads beyond %s are not sampled",
			engine.Giving(engine.Samples), humanize.Plural(most, "timer"), humanize.Commas(most/2))
	default:
		d.found(findingOK, "ulimit -i", "%s", humanize.Plural(most, "timer"))
	}
}

// records tries to write where programs record that are started here.
func (d *doctor) records() {
	dir, err := store.RecordDir()
	if err == nil {
		if err = tryFile(dir, mappable); err == nil {
			d.found(findingOK, "records", "%s", dir)
			d.room("record disk", dir)
			return
		}
	}
	if tmp := os.TempDir(); tryFile(tmp, mappable) == nil {
		d.found(findingNote, "records",
			"%s: %v; programs record in %s instead; set STEMMA_OUT to a directory that can be written", dir, err, tmp)
		return
	}
	d.found(findingFail, "records",
		"%s: %v, nor is there room in %s; set STEMMA_OUT to a directory that can be written", dir, err, os.TempDir())
}

// temporary looks at the directory in which run and verify have their program.
func (d *doctor) temporary() {
	dir := os.TempDir()
	_, noExec, err := d.disk(dir)
	if existing(dir) != dir {
		err = os.ErrNotExist
	} else if err == nil {
		err = tryFile(dir, func(*os.File) error { return nil })
	}
	switch {
	case err != nil:
		d.found(findingFail, "temporary", "run and verify: %s: %v; set TMPDIR", dir, err)
	case noExec:
		d.found(findingFail, "temporary",
			"run and verify: %s: programs there cannot be started (noexec); set TMPDIR", dir)
	default:
		d.found(findingOK, "temporary", "%s", dir)
	}
}

// existing returns dir, or the nearest directory above it that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// tryFile makes a file in dir, or in the directory where dir would be made, gives it to try, and removes it.
func tryFile(dir string, try func(*os.File) error) error {
	in, err := safefile.OpenDir(existing(dir))
	if err != nil {
		return err
	}
	defer in.Close()
	name := ".stemma-doctor-" + rand.Text()
	f, err := in.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, safefile.Private)
	if err != nil {
		return err
	}
	defer in.Remove(name)
	defer f.Close()
	return try(f)
}
