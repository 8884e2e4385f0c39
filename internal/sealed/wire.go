package sealed

import (
	"encoding/binary"
	"fmt"
)

// An Encoder appends varints.
type Encoder []byte

// Uint appends a number.
func (e *Encoder) Uint(v uint64) { *e = binary.AppendUvarint(*e, v) }

// Index appends a number plus 1, so that -1, for none, is 0.
func (e *Encoder) Index(v int32) { e.Uint(uint64(v + 1)) }

// U32 appends numbers.
func (e *Encoder) U32(vs ...uint32) {
	for _, v := range vs {
		e.Uint(uint64(v))
	}
}

// String appends a length in bytes, then the bytes.
func (e *Encoder) String(s string) {
	e.Uint(uint64(len(s)))
	*e = append(*e, s...)
}

// Bytes appends a length, then the bytes.
func (e *Encoder) Bytes(b []byte) {
	e.Uint(uint64(len(b)))
	*e = append(*e, b...)
}

// Strings appends a list: its length, then the strings.
func (e *Encoder) Strings(list []string) {
	e.Uint(uint64(len(list)))
	for _, s := range list {
		e.String(s)
	}
}

// A Decoder reads what an Encoder wrote. After the first error, which names
// the place, everything it returns is zero.
type Decoder struct {
	Data  []byte
	Off   int
	Where string // of the data, for errors
	Base  int64  // offset of the data in what Where names
	Err   error
}

// Fail records the first error and drops what is left to read, so that loops
// over the rest end soon. off is the place in Data.
func (d *Decoder) Fail(off int, format string, args ...any) {
	if d.Err == nil {
		d.Err = fmt.Errorf("%s: offset %d: %w", d.Where, d.Base+int64(off), fmt.Errorf(format, args...))
		d.Data, d.Off = nil, 0
	}
}

// Uint reads a number of up to 64 bits.
func (d *Decoder) Uint() uint64 {
	v, n := binary.Uvarint(d.Data[d.Off:])
	if n <= 0 {
		if d.Err == nil {
			d.Fail(d.Off, "cut off in a number")
		}
		return 0
	}
	d.Off += n
	return v
}

// UpTo reads a number that is at most max.
func (d *Decoder) UpTo(max uint64, what string) uint64 {
	start := d.Off
	v := d.Uint()
	if v > max {
		d.Fail(start, "%s: have %d, want at most %d", what, v, max)
		return 0
	}
	return v
}

// U32 reads a number of up to 32 bits; what names it in an error.
func (d *Decoder) U32(what string) uint32 { return uint32(d.UpTo(1<<32-1, what)) }

// Index reads a number plus 1; -1 stands for none.
func (d *Decoder) Index(what string) int32 { return int32(d.UpTo(1<<31-1, what)) - 1 }

// Count reads the number of elements that follow, each of at least size bytes,
// so that what is allocated for them is bounded by what there is to read.
func (d *Decoder) Count(size int, what string) int {
	start := d.Off
	v := d.Uint()
	if left := len(d.Data) - d.Off; v > uint64(left/size) {
		d.Fail(start, "%s: have %d, but only %d bytes follow", what, v, left)
		return 0
	}
	return int(v)
}

// String reads a length and as many bytes.
func (d *Decoder) String(what string) string { return string(d.Bytes(d.Count(1, what), what)) }

// Bytes reads n bytes, which alias Data.
func (d *Decoder) Bytes(n int, what string) []byte {
	if left := len(d.Data) - d.Off; n > left {
		d.Fail(d.Off, "%s: %d bytes, but only %d follow", what, n, left)
		return nil
	}
	b := d.Data[d.Off : d.Off+n : d.Off+n]
	d.Off += n
	return b
}

// Strings reads a list of strings.
func (d *Decoder) Strings(what string) []string {
	n := d.Count(1, what)
	list := make([]string, 0, n)
	for range n {
		list = append(list, d.String(what))
	}
	return list
}

// End reports bytes that nothing has read.
func (d *Decoder) End() error {
	if d.Err == nil && d.Off != len(d.Data) {
		d.Fail(d.Off, "%d bytes too many", len(d.Data)-d.Off)
	}
	return d.Err
}
