package decode

import (
	"fmt"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/record"
)

// A Run decodes the IDs of one run. A live directory may grow: before a Run says
// that an ID cannot be decoded, it reads what the program has recorded meanwhile. A
// program records what an ID stands for before it hands out the ID. Like a Decoder, a
// Run is not for several goroutines.
type Run struct {
	d   *Decoder
	rec *record.Record
}

// NewRun returns a Run of a record that was read.
func NewRun(rec *record.Record) (*Run, error) {
	if rec.IDs == nil {
		return nil, fmt.Errorf("no record of context IDs")
	}
	return &Run{New(rec), rec}, nil
}

// Decode is [Decoder.Decode] with what is on record now. If the record cannot be read
// any more, what was read before still holds.
func (r *Run) Decode(id ctxid.ID) (Stack, error) {
	s, err := r.d.Decode(id)
	if err == nil || !r.rec.Live() || id.Run != r.rec.IDs.Run {
		return s, err
	}
	grew, failed := r.rec.Update()
	if grew {
		r.d.grown()
		s, err = r.d.Decode(id)
	}
	if err != nil && failed != nil {
		err = fmt.Errorf("%w; what was recorded since cannot be read: %w", err, failed)
	}
	return s, err
}

// Number returns the run number.
func (r *Run) Number() uint64 { return r.rec.IDs.Run }

// Size returns how many bytes of the record were read.
func (r *Run) Size() int64 { return r.rec.IDs.Size() }
