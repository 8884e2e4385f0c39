package run

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// Compiled are the test binaries that go test -c makes. The go command does not say which:
// they are the files that changed meanwhile where it writes them. One that is up to date
// gets a new time from the go command.
type Compiled struct {
	dir    string               // of the binaries; "" for the working directory
	name   string               // of the only one; "" for any that ends in .test
	before map[string]time.Time // when those that are there already were changed
}

// CompiledBy returns what go test will make, nil if the arguments have no -c. It is called
// before the go command runs.
func CompiledBy(a *toolchain.Args) *Compiled {
	value, _ := a.Flag("c")
	if on, err := strconv.ParseBool(value); err != nil || !on {
		return nil
	}
	dir, _ := a.Flag("C")
	o, _ := a.Flag("o")
	at := o
	if !filepath.IsAbs(o) {
		at = filepath.Join(dir, o)
	}
	c := &Compiled{dir: at}
	if info, err := os.Stat(at); o != "" && !os.IsPathSeparator(o[len(o)-1]) && (err != nil || !info.IsDir()) {
		c.dir, c.name = filepath.Split(at)
	}
	c.before = c.times()
	return c
}

// times returns when each file was changed that has such a name.
func (c *Compiled) times() map[string]time.Time {
	list := make(map[string]time.Time)
	entries, _ := os.ReadDir(filepath.Join(c.dir, "."))
	for _, e := range entries {
		ok := e.Name() == c.name || c.name == "" && filepath.Ext(e.Name()) == ".test"
		if info, err := e.Info(); ok && err == nil && info.Mode().IsRegular() {
			list[filepath.Join(c.dir, e.Name())] = info.ModTime()
		}
	}
	return list
}

// Tell says what was made, and what to do with it.
func (c *Compiled) Tell(w io.Writer) {
	var made []string
	for path, at := range c.times() {
		if old, ok := c.before[path]; !ok || !old.Equal(at) {
			made = append(made, path)
		}
	}
	if len(made) == 0 {
		fmt.Fprintf(w, "stemma: no test binary was made: no package has tests, or -o names no file\n")
		return
	}
	slices.Sort(made)
	fmt.Fprintf(w, "stemma: %s:\n", humanize.Plural(len(made), "test binary", "test binaries"))
	for _, path := range made {
		fmt.Fprintf(w, "\t%s\n", runnable(path))
	}
	fmt.Fprintf(w, "stemma: run %s, without flags or with some such as -test.run=REGEXP and -test.bench=REGEXP; "+
		"%s into %s in the directory where you run it, or into $STEMMA_OUT\n",
		humanize.Noun(len(made), "it", "one"), humanize.Noun(len(made), "it records", "each records"), store.OutDir)
}

// runnable returns a path as a shell runs it: a name alone would be looked for in PATH.
func runnable(path string) string {
	if filepath.Base(path) == path {
		return "." + string(filepath.Separator) + path
	}
	return path
}
