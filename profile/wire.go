package profile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The sealed file, see FORMAT.md: the magic, then sections, each with a header
// of sectionHeader bytes. All fixed-width numbers are little-endian.
const (
	fileMagic     = "stemma\x00\x02"
	fileVersion   = 3
	fileHeader    = 16 // magic, u32 version, u32 zero
	sectionHeader = 32 // u32 kind, u32 method, u64 stored, u64 raw, u32 CRC, u32 zero

	methodStored  = 0
	methodDeflate = 1

	// Bounds of what compressed bytes may stand for. DEFLATE would let each stand for a
	// thousand, so that a small file could make a reader allocate gigabytes.
	expandRatio = 16
	expandFree  = 1 << 20 // bytes that any section may have
)

// maxExpanded returns how many bytes stored ones may stand for.
func maxExpanded(stored int) uint64 { return expandFree + expandRatio*uint64(stored) }

// Sections, in the order in which they stand in the file.
const (
	secProcesses = iota + 1
	secStrings
	secFuncs
	secNodes
	secCounts
	secEnd
)

// secFile stands in place of all but the end: a file of a live directory.
const secFile = 8

var sectionNames = [...]string{secProcesses: "processes", secStrings: "strings", secFuncs: "funcs", secNodes: "nodes", secCounts: "counts", secSamples: "samples", secEnd: "end", secFile: "file"}

// sectionOrder is that in which sections stand in the file.
var sectionOrder = [...]int{secProcesses, secStrings, secFuncs, secNodes, secCounts, secSamples, secEnd}

// castagnoli is the polynomial of CRC-32C, for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// An encoder appends varints.
type encoder []byte

func (e *encoder) uint(v uint64) { *e = binary.AppendUvarint(*e, v) }
func (e *encoder) index(v int32) { e.uint(uint64(v + 1)) } // None is 0
func (e *encoder) u32(vs ...uint32) {
	for _, v := range vs {
		e.uint(uint64(v))
	}
}

// string appends a length in bytes, then the bytes.
func (e *encoder) string(s string) {
	e.uint(uint64(len(s)))
	*e = append(*e, s...)
}

// strings appends a list: its length, then the strings.
func (e *encoder) strings(list []string) {
	e.uint(uint64(len(list)))
	for _, s := range list {
		e.string(s)
	}
}

// A decoder reads what an encoder wrote. After the first error, which names
// the place, everything it returns is zero.
type decoder struct {
	data  []byte
	off   int
	where string // of the data, for errors
	base  int64  // offset of the data in what where names
	err   error
}

// fail records the first error and drops what is left to read, so that loops
// over the rest end soon. off is the place in data.
func (d *decoder) fail(off int, format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%s: offset %d: %w", d.where, d.base+int64(off), fmt.Errorf(format, args...))
		d.data, d.off = nil, 0
	}
}

// uint reads a number of up to 64 bits.
func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.data[d.off:])
	if n <= 0 {
		if d.err == nil {
			d.fail(d.off, "cut off in a number")
		}
		return 0
	}
	d.off += n
	return v
}

// upTo reads a number that is at most max.
func (d *decoder) upTo(max uint64, what string) uint64 {
	start := d.off
	v := d.uint()
	if v > max {
		d.fail(start, "%s: have %d, want at most %d", what, v, max)
		return 0
	}
	return v
}

// u32 reads a number of up to 32 bits; what names it in an error.
func (d *decoder) u32(what string) uint32 { return uint32(d.upTo(1<<32-1, what)) }

// index reads a number that may be None.
func (d *decoder) index(what string) int32 { return int32(d.upTo(1<<31-1, what)) - 1 }

// count reads the number of elements that follow, each of at least size bytes,
// so that what is allocated for them is bounded by what there is to read.
func (d *decoder) count(size int, what string) int {
	start := d.off
	v := d.uint()
	if left := len(d.data) - d.off; v > uint64(left/size) {
		d.fail(start, "%s: have %d, but only %d bytes follow", what, v, left)
		return 0
	}
	return int(v)
}

// string reads a length and as many bytes.
func (d *decoder) string(what string) string {
	n := d.count(1, what)
	s := string(d.data[d.off : d.off+n])
	d.off += n
	return s
}

// strings reads a list of strings.
func (d *decoder) strings(what string) []string {
	n := d.count(1, what)
	list := make([]string, 0, n)
	for range n {
		list = append(list, d.string(what))
	}
	return list
}

// end reports bytes that nothing has read.
func (d *decoder) end() error {
	if d.err == nil && d.off != len(d.data) {
		d.fail(d.off, "%d bytes too many", len(d.data)-d.off)
	}
	return d.err
}
