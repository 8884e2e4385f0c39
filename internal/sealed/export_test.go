package sealed

import "encoding/binary"

// Damage makes value number n of a column v.
func Damage(c *Column, n int, v uint64) {
	off := 0
	for ; n > 0 && off < len(c.data); n-- {
		_, size := binary.Uvarint(c.data[off:])
		off += max(size, 1)
	}
	if off >= len(c.data) {
		return
	}
	_, size := binary.Uvarint(c.data[off:])
	c.data = append(binary.AppendUvarint(c.data[:off:off], v), c.data[off+max(size, 1):]...)
}
