package profile

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
)

// Sections returns the sections of p's sealed file, uncompressed.
func Sections(p *Profile) (sections [][]byte, err error) {
	for kind := secProcesses; kind < secEnd; kind++ {
		sections = append(sections, p.section(kind))
	}
	return sections, p.CheckValid()
}

// Seal returns a sealed file with these sections.
func Seal(sections ...[]byte) []byte {
	var b bytes.Buffer
	b.WriteString(fileMagic + string([]byte{fileVersion, 0, 0, 0, 0, 0, 0, 0}))
	for i, raw := range append(sections, nil) {
		if err := writeSection(&b, secProcesses+i, raw); err != nil {
			panic(err) // a bytes.Buffer takes everything
		}
	}
	return b.Bytes()
}

// Bomb returns the beginning of a sealed file whose strings are n zeros.
func Bomb(n int) []byte {
	var b, stored bytes.Buffer
	b.WriteString(fileMagic + string([]byte{fileVersion, 0, 0, 0, 0, 0, 0, 0}))
	if err := writeSection(&b, secProcesses, []byte{0}); err != nil {
		panic(err)
	}
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
	le.PutUint32(h, secStrings)
	le.PutUint32(h[4:], methodDeflate)
	le.PutUint64(h[8:], uint64(stored.Len()))
	le.PutUint64(h[16:], 1<<30)
	le.PutUint32(h[24:], sectionCRC(h[:24], stored.Bytes()))
	b.Write(h)
	b.Write(stored.Bytes())
	return b.Bytes()
}
