package sealed

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
)

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

// Bomb returns the beginning of a sealed file whose first table is n zeros.
func Bomb(n int) []byte {
	var b, stored bytes.Buffer
	b.WriteString(fileMagic + string([]byte{fileVersion, 0, 0, 0, 0, 0, 0, 0}))
	zw, err := flate.NewWriter(&stored, flate.BestSpeed)
	if err != nil {
		panic(err)
	}
	for zeros := make([]byte, 1<<20); n > 0; n -= len(zeros) {
		zw.Write(zeros)
	}
	zw.Close()
	h := make([]byte, sectionHeader)
	le := binary.LittleEndian
	le.PutUint32(h, secTable)
	le.PutUint32(h[4:], methodDeflate)
	le.PutUint64(h[8:], uint64(stored.Len()))
	le.PutUint64(h[16:], 1<<30)
	le.PutUint32(h[24:], sectionCRC(h[:24], stored.Bytes()))
	b.Write(h)
	b.Write(stored.Bytes())
	return b.Bytes()
}
