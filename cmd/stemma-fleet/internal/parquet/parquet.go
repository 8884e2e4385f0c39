// Package parquet writes records as tables that DuckDB, ClickHouse and Spark read.
//
// A Writer has two files for each day: values-DAY.parquet has what was counted, and contexts-DAY.parquet what the
// contexts in it are. The day is that of the beginning of a segment, or of a run without segments, in UTC. A context is
// named by its fingerprint with lines: nodes of a record that have the same one are added up.
package parquet

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// A Context is a row of the table of contexts.
type Context struct {
	Context     string   `parquet:"context,dict"` // 16 digits, as the values have it
	Fingerprint string   `parquet:"fingerprint,dict"`
	Parent      string   `parquet:"parent,dict"` // the context that calls it, "" at a root
	Function    string   `parquet:"function,dict"`
	File        string   `parquet:"file,dict"` // where it is called
	Line        int32    `parquet:"line"`
	Depth       int32    `parquet:"depth"`
	Path        []string `parquet:"path,list"` // functions, the root first
}

// A Value is a row of the table of values. It is what the context has itself, without what it calls.
type Value struct {
	Run         string            `parquet:"run,dict"`
	Segment     int64             `parquet:"segment"`                           // 0 without segments
	Time        time.Time         `parquet:"time,timestamp(microsecond:local)"` // UTC
	Service     string            `parquet:"service,dict"`
	Labels      map[string]string `parquet:"labels"`
	Context     string            `parquet:"context,dict"`
	Fingerprint string            `parquet:"fingerprint,dict"`
	Metric      string            `parquet:"metric,dict"`
	Value       int64             `parquet:"value"`
}

// Origin is what is said of a record that the record does not say itself.
type Origin struct {
	Service string // by default the name of the program
	Labels  map[string]string
}

// rowsOfGroup is how many rows are in memory, of each table of each day, before they are written.
const rowsOfGroup = 1 << 15

// A Writer writes tables to a directory. It has one record in memory, rowsOfGroup rows of each file, and about 20 bytes
// for each context of each day.
type Writer struct {
	dir  string
	days map[string]*day
	runs map[uint64]map[uint64]bool // the segments that were written of each run; 0 is all of it
}

// temporary is the pattern of the names of files that are being written.
const temporary = ".stemma-tables-*"

// pattern makes a pattern for package filepath of a name.
var pattern = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// A day has the files of a day.
type day struct {
	values   *table[Value]
	contexts *table[Context]
	known    map[uint64]bool
}

// NewWriter returns a Writer. The directory must be there. What a Writer left that was killed more than a day ago goes.
func NewWriter(dir string) *Writer {
	left, _ := filepath.Glob(filepath.Join(pattern.Replace(dir), temporary))
	for _, file := range left {
		info, err := os.Lstat(file)
		if err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > 24*time.Hour {
			os.Remove(file)
		}
	}
	return &Writer{dir, make(map[string]*day), make(map[uint64]map[uint64]bool)}
}

// Add adds the record of one run, or of one of its segments. Records without counts, and those that were added before,
// add nothing: written is false.
func (w *Writer) Add(p *profile.Profile, o Origin) (written bool, err error) {
	if len(p.Processes) != 1 {
		return false, fmt.Errorf("a sum of %d processes, want the record of each", len(p.Processes))
	}
	proc := p.Processes[0]
	row := Value{Run: fmt.Sprintf("%016x", proc.Run), Time: proc.Start.UTC(), Service: o.Service, Labels: o.Labels}
	if row.Service == "" && len(proc.Args) > 0 {
		row.Service = filepath.Base(proc.Args[0])
	}
	if s := proc.Segment; s != nil && s.Number > 0 {
		row.Segment, row.Time = int64(s.Number), s.Began.UTC()
	}
	if len(p.Columns) == 0 {
		return false, nil
	}
	if is, err := w.isNew(proc.Run, uint64(row.Segment)); !is {
		return false, err
	}
	d, err := w.day(row.Time.Format(time.DateOnly))
	if err != nil {
		return false, err
	}
	for _, c := range p.Columns {
		t, err := cct.Of(p, c.Name)
		if err != nil {
			return false, err
		}
		row.Metric = c.Name
		if err := d.add(t, row); err != nil {
			return false, err
		}
	}
	return true, nil
}

// isNew reports whether a part of a run was not added before. A run and a segment of it are not both added, as what the
// segment has would count twice.
func (w *Writer) isNew(run, segment uint64) (bool, error) {
	if run == 0 {
		return true, nil // nothing says which run it is
	}
	have := w.runs[run]
	switch {
	case have[segment]:
		return false, nil
	case have[0] || segment == 0 && len(have) > 0:
		return false, fmt.Errorf("run %016x is there as a whole and in segments; name either", run)
	case have == nil:
		have = make(map[uint64]bool)
		w.runs[run] = have
	}
	have[segment] = true
	return true, nil
}

