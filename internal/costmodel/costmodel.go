// Package costmodel has tables of how many instructions an operation takes on a machine.
// They are means. See CCCP, section 5.2: cross-profiling. The command instructions of bench makes them.
package costmodel

import (
	"bufio"
	"cmp"
	"embed"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// tables has a file for each table, by the name of the table and ".txt": a line with the Go release, as "go1.26",
// and one for each class of operations, with the class and its cost.
//
//go:embed tables
var tables embed.FS

// A Table says what operations cost on a machine.
type Table struct {
	Name    string // GOOS-GOARCH
	Release string // of Go, as "go1.26"
	Costs   [layout.NumOpClasses]float64
}

// Names returns the names of the tables that there are.
func Names() []string {
	files, err := fs.Glob(tables, "tables/*.txt")
	if err != nil {
		panic(err) // the pattern is bad
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(strings.TrimPrefix(f, "tables/"), ".txt")
	}
	return files
}

// Find returns the table of that name for programs built by a version of Go.
func Find(name, goVersion string) (*Table, error) {
	names := Names()
	if !slices.Contains(names, name) {
		return nil, fmt.Errorf("no costs for %q (have %s)", name, strings.Join(names, ", "))
	}
	t, err := open(name)
	if err != nil {
		return nil, err
	}
	if !t.isFor(goVersion) {
		return nil, fmt.Errorf("no costs for %s and %s (have %s), since operations of another release are others; "+
			"build the program with one of these", name, cmp.Or(goVersion, "an unknown Go version"), releases(names))
	}
	return t, nil
}

// open reads the table of that name.
func open(name string) (*Table, error) {
	f, err := tables.Open("tables/" + name + ".txt")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("costs for %s: %w", name, err)
	}
	t.Name = name
	return t, nil
}

// isFor reports whether t is for programs built by a version of Go.
func (t *Table) isFor(goVersion string) bool {
	return goVersion == t.Release || strings.HasPrefix(goVersion, t.Release+".")
}

// releases returns the tables of these names with their releases.
func releases(names []string) string {
	var list []string
	for _, name := range names {
		if t, err := open(name); err == nil {
			list = append(list, name+" "+t.Release)
		}
	}
	return strings.Join(list, ", ")
}

// Write writes t as a file of tables.
func (t *Table) Write(w io.Writer) error {
	if _, err := fmt.Fprintln(w, t.Release); err != nil {
		return err
	}
	for class, c := range t.Costs[:layout.OpCounted] {
		if _, err := fmt.Fprintf(w, "%s %.3f\n", layout.OpClassNames[class], c); err != nil {
			return err
		}
	}
	return nil
}

// read reads what Write has written.
func read(r io.Reader) (*Table, error) {
	t := &Table{}
	lines := bufio.NewScanner(r)
	lines.Scan()
	t.Release = lines.Text()
	seen := 0
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), " ")
		class := slices.Index(layout.OpClassNames[:], name)
		if class < 0 {
			return nil, fmt.Errorf("no class %q (have %s)", name, strings.Join(layout.OpClassNames[:], ", "))
		}
		if _, err := fmt.Sscan(rest, &t.Costs[class]); err != nil {
			return nil, fmt.Errorf("%s: %w", lines.Text(), err)
		}
		seen++
	}
	if seen != int(layout.OpCounted) {
		return nil, fmt.Errorf("%d classes, want %d", seen, layout.OpCounted)
	}
	return t, lines.Err()
}
