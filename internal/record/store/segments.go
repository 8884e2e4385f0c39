package store

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/safefile"
)

// # Segments
//
// A program that ends segments (STEMMA_ROTATE) writes each into a directory beside its live one,
// NAME.PID-XXXXXX.000001. It can be read, moved and removed like any other record. The live directory has the whole
// run; but of context IDs each segment is a record of its own, with another run number, and so is the live directory.

// segmentName is what the directory of a segment is called.
var segmentName = regexp.MustCompile(`(.\.[0-9]+-[0-9a-z]{6})\.([0-9]{6,})$`)

// IsUnfinished reports whether a path is a segment that its program is writing, or was when it was killed.
func IsUnfinished(path string) bool {
	live, number, ok := SegmentOf(path)
	if !ok || !IsLive(live) {
		return false
	}
	if next, err := livedir.NextSegment(os.DirFS(live)); err == nil && number < next {
		return false // it was complete, and is being removed
	}
	files, err := os.ReadDir(path)
	return err == nil && !slices.ContainsFunc(files, func(f os.DirEntry) bool {
		return f.Name() == layout.FileIDs && isBegun(path) || !ofUnfinished(f.Name())
	})
}

// isBegun reports whether a path may be read: a segment of context IDs that a program has made ready, and that it has
// written nothing of, is no record yet.
func isBegun(path string) bool {
	p, err := Probe(path)
	if _, _, ok := SegmentOf(path); !ok || err != nil || !p.IDs() {
		return true
	}
	f, err := os.Open(p.Main)
	if err != nil {
		return true // who reads it says why
	}
	defer f.Close()
	return Begun(f)
}

// ofUnfinished reports whether a segment that is not complete may have a file of that name.
func ofUnfinished(name string) bool {
	return slices.Contains(layout.UnfinishedFiles[:], name) ||
		slices.Contains([]string{layout.FileNodes, layout.FileEpochs, layout.FileLog, layout.FileIDs}, name) ||
		strings.HasPrefix(name, layout.FileCounts) || strings.HasPrefix(name, layout.FileEvents)
}

// UnfinishedFiles returns the files of a directory that has nothing but those of a segment that is not complete, and an
// error that names another one if there is one.
func UnfinishedFiles(d *safefile.Dir) ([]os.DirEntry, error) {
	files, err := d.Names()
	for _, f := range files {
		if !ofUnfinished(f.Name()) || !f.Type().IsRegular() {
			return nil, fmt.Errorf("%s: %s is no file of a segment", d.Path, f.Name())
		}
	}
	return files, err
}

// finished returns paths without segments that are not complete, which a pattern matches as well, unless there is
// nothing else: what they are to have is in the rest of the run.
func finished(paths []string) []string {
	if !slices.ContainsFunc(paths, func(path string) bool { return !IsUnfinished(path) }) {
		return paths
	}
	return slices.DeleteFunc(slices.Clone(paths), IsUnfinished)
}

// RestSuffix stands behind the name of a live directory for what is in none of its segments.
const RestSuffix = ".rest"

// SegmentOf returns the live directory beside which a segment lies, and its number. ok is false for what is not called
// like a segment.
func SegmentOf(path string) (live string, number uint64, ok bool) {
	m := segmentName.FindStringSubmatchIndex(path)
	if m == nil {
		return "", 0, false
	}
	number, err := strconv.ParseUint(path[m[4]:m[5]], 10, 64)
	return path[:m[3]], number, err == nil && number > 0
}

// isPart reports whether path is a segment of a run whose live directory is there, and has all of it.
func isPart(path string) bool {
	live, _, ok := SegmentOf(path)
	if !ok || !IsLive(live) {
		return false
	}
	p, err := Probe(path)
	return err != nil || !p.IDs()
}

// Segments returns the segments of a live directory that are there, the oldest first.
func Segments(live string) []string {
	all, _ := filepath.Glob(escapeGlob(live) + ".*")
	all = slices.DeleteFunc(all, func(path string) bool {
		of, _, ok := SegmentOf(path)
		return !ok || of != live || !IsLive(path) || !isBegun(path)
	})
	slices.SortFunc(all, func(a, b string) int {
		_, x, _ := SegmentOf(a)
		_, y, _ := SegmentOf(b)
		return int(x) - int(y)
	})
	return all
}

// restOf returns the live directory whose rest a path names, "" if it names none.
func restOf(path string) string {
	live, ok := strings.CutSuffix(path, RestSuffix)
	if _, err := os.Lstat(path); !ok || !os.IsNotExist(err) || !IsLive(live) {
		return ""
	}
	return live
}

// hasEnded returns what reports whether a segment of a live directory is there.
func hasEnded(live string) func(segment uint64) bool {
	return func(segment uint64) bool { return IsLive(SegmentPath(live, segment)) }
}

// SegmentPath returns the path of a segment of a live directory.
func SegmentPath(live string, segment uint64) string {
	return fmt.Sprintf("%s.%06d", filepath.Clean(live), segment)
}