// Close completes the files: before that, none of them is there under its name. If one cannot be completed, none of
// them is there, and what was there before stays. If one cannot get its name, the days before have theirs.
func (w *Writer) Close() error {
	var errs []error
	for _, d := range w.days {
		errs = append(errs, d.values.close(), d.contexts.close())
	}
	if err := errors.Join(errs...); err != nil {
		w.Discard()
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(w.days)) {
		d := w.days[name]
		if err := errors.Join(d.contexts.rename(), d.values.rename()); err != nil {
			w.Discard() // but for those that have their names
			return err
		}
	}
	return nil
}

// Discard removes what was written.
func (w *Writer) Discard() {
	for _, d := range w.days {
		d.values.discard()
		d.contexts.discard()
	}
}

// day returns the files of a day.
func (w *Writer) day(name string) (*day, error) {
	if d := w.days[name]; d != nil {
		return d, nil
	}
	values, err := newTable[Value](filepath.Join(w.dir, "values-"+name+".parquet"))
	if err != nil {
		return nil, err
	}
	contexts, err := newTable[Context](filepath.Join(w.dir, "contexts-"+name+".parquet"))
	if err != nil {
		values.discard()
		return nil, err
	}
	d := &day{values, contexts, make(map[uint64]bool)}
	w.days[name] = d
	return d, nil
}

// A sum is what the nodes with one context have together.
type sum struct {
	node  uint32 // the first of them
	value uint64
}

// add adds the values of a tree, as rows like the given one, and the contexts that are new.
func (d *day) add(t *cct.Tree, row Value) error {
	prints := t.Fingerprints()
	sums := make(map[uint64]sum)
	for i := 1; i < len(t.Nodes); i++ {
		of := prints.Of(uint32(i))
		key := uint64(of.Lines)
		s, ok := sums[key]
		if !ok {
			s.node = uint32(i)
		}
		s.value += t.Nodes[i].Count
		sums[key] = s
		if d.known[key] {
			continue
		}
		d.known[key] = true
		if err := d.contexts.write(contextOf(t, prints, uint32(i))); err != nil {
			return err
		}
	}
	for i := 1; i < len(t.Nodes); i++ { // in the order of the tree, so that equal records give equal files
		of := prints.Of(uint32(i))
		s := sums[uint64(of.Lines)]
		if s.node != uint32(i) || s.value == 0 {
			continue
		}
		row.Context, row.Fingerprint, row.Value = of.Lines.String(), of.Functions.String(), int64(s.value)
		if err := d.values.write(row); err != nil {
			return err
		}
	}
	return nil
}

// contextOf describes a node.
func contextOf(t *cct.Tree, prints *cct.Fingerprints, n uint32) Context {
	of, node := prints.Of(n), t.Nodes[n]
	site := t.Sites[node.Site]
	c := Context{Context: of.Lines.String(), Fingerprint: of.Functions.String(), Function: t.Funcs[node.Func].Name,
		File: site.File, Line: int32(site.Line)}
	if node.Parent != 0 {
		c.Parent = prints.Of(node.Parent).Lines.String()
	}
	for ; n != 0; n = t.Nodes[n].Parent {
		c.Path = append(c.Path, t.Funcs[t.Nodes[n].Func].Name)
	}
	slices.Reverse(c.Path)
	c.Depth = int32(len(c.Path))
	return c
}

// A table is a file that is being written. It has its name when it is complete.
type table[T any] struct {
	file *os.File
	name string
	w    *parquet.GenericWriter[T]
	rows []T
}

func newTable[T any](name string) (*table[T], error) {
	f, err := os.CreateTemp(filepath.Dir(name), temporary)
	if err != nil {
		return nil, err
	}
	return &table[T]{file: f, name: name, w: parquet.NewGenericWriter[T](f, parquet.Compression(&zstd.Codec{}),
		parquet.MaxRowsPerRowGroup(rowsOfGroup))}, nil
}

// write writes a row, some of them at once.
func (t *table[T]) write(row T) error {
	t.rows = append(t.rows, row)
	if len(t.rows) < 1<<10 {
		return nil
	}
	return t.flush()
}

func (t *table[T]) flush() error {
	_, err := t.w.Write(t.rows)
	clear(t.rows)
	t.rows = t.rows[:0]
	return err
}

func (t *table[T]) close() error {
	return errors.Join(t.flush(), t.w.Close(), t.file.Chmod(0o600), t.file.Close())
}

func (t *table[T]) rename() error { return os.Rename(t.file.Name(), t.name) }

func (t *table[T]) discard() {
	t.file.Close()
	os.Remove(t.file.Name())
}
