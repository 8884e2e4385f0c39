package cli

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/record"
)

// Where profiles are found and what they are called.
const (
	sealedSuffix = ".stemma"
	outDir       = "stemma.out"
)

// load reads the profiles at paths as loadRecords does, and merges them. Merging needs
// the same kind of recursion in all of them. The result is valid.
func load(paths []string) (*record.Record, error) {
	r, err := loadRecords(paths)
	if err != nil {
		return nil, err
	}
	return r.merged()
}

// loadSealed reads a sealed file. Errors name the file once.
func loadSealed(path string) (*record.Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := record.Read(bufio.NewReaderSize(f, 1<<20))
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
	for _, name := range []string{engine.FileTree, engine.FileIDs, engine.FileSamples} {
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

// onlyFlags returns an error of usage if a flag was given that does nothing for what.
func onlyFlags(fs *flag.FlagSet, what string, useful ...string) (err error) {
	fs.Visit(func(f *flag.Flag) {
		if err == nil && !slices.Contains(useful, f.Name) {
			err = usageError("%s: -%s does nothing for %s; it has -%s", fs.Name(), f.Name, what, strings.Join(useful, ", -"))
		}
	})
	return err
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
			like := ""
			if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); ok {
				like = didYouMean("-", name, flagNames(fs))
			}
			return nil, usageError("%s: %w%s; run 'stemma help %s'", fs.Name(), err, like, fs.Name())
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
