package cli

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/profile"
)

// Where profiles are found and what they are called.
const (
	sealedSuffix = ".stemma"
	outDir       = "stemma.out"
)

// load reads the profiles at paths, sealed files and live directories, and
// merges them. Without paths it takes the newest one in the working directory.
// Merging needs the same kind of recursion in all of them. The result is valid.
func load(paths []string) (*profile.Profile, error) {
	if len(paths) == 0 {
		newest, err := newestProfile(".")
		if err != nil {
			return nil, err
		}
		paths = []string{newest}
	}
	var list []*profile.Profile
	for _, path := range paths {
		p, err := loadOne(path)
		if err != nil {
			return nil, err
		}
		list = append(list, p...)
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return profile.Merge(list...)
}

// loadOne reads a sealed file, a live directory, or all live directories in a
// directory such as stemma.out.
// Of a directory of directories, one that cannot be read is an error and not left
// out: the sum would be too low, and nobody would know.
func loadOne(path string) ([]*profile.Profile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		p, err := loadSealed(path)
		return []*profile.Profile{p}, err
	}
	dirs := []string{path}
	if !isLiveDir(path) {
		if dirs = liveDirs(path); len(dirs) == 0 {
			return nil, fmt.Errorf("%s: neither a live directory nor one of live directories", path)
		}
	}
	var list []*profile.Profile
	for _, dir := range dirs {
		p, err := profile.ReadLive(os.DirFS(dir))
		if err != nil {
			return nil, in(dir, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// in prefixes err with the path that it is about, unless it names one itself.
func in(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %s: %w", path, pe.Path, pe.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// loadSealed reads a sealed file. Errors name the file once.
func loadSealed(path string) (*profile.Profile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := profile.Read(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// isLiveDir tells whether a program recorded, or records, into dir.
// The record need not be complete.
func isLiveDir(dir string) bool {
	return recordFile(dir) != ""
}

// recordFile returns the file that tells a live directory from others, "" if it is none:
// that of the tree of calls, of context IDs, or of samples.
func recordFile(dir string) string {
	for _, name := range []string{"tree", "cce", "samples"} {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

// liveDirs returns the live directories in dir.
// They are sorted by name. A directory that is not there has none.
func liveDirs(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*"))
	return slices.DeleteFunc(all, func(d string) bool { return !isLiveDir(d) })
}

// escapeGlob makes path match nothing but itself in filepath.Glob.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// newestProfile returns the sealed file or live directory in dir that was
// changed last.
// A live directory is as old as its tree, which a running program changes by and
// by; a tie goes to the one that was found first. The error is one of usage.
func newestProfile(dir string) (string, error) {
	sealed, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "*"+sealedSuffix))
	var newest string
	var latest time.Time
	consider := func(path, changed string) {
		if info, err := os.Stat(changed); err == nil && info.ModTime().After(latest) {
			newest, latest = path, info.ModTime()
		}
	}
	for _, path := range sealed {
		consider(path, path)
	}
	for _, path := range liveDirs(filepath.Join(dir, outDir)) {
		consider(path, recordFile(path))
	}
	if newest == "" {
		return "", usageError("no profile given, and neither *%s nor %s/* here", sealedSuffix, outDir)
	}
	return newest, nil
}

// parseMixed parses flags that may stand before, between and after the other
// arguments, which it returns.
// A "--" ends the flags. fs must be named after its command, for the messages; its
// own output is discarded, as errors are printed by Main alone.
func parseMixed(e *env, fs *flag.FlagSet, args []string) ([]string, error) {
	fs.SetOutput(io.Discard)
	var rest []string
	for {
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			commandHelp(e.stdout, findCommand(fs.Name()))
			return nil, &exitError{code: exitOK}
		}
		if err != nil {
			return nil, usageError("%s: %w; run 'stemma help %s'", fs.Name(), err, fs.Name())
		}
		// Parse stops at the first argument that is no flag, or behind "--". It takes
		// the "--" away, so what stands before the rest tells which it was.
		done := len(args) - fs.NArg()
		if done > 0 && args[done-1] == "--" {
			return append(rest, fs.Args()...), nil
		}
		if fs.NArg() == 0 {
			return rest, nil
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
	}
}
