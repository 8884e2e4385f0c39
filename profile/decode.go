package profile

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// IsSealed tells whether a file that begins with head, at least 8 bytes of it,
// is a sealed profile.
func IsSealed(head []byte) bool {
	return bytes.HasPrefix(head, []byte(fileMagic))
}

// Read reads a sealed file. An error names the offset in the file, or for a
// damage inside a compressed section the offset in the section.
// It checks all that [Profile.CheckValid] does, and checksums, so that a profile
// that is returned is the one that was written. It needs memory in proportion to
// the file, whatever the file claims.
func Read(r io.Reader) (*Profile, error) {
	sr := &sectionReader{r: r}
	if err := sr.fileHeader(); err != nil {
		return nil, err
	}
	h, err := sr.head("section " + sectionNames[secProcesses])
	if err != nil {
		return nil, err
	}
	if h.kind == secFile {
		return readContexts(sr, h)
	}
	p := new(Profile)
	for _, kind := range sectionOrder {
		if kind == secSamples && h.kind != secSamples {
			continue // the profile has no samples, this is the next section
		}
		if h.kind != kind {
			return nil, fmt.Errorf("offset %d: section %d, want %d (%s)", h.start, h.kind, kind, sectionNames[kind])
		}
		d, err := sr.body(h)
		if err != nil {
			return nil, err
		}
		p.decodeSection(d, kind)
		if err := d.end(); err != nil {
			return nil, err
		}
		if kind == secEnd {
			break
		}
		if h, err = sr.head("section " + sectionNames[min(kind+1, secEnd)]); err != nil {
			return nil, err
		}
	}
	if err := sr.atEOF(); err != nil {
		return nil, err
	}
	if err := p.CheckValid(); err != nil {
		return nil, fmt.Errorf("offset %d: %w", sr.off, err)
	}
	return p, nil
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
	if !IsSealed(h) {
		return fmt.Errorf("offset 0: not a stemma profile (have %q, want %q)", h[:8], fileMagic)
	}
	if v := binary.LittleEndian.Uint32(h[8:]); v != fileVersion {
		return fmt.Errorf("offset 8: format version %d (want %d); use the stemma that wrote the file", v, fileVersion)
	}
	if v := binary.LittleEndian.Uint32(h[12:]); v != 0 {
		return fmt.Errorf("offset 12: have %#x, want 0", v)
	}
	return nil
}

// A sectionHead is the header of a section.
type sectionHead struct {
	start int64 // offset in the file
	kind  int
	bytes []byte
}

// head reads the header of the next section; what says which one that should be.
func (sr *sectionReader) head(what string) (sectionHead, error) {
	h := sectionHead{start: sr.off}
	var err error
	if h.bytes, err = sr.read(sectionHeader, "the header of "+what); err != nil {
		return h, err
	}
	h.kind = int(binary.LittleEndian.Uint32(h.bytes))
	return h, nil
}

