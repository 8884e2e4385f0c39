// Package record reads records of all kinds: live directories and sealed files, of
// trees, samples and context IDs.
package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/ids"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/sealed"
	"github.com/stemma-go/stemma/profile"
)

// A Record is a profile, or what context IDs are decoded with: then the profile has no
// nodes but the root, and its functions are those that contexts consist of.
type Record struct {
	*profile.Profile
	IDs *ids.Encoding // nil of a record without context IDs

	dir    *livedir.Dir // nil of a sealed file
	reader *ids.Reader  // of a live directory with context IDs
}

// Open reads the live directory of a program that runs, has ended or was killed. It takes
// the kind of the record from the files that are there.
func Open(fsys fs.FS) (*Record, error) { return OpenRun(fsys, func(uint64) bool { return false }) }

// OpenRun is Open of a directory that may have segments beside it, see [livedir.OpenRun].
func OpenRun(fsys fs.FS, ended func(segment uint64) bool) (*Record, error) {
	if _, err := fs.Stat(fsys, layout.FileIDs); err == nil {
		r, err := ids.Open(fsys)
		if err != nil {
			return nil, err
		}
		return &Record{Profile: r.Profile, IDs: r.Encoding, dir: r.Dir, reader: r}, nil
	}
	return ofTree(livedir.OpenRun(fsys, ended))
}

// OpenRest is OpenRun without what the segments have, see [livedir.OpenRest]. Records of context IDs have no rest.
func OpenRest(fsys fs.FS, ended func(segment uint64) bool) (*Record, error) {
	return ofTree(livedir.OpenRest(fsys, ended))
}

func ofTree(dir *livedir.Dir, err error) (*Record, error) {
	if err != nil {
		return nil, err
	}
	return &Record{Profile: dir.Profile, dir: dir}, nil
}

// Read reads a sealed file.
func Read(r io.Reader) (*Record, error) {
	f, err := sealed.Read(r)
	if err != nil {
		return nil, err
	}
	return fromTables(f)
}

// ParseText reads the text form of a record.
func ParseText(r io.Reader) (*Record, error) {
	f, err := sealed.ParseText(r, ids.Descriptions())
	if err != nil {
		return nil, err
	}
	return fromTables(f)
}

func fromTables(f *sealed.File) (*Record, error) {
	content, _, err := sealed.ContentOf(f)
	if err != nil {
		return nil, err
	}
	if content == sealed.IDs {
		p, c, err := ids.FromTables(f)
		if err != nil {
			return nil, err
		}
		return &Record{Profile: p, IDs: c}, nil
	}
	p, err := profile.FromTables((*profile.Tables)(sealed.NewHandle(f)))
	if err != nil {
		return nil, err
	}
	return &Record{Profile: p}, nil
}

// tables returns the tables of a record.
func (r *Record) tables() (*sealed.File, error) {
	if r.IDs != nil {
		return r.IDs.Tables(r.Profile)
	}
	t, err := r.Profile.Tables(false)
	if err != nil {
		return nil, err
	}
	return (*sealed.Handle)(t).File(), nil
}

// Write writes a sealed file.
func (r *Record) Write(w io.Writer) error {
	f, err := r.tables()
	if err != nil {
		return err
	}
	return f.Write(w)
}

// WriteText writes the text form.
func (r *Record) WriteText(w io.Writer) error {
	f, err := r.tables()
	if err != nil {
		return err
	}
	return f.WriteText(w)
}

// Merge returns the sum of records. There may be only one of context IDs, and
// none beside it. See [profile.Merge].
func Merge(records ...*Record) (*Record, error) {
	records, err := Snapshots(records...)
	if err != nil {
		return nil, err
	}
	var list []*profile.Profile
	for _, r := range records {
		if r.IDs != nil && len(records) > 1 {
			return nil, fmt.Errorf("the record of context IDs%s cannot be added to others: each process, and each "+
				"of its segments, has IDs of its own; name one record. 'stemma decode' and 'stemma events' take any "+
				"number", ofProcess(r.Profile))
		}
		if r.IDs != nil {
			return r, nil
		}
		list = append(list, r.Profile)
	}
	p, err := profile.Merge(list...)
	if err != nil {
		return nil, err
	}
	return &Record{Profile: p}, nil
}

// ofProcess names the process of a record, " of srv, pid 12,", or "" if the record does not say it.
func ofProcess(p *profile.Profile) string {
	if len(p.Processes) == 0 || len(p.Processes[0].Args) == 0 {
		return ""
	}
	first := &p.Processes[0]
	return fmt.Sprintf(" of %s, pid %d,", profile.Printable(filepath.Base(first.Args[0])), first.PID)
}

// Snapshots returns records without those that others hold already, see [profile.Snapshots].
func Snapshots(records ...*Record) ([]*Record, error) {
	var parts []profile.Part
	for _, r := range records {
		parts = append(parts, r.Part())
	}
	kept, err := profile.KeepSnapshots(parts...)
	if err != nil {
		return nil, err
	}
	var list []*Record
	for _, k := range kept {
		r := *records[k.Index]
		r.Profile = k.Profile
		list = append(list, &r)
	}
	return list, nil
}

// Part returns the record as what may be part of another one.
func (r *Record) Part() profile.Part {
	part := profile.Part{Profile: r.Profile}
	if r.IDs != nil {
		part.More = r.IDs.Recorded()
	}
	return part
}

// errSealed is the error of what only a live directory can do.
var errSealed = errors.New("a sealed file, where a live directory is wanted")

// Live reports whether the record was read from a live directory, which may grow.
func (r *Record) Live() bool { return r.dir != nil }

// Update is [ids.Reader.Update].
func (r *Record) Update() (grew bool, err error) {
	if r.reader == nil {
		return false, errSealed
	}
	return r.reader.Update()
}

// Recount is [livedir.Dir.Recount].
func (r *Record) Recount() (grew bool, err error) {
	if r.dir == nil {
		return false, errSealed
	}
	return r.dir.Recount()
}

// Node is [livedir.Dir.Node].
func (r *Record) Node(offset uint32) (int, bool) {
	if r.dir == nil {
		return 0, false
	}
	return r.dir.Node(offset)
}

// Checks is [livedir.Dir.Checks].
func (r *Record) Checks(visit func(*livedir.Check) error) error {
	if r.dir == nil {
		return errSealed
	}
	return r.dir.Checks(visit)
}

// Calls is [livedir.Dir.Calls].
func (r *Record) Calls() (*livedir.Calls, error) {
	if r.dir == nil {
		return nil, livedir.ErrNoCalls
	}
	return r.dir.Calls()
}
