package progress

import (
	"io"
	"sync/atomic"
)

// A Reader counts what is read through it.
type Reader struct {
	r io.Reader
	n atomic.Int64
}

// NewReader returns a Reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

func (r *Reader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	r.n.Add(int64(n))
	return n, err
}

// Of returns a Count of what has been read of so many bytes.
func (r *Reader) Of(size int64) Count {
	return func() (int64, int64) { return r.n.Load(), size }
}
