package sealed

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The binary form, see FORMAT.md: the magic, then sections, each with a header of
// sectionHeader bytes. All fixed-width numbers are little-endian.
const (
	fileMagic     = "stemma\x00\x02"
	fileVersion   = 4
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

// Kinds of sections.
const (
	secTable = 1
	secEnd   = 2
)

// stringsTable is the table of the strings, which comes before any that refers to them.
const stringsTable = "strings"

// Is reports whether a file that begins with head, at least 8 bytes of it, is a sealed one.
func Is(head []byte) bool { return bytes.HasPrefix(head, []byte(fileMagic)) }

// Write writes f: its first table, the strings, the other tables. The first table must
// not refer to strings: it is what [ReadFirst] reads. Equal files give equal bytes.
func (f *File) Write(w io.Writer) error {
	head := append([]byte(fileMagic), make([]byte, fileHeader-len(fileMagic))...)
	binary.LittleEndian.PutUint32(head[8:], fileVersion)
	if _, err := w.Write(head); err != nil {
		return err
	}
	for i, t := range f.Tables {
		if i == 1 {
			if err := writeSection(w, secTable, stringSchema().table(stringsTable, f.Strings).encode()); err != nil {
				return err
			}
		}
		if err := writeSection(w, secTable, t.encode()); err != nil {
			return err
		}
	}
	return writeSection(w, secEnd, nil)
}

// stringSchema is that of the strings.
func stringSchema() Schema[string] {
	return Schema[string]{{Name: "text", Kind: Bytes, Bytes: func(s *string) []byte { return []byte(*s) },
		SetBytes: func(s *string, b []byte) { *s = string(b) }}}
}

// table returns a table of rows.
func (s Schema[T]) table(name string, rows []T) *Table {
	var f File
	s.Add(&f, name, rows)
	return f.Tables[0]
}

// encode returns the description of a table with the values of its columns.
func (t *Table) encode() []byte {
	var e Encoder
	e.String(t.Name)
	e.Uint(uint64(t.Rows))
	e.Uint(uint64(len(t.Columns)))
	for _, c := range t.Columns {
		e.String(c.Name)
		e.Uint(uint64(c.Kind))
		e.Strings(c.Words)
		e.Uint(uint64(len(c.data)))
	}
	for _, c := range t.Columns {
		e = append(e, c.data...)
	}
	return e
}

// decodeTable is the inverse of encode. The values are not looked at: they alias raw.
func decodeTable(d *Decoder) (*Table, error) {
	t := &Table{Name: d.String("name")}
	rows := d.UpTo(1<<40, "rows")
	n := d.Count(4, "columns")
	sizes := make([]int, 0, n)
	for range n {
		c := &Column{Name: d.String("column"), Kind: Kind(min(d.Uint(), 255)), Words: d.Strings("words")}
		if len(c.Words) > 63 || c.Kind == Word && len(c.Words) == 0 {
			d.Fail(d.Off, "column %s has %d words", c.Name, len(c.Words))
		}
		sizes = append(sizes, int(d.UpTo(uint64(len(d.Data)), "size of a column")))
		t.Columns = append(t.Columns, c)
	}
	for i, c := range t.Columns {
		c.data = d.Bytes(sizes[i], "column "+c.Name)
	}
	t.Rows = int(rows)
	if err := d.End(); err != nil {
		return nil, err
	}
	return t, t.checkRows()
}

// writeSection writes raw compressed, or as it is where that is no shorter.
// An end section is an empty one: a file that was cut lacks it.
func writeSection(w io.Writer, kind int, raw []byte) error {
	stored, method, err := compress(raw)
	if err != nil {
		return err
	}
	var h [sectionHeader]byte
	binary.LittleEndian.PutUint32(h[0:], uint32(kind))
	binary.LittleEndian.PutUint32(h[4:], method)
	binary.LittleEndian.PutUint64(h[8:], uint64(len(stored)))
	binary.LittleEndian.PutUint64(h[16:], uint64(len(raw)))
	binary.LittleEndian.PutUint32(h[24:], sectionCRC(h[:24], stored))
	if _, err := w.Write(h[:]); err != nil {
		return err
	}
	_, err = w.Write(stored)
	return err
}

// sectionCRC covers the header up to the CRC itself, and the stored bytes.
func sectionCRC(head, stored []byte) uint32 {
	return checksum(checksum(0, head), stored)
}

// compress returns raw in the form in which a section stores it. The fastest
// level is enough: the numbers are small already, and DEFLATE squeezes their
// repetition at any level. What it squeezes by more than readers allow
// is only given short codes. None stands for more than eight bytes.
func compress(raw []byte) (stored []byte, method uint32, err error) {
	for _, level := range []int{flate.BestSpeed, flate.HuffmanOnly} {
		if stored, err = deflate(raw, level); err != nil {
			return nil, 0, err
		}
		if uint64(len(raw)) <= maxExpanded(len(stored)) {
			break
		}
	}
	if len(stored) >= len(raw) {
		return raw, methodStored, nil
	}
	return stored, methodDeflate, nil
}

// Compressors that are not in use: making one takes longer than most tables do.
var speedWriters, huffmanWriters sync.Pool

func deflate(raw []byte, level int) ([]byte, error) {
	var buf bytes.Buffer
	writers := &speedWriters
	if level == flate.HuffmanOnly {
		writers = &huffmanWriters
	}
	zw, ok := writers.Get().(*flate.Writer)
	if ok {
		zw.Reset(&buf)
	} else {
		var err error
		if zw, err = flate.NewWriter(&buf, level); err != nil {
			return nil, err
		}
	}
	defer writers.Put(zw)
	if _, err := zw.Write(raw); err != nil {
		return nil, err
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// Read reads a file. An error names the offset in it, or, for what a section contains, the
// table and the offset in it. Checksums are compared, so that what is returned is what was
// written. It takes memory in proportion to the file, whatever the file claims.
func Read(r io.Reader) (*File, error) {
	sr := &sectionReader{r: r}
	if err := sr.fileHeader(); err != nil {
		return nil, err
	}
	f := new(File)
	for {
		t, err := sr.table()
		if err != nil {
			return nil, err
		}
		if t == nil {
			break
		}
		if t.Name != stringsTable {
			f.Tables = append(f.Tables, t)
			continue
		}
		if f.Strings, err = stringSchema().Rows(&File{Tables: []*Table{t}}, stringsTable); err != nil {
			return nil, err
		}
	}
	if len(f.Strings) == 0 {
		f.Strings = []string{""}
	}
	return f, sr.atEOF()
}

// ReadFirst reads a file up to the end of its first table.
func ReadFirst(r io.Reader) (*File, error) {
	sr := &sectionReader{r: r}
	if err := sr.fileHeader(); err != nil {
		return nil, err
	}
	t, err := sr.table()
	if err != nil || t == nil {
		return nil, err
	}
	return &File{Strings: []string{""}, Tables: []*Table{t}}, nil
}

// A sectionReader reads a sealed file section by section.
// It reads each byte once and forwards, so that a pipe will do.
type sectionReader struct {
	r   io.Reader
	off int64 // bytes read so far
}

// read returns the next n bytes. It allocates only as the bytes arrive, so
// that a damaged length costs no memory.
func (sr *sectionReader) read(n uint64, what string) ([]byte, error) {
	var buf bytes.Buffer
	got, err := io.CopyN(&buf, sr.r, int64(min(n, 1<<62)))
	sr.off += got
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("offset %d: file ends in %s", sr.off, what)
	}
	if err != nil {
		return nil, fmt.Errorf("offset %d: %s: %w", sr.off, what, err)
	}
	return buf.Bytes(), nil
}

// fileHeader reads the magic and the version. Each way to be wrong has its own
// message: another kind of file, another version of stemma, a flipped bit.
func (sr *sectionReader) fileHeader() error {
	h, err := sr.read(fileHeader, "the file header")
	if err != nil {
		return err
	}
	if !Is(h) {
		return fmt.Errorf("offset 0: not a stemma profile (have %q, want %q)", h[:8], fileMagic)
	}
	if v := binary.LittleEndian.Uint32(h[8:]); v != fileVersion {
		return fmt.Errorf("offset 8: format version %d (want %d); seal the live directory again, or use the stemma "+
			"that wrote the file", v, fileVersion)
	}
	if v := binary.LittleEndian.Uint32(h[12:]); v != 0 {
		return fmt.Errorf("offset 12: have %#x, want 0", v)
	}
	return nil
}

// table reads the next section, which is a table, or the end: then it returns nil.
func (sr *sectionReader) table() (*Table, error) {
	start := sr.off
	h, err := sr.read(sectionHeader, "the header of a section")
	if err != nil {
		return nil, err
	}
	d, err := sr.body(start, h)
	if err != nil {
		return nil, err
	}
	switch kind := binary.LittleEndian.Uint32(h); kind {
	case secEnd:
		return nil, d.End()
	case secTable:
		return decodeTable(d)
	default:
		return nil, fmt.Errorf("offset %d: section of kind %d, want %d (table) or %d (end)", start, kind, secTable,
			secEnd)
	}
}

// body returns the bytes of the section behind its header.
// The checksum is compared before anything in the section is believed.
func (sr *sectionReader) body(start int64, h []byte) (*Decoder, error) {
	stored, err := sr.read(binary.LittleEndian.Uint64(h[8:]), "a section")
	if err != nil {
		return nil, err
	}
	if sum := sectionCRC(h[:24], stored); sum != binary.LittleEndian.Uint32(h[24:]) ||
		binary.LittleEndian.Uint32(h[28:]) != 0 {
		return nil, fmt.Errorf("offset %d: the section is damaged: checksum %#08x, want %#08x", start, sum,
			binary.LittleEndian.Uint32(h[24:]))
	}
	raw, err := expand(stored, binary.LittleEndian.Uint32(h[4:]), binary.LittleEndian.Uint64(h[16:]))
	if err != nil {
		return nil, fmt.Errorf("offset %d: %w", start, err)
	}
	return &Decoder{Data: raw, Where: fmt.Sprintf("section at offset %d", start)}, nil
}

// atEOF makes sure that nothing follows the last section: a file that was
// appended to is not what was sealed.
func (sr *sectionReader) atEOF() error {
	var b [1]byte
	n, err := io.ReadFull(sr.r, b[:])
	if n != 0 {
		return fmt.Errorf("offset %d: bytes after the end of the profile", sr.off)
	}
	if err != io.EOF {
		return fmt.Errorf("offset %d: %w", sr.off, err)
	}
	return nil
}

// expand undoes compress.
// size is what the header says; a stream that yields more or less is an error, and
// one that would yield more than any writer lets it is not even begun.
func expand(stored []byte, method uint32, size uint64) ([]byte, error) {
	switch method {
	case methodStored:
		if uint64(len(stored)) != size {
			return nil, fmt.Errorf("%d bytes stored, want %d", len(stored), size)
		}
		return stored, nil
	case methodDeflate:
	default:
		return nil, fmt.Errorf("unknown compression method %d", method)
	}
	if most := maxExpanded(len(stored)); size > most {
		return nil, fmt.Errorf("%d bytes that expand to %d, want at most %d", len(stored), size, most)
	}
	raw := bytes.NewBuffer(make([]byte, 0, size))
	n, err := io.Copy(raw, io.LimitReader(flate.NewReader(bytes.NewReader(stored)), int64(size)+1))
	if err != nil {
		return nil, err
	}
	if uint64(n) != size {
		return nil, fmt.Errorf("expands to %d bytes, want %d", n, size)
	}
	return raw.Bytes(), nil
}
