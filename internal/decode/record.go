package decode

import (
	"fmt"
	"io/fs"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/record"
)

// A Record decodes the IDs of one run. A live directory may grow: before a Record says
// that an ID cannot be decoded, it reads what the program has recorded meanwhile. A
// program records what an ID stands for before it hands out the ID. Like a Decoder, a
// Record is not for several goroutines.
type Record struct {
	d    *Decoder
	live *record.Record // nil for a sealed one
	size int64
}

// OpenRecord reads a live directory with context IDs.
func OpenRecord(fsys fs.FS) (*Record, error) {
	live, err := record.Open(fsys)
	if err != nil {
		return nil, err
	}
	r, err := NewRecord(live)
	if err == nil {
		r.live = live
	}
	return r, err
}

// NewRecord returns a Record of what was read before. It does not grow.
func NewRecord(p *record.Record) (*Record, error) {
	if p.IDs == nil {
		return nil, fmt.Errorf("no record of context IDs")
	}
	return &Record{d: New(p), size: p.IDs.Size()}, nil
}

// Decode is [Decoder.Decode] with what is on record now. If the record cannot be read
// any more, what was read before still holds.
func (r *Record) Decode(id ctxid.ID) (Stack, error) {
	s, err := r.d.Decode(id)
	if err == nil || r.live == nil || id.Run != r.d.c.Run {
		return s, err
	}
	grew, failed := r.live.Update()
	if grew {
		r.d.grown()
		r.size = r.d.c.Size()
		s, err = r.d.Decode(id)
	}
	if err != nil && failed != nil {
		err = fmt.Errorf("%w; what was recorded since cannot be read: %w", err, failed)
	}
	return s, err
}

// Size returns how many bytes of the record were read.
func (r *Record) Size() int64 { return r.size }