// body returns the bytes of the section, of a known kind, behind its header.
// The checksum is compared before anything in the section is believed.
func (sr *sectionReader) body(head sectionHead) (*decoder, error) {
	h, start, name := head.bytes, head.start, sectionNames[head.kind]
	stored, err := sr.read(binary.LittleEndian.Uint64(h[8:]), "section "+name)
	if err != nil {
		return nil, err
	}
	if sum := sectionCRC(h[:24], stored); sum != binary.LittleEndian.Uint32(h[24:]) || binary.LittleEndian.Uint32(h[28:]) != 0 {
		return nil, fmt.Errorf("offset %d: section %s is damaged: checksum %#08x, want %#08x", start, name, sum, binary.LittleEndian.Uint32(h[24:]))
	}
	raw, err := expand(stored, binary.LittleEndian.Uint32(h[4:]), binary.LittleEndian.Uint64(h[16:]))
	if err != nil {
		return nil, fmt.Errorf("offset %d: section %s: %w", start, name, err)
	}
	return &decoder{data: raw, where: "section " + name}, nil
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

// decodeSection reads the contents of one section into p. Sections refer only
// to earlier ones, so what they say can be checked at once.
func (p *Profile) decodeSection(d *decoder, kind int) {
	switch kind {
	case secProcesses:
		n := d.count(8, "processes")
		for range n {
			p.Processes = append(p.Processes, d.process())
		}
	case secStrings:
		p.Strings = d.strings("strings")
	case secFuncs:
		n := d.count(10, "functions")
		p.Funcs = make([]Func, 0, n)
		for i := 0; i < n && d.err == nil; i++ {
			p.decodeFunc(d)
		}
	case secSamples:
		p.decodeSamples(d)
	case secNodes:
		p.decodeNodes(d)
	case secCounts:
		p.decodeCounts(d)
	}
}

// process reads one process.
// A value that Write would not have written, a start that has no time.Time say, is
// an error: reading and writing must be the identity.
func (d *decoder) process() Process {
	proc := Process{Args: d.strings("arguments"), Run: d.uint(), PID: int(d.u32("process ID"))}
	if start := d.upTo(1<<63-1, "start"); start != 0 {
		proc.Start = time.Unix(0, int64(start)).UTC()
	}
	proc.GoVersion = d.string("Go version")
	proc.Engine = d.string("engine")
	flags := d.upTo(procFull|procChecked, "flags")
	proc.Full, proc.Checked = flags&procFull != 0, flags&procChecked != 0
	for range d.count(2, "losses") {
		proc.Losses = append(proc.Losses, Loss{d.string("loss"), d.uint()})
	}
	proc.Notes = d.strings("notes")
	return proc
}

// decodeFunc reads one function and checks it while the offset is at hand. The
// capacity of each list is its length: count has bounded it.
func (p *Profile) decodeFunc(d *decoder) {
	start := d.off
	f := Func{Kind: FuncKind(d.upTo(uint64(numFuncKinds-1), "kind")), Flags: uint8(d.upTo(funcFlags, "flags"))}
	f.Name, f.File, f.Line = d.u32("name"), d.u32("file"), d.u32("line")
	f.Cells, f.Counters = d.u32("cells"), d.u32("counters")
	f.Inlined = make([]Inlined, 0, d.count(7, "inlined calls"))
	for range cap(f.Inlined) {
		f.Inlined = append(f.Inlined, Inlined{d.index("parent"), d.u32("callee"), d.u32("file"), d.u32("line"), d.index("counter"),
			d.u32("callee's file"), d.u32("callee's line")})
	}
	f.Sites = make([]Site, 0, d.count(7, "sites"))
	for range cap(f.Sites) {
		f.Sites = append(f.Sites, Site{SiteKind(d.upTo(uint64(numSiteKinds-1), "kind")), d.index("inlined call"),
			d.u32("file"), d.u32("line"), d.u32("callee"), d.index("cell"), d.index("counter")})
	}
	f.Frames = make([]Frame, 0, d.count(3, "frames"))
	for range cap(f.Frames) {
		f.Frames = append(f.Frames, Frame{d.u32("function"), d.u32("file"), d.u32("line")})
	}
	if d.err == nil {
		if err := f.check(len(p.Strings)); err != nil {
			d.fail(start, "function %d: %w", len(p.Funcs), err)
		}
	}
	p.Funcs = append(p.Funcs, f)
}

// decodeNodes reads the nodes and gives each its place among the counters,
// which stand in the order of the nodes.
func (p *Profile) decodeNodes(d *decoder) {
	n := d.count(3, "nodes")
	p.Nodes = make([]Node, 0, n)
	var counters uint64
	for i := 0; i < n && d.err == nil; i++ {
		start := d.off
		node := Node{Func: d.u32("function")}
		up := d.upTo(uint64(i), "distance to the parent")
		node.Parent, node.Cell, node.First = uint32(i)-uint32(up), d.u32("cell"), uint32(counters)
		if d.err == nil && uint64(node.Func) >= uint64(len(p.Funcs)) {
			d.fail(start, "node %d: function %d is not one of %d", i, node.Func, len(p.Funcs))
			return
		}
		if d.err == nil {
			counters += uint64(p.Funcs[node.Func].Counters)
		}
		p.Nodes = append(p.Nodes, node)
	}
	if counters > 1<<32-1 {
		d.fail(0, "%d counters, want less than %d", counters, uint64(1)<<32)
	}
}

// decodeCounts reads the counters. Each takes a byte at least, so the size of
// the section bounds what is allocated.
func (p *Profile) decodeCounts(d *decoder) {
	var n uint64
	for _, node := range p.Nodes {
		n += uint64(p.Funcs[node.Func].Counters)
	}
	if n > uint64(len(d.data)) {
		d.fail(0, "%d counters, but only %d bytes follow", n, len(d.data))
		return
	}
	p.Counts = make([]uint64, n)
	for i := range p.Counts {
		p.Counts[i] = d.uint()
	}
}
