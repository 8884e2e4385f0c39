package profile

import (
	"encoding/binary"
	"fmt"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// liveFuncs are the functions of a live directory, by their addresses.
type liveFuncs struct {
	byID    map[uint64]uint32
	sizes   []uint32          // of the node in bytes, for each function of the profile
	used    int64             // bytes of the file that were read
	unknown map[uint64]uint32 // the same for functions whose record is damaged, by their addresses
}

// A funcsReader reads the file funcs into a profile.
// Strings that several records share are one string of the profile.
type funcsReader struct {
	*liveFuncs
	live    *Live
	p       *Profile
	strings map[string]uint32
	next    int64 // offset of the record to be read next
}

// newFuncsReader returns a reader that has read nothing yet.
func (l *Live) newFuncsReader() *funcsReader {
	lf := &liveFuncs{byID: make(map[uint64]uint32), unknown: make(map[uint64]uint32)}
	r := &funcsReader{liveFuncs: lf, live: l, p: l.Profile, strings: map[string]uint32{"": 0}}
	r.addRoot()
	return r
}

// read reads the records in the used bytes of funcs, from where it ended the last
// time, and adds the functions to the profile. A record without a length is being
// written: it is the last.
func (r *funcsReader) read() error {
	f, err := openFile(r.live.fsys, fileFuncs)
	if err != nil {
		return err
	}
	defer f.close()
	end := min(r.live.header.funcsUsed, f.size)
	r.used, f.used = end, end
	for r.next+rt.FuncHeaderSize <= end {
		size, err := r.record(f, r.next, end)
		if r.live.pagesLost() && size == 0 {
			size, err = r.salvage(f, r.next, end, err)
		}
		if err != nil {
			return err
		}
		if size == 0 {
			break
		}
		r.next += size
	}
	return nil
}

// addRoot makes the root function 0 even if the program did not get as far as
// writing its record.
// Its record, when it comes, replaces the function.
func (r *funcsReader) addRoot() {
	r.p.Funcs = append(r.p.Funcs, Func{Kind: FuncRoot, Cells: rt.NumRoots, Counters: 1})
	r.sizes = append(r.sizes, alignUp(rt.NodeCells+4*rt.NumRoots))
	r.byID[rt.RootFunc] = 0
}

// alignUp rounds up to the alignment of objects.
func alignUp(n uint32) uint32 { return (n + 7) &^ 7 }

// A funcHeader is the fixed part of a record of funcs.
// Lengths are in bytes; strings is a number of them.
type funcHeader struct {
	length, kind    uint32
	id              uint64
	nodeSize, flags uint32
	strings, blob   uint32
}

// readFuncHeader reads the fixed part of the record at off.
func readFuncHeader(f *liveFile, off int64) (h funcHeader, err error) {
	b, err := f.at(off, rt.FuncHeaderSize)
	if err != nil {
		return h, err
	}
	le := binary.LittleEndian
	return funcHeader{le.Uint32(b), le.Uint32(b[4:]), le.Uint64(b[8:]), le.Uint32(b[16:]), le.Uint32(b[20:]), le.Uint32(b[24:]), le.Uint32(b[28:])}, nil
}

// checkLength checks the length of a record where room bytes are in use.
func (h *funcHeader) checkLength(room int64) error {
	if h.length < rt.FuncHeaderSize || h.length%8 != 0 || int64(h.length) > room {
		return fmt.Errorf("record of %d bytes, but %d are in use", h.length, room)
	}
	return nil
}

// checkNode checks what the tree walk needs: whose nodes, and how large.
func (h *funcHeader) checkNode() error {
	if h.id == 0 || h.id&7 != 0 {
		return fmt.Errorf("not an aligned address")
	}
	if h.nodeSize < rt.NodeCells || h.nodeSize%8 != 0 {
		return fmt.Errorf("node of %d bytes, want at least %d and a multiple of 8", h.nodeSize, rt.NodeCells)
	}
	return nil
}

// record reads the record at off and returns its size, 0 at the end or with an
// error.
func (r *funcsReader) record(f *liveFile, off, end int64) (int64, error) {
	h, err := readFuncHeader(f, off)
	if err != nil || h.length == 0 {
		return 0, err
	}
	if err := h.checkLength(end - off); err != nil {
		return 0, f.fail(off, "%w", err)
	}
	if r.live.pagesLost() {
		if err := f.checkPages(off, int64(h.length), end); err != nil {
			return 0, err
		}
	}
	b, err := f.at(off, int(h.length))
	if err != nil {
		return 0, err
	}
	if h.kind == rt.RecPCs && r.p.Contexts != nil {
		if err := r.code(b); err != nil {
			return 0, f.fail(off, "function %#x: %w", h.id, err)
		}
		return int64(h.length), nil
	}
	table, blob, err := h.split(b)
	if err != nil {
		return 0, f.fail(off, "%w", err)
	}
	d := &decoder{data: b[blob : blob+int(h.blob)], where: "blob", base: off + int64(blob)}
	if err := r.add(h, table, d); err != nil {
		return 0, f.fail(off, "function %#x: %w", h.id, err)
	}
	return int64(h.length), nil
}

// split returns the strings of a record and the place of its blob.
// b is the whole record. A length that leads out of it is an error.
func (h *funcHeader) split(b []byte) (table []string, blob int, err error) {
	if uint64(h.strings) > uint64(len(b)-rt.FuncHeaderSize)/4 {
		return nil, 0, fmt.Errorf("%d strings in a record of %d bytes", h.strings, len(b))
	}
	lengths := b[rt.FuncHeaderSize:][:4*h.strings]
	at := uint64(rt.FuncHeaderSize + len(lengths))
	for i := range h.strings {
		n := uint64(binary.LittleEndian.Uint32(lengths[4*i:]))
		if at+n > uint64(len(b)) {
			return nil, 0, fmt.Errorf("string %d of %d bytes does not fit the record", i, n)
		}
		table = append(table, string(b[at:at+n]))
		at += n
	}
	if at+uint64(h.blob) > uint64(len(b)) {
		return nil, 0, fmt.Errorf("blob of %d bytes does not fit the record", h.blob)
	}
	return table, int(at), nil
}

// add adds the function of a record. A function may be recorded twice, when
// two threads enter it first at the same time.
func (r *funcsReader) add(h funcHeader, table []string, d *decoder) error {
	if err := h.checkNode(); err != nil && r.p.Contexts == nil {
		return err
	}
	fn, err := r.decode(h, &blobReader{d, r.intern(table)})
	if err != nil {
		return err
	}
	if err := fn.check(len(r.p.Strings)); err != nil {
		return err
	}
	if have := uint64(h.nodeSize); r.p.Contexts == nil && (have < rt.NodeCells+4*uint64(fn.Cells) || have < 8*uint64(fn.Counters)) {
		return fmt.Errorf("node of %d bytes for %d cells and %d counters", have, fn.Cells, fn.Counters)
	}
	if old, ok := r.byID[h.id]; ok && h.id != rt.RootFunc {
		if r.sizes[old] != h.nodeSize {
			return fmt.Errorf("recorded twice, with nodes of %d and %d bytes", r.sizes[old], h.nodeSize)
		}
		return nil
	}
	if h.id == rt.RootFunc {
		r.p.Funcs[0], r.sizes[0] = fn, h.nodeSize
		return nil
	}
	r.byID[h.id] = uint32(len(r.p.Funcs))
	r.p.Funcs = append(r.p.Funcs, fn)
	r.sizes = append(r.sizes, h.nodeSize)
	return nil
}

// intern returns the indexes of the strings in the profile, from 1 on; 0
// stands for "".
func (r *funcsReader) intern(table []string) []uint32 {
	list := make([]uint32, len(table)+1)
	for i, s := range table {
		k, ok := r.strings[s]
		if !ok {
			k = uint32(len(r.p.Strings))
			r.strings[s] = k
			r.p.Strings = append(r.p.Strings, s)
		}
		list[i+1] = k
	}
	return list
}

// decode reads the blob of a record. Those of the root and the overflow node
// list their cells as call sites, which only the runtime needs.
func (r *funcsReader) decode(h funcHeader, b *blobReader) (Func, error) {
	switch {
	case h.id == rt.RootFunc:
		return Func{Kind: FuncRoot, Name: b.string("name"), Cells: rt.NumRoots, Counters: 1}, b.err
	case h.id == rt.OverflowFunc:
		return Func{Kind: FuncOverflow, Name: b.string("name"), Counters: 1}, b.err
	case h.kind == rt.RecFault:
		return b.fault(), b.end()
	case h.kind != rt.RecFunc:
		return Func{}, fmt.Errorf("unknown kind of record %d", h.kind)
	}
	fn := b.function()
	if h.flags&rt.MetaFlagWrapper != 0 {
		fn.Flags |= FuncWrapper
	}
	if h.flags&rt.MetaFlagAsm != 0 {
		fn.Flags |= FuncAsm
	}
	return fn, b.end()
}

// A blobReader decodes the blob of a record.
// Errors name the offset in funcs, not in the blob.
type blobReader struct {
	*decoder
	table []uint32 // 0, and the record's strings as indexes into the profile's
}

// pick reads an index into table and returns the element.
func (b *blobReader) pick(table []uint32, what string) uint32 {
	start := b.off
	i := b.uint()
	if b.err == nil && i >= uint64(len(table)) {
		b.fail(start, "%s %d is not one of %d", what, i, len(table))
	}
	if b.err != nil {
		return 0
	}
	return table[i]
}

// string reads an index into the record's strings and returns the profile's.
func (b *blobReader) string(what string) uint32 { return b.pick(b.table[1:], what) }

// optional reads a string index plus one; 0 stands for no string.
func (b *blobReader) optional(what string) uint32 {
	return b.pick(b.table, what)
}

// fault reads the blob of a RecFault.
func (b *blobReader) fault() Func {
	fn := Func{Kind: FuncFault, Name: b.string("name"), Cells: 1, Counters: 1}
	for range b.count(3, "frames") {
		fn.Frames = append(fn.Frames, Frame{b.string("function"), b.string("file"), b.u32("line")})
	}
	return fn
}

// function reads the blob of a RecFunc. The numbers of cells and counters are
// not written: they follow from the largest index.
func (b *blobReader) function() Func {
	fn := Func{Name: b.string("name"), Line: b.u32("start line"), Counters: 1}
	files := make([]uint32, 0, b.count(1, "files"))
	for range cap(files) {
		files = append(files, b.string("file"))
	}
	if len(files) > 0 {
		fn.File = files[0]
	}
	known := append([]uint32{0}, files...)
	for range b.count(rt.InlinedNumbers, "inlined calls") {
		fn.Inlined = append(fn.Inlined, Inlined{b.index("parent"), b.string("callee"), b.pick(files, "file"), b.u32("line"), b.counter(&fn),
			b.pick(known, "callee's file"), b.u32("callee's line")})
	}
	for range b.count(7, "sites") {
		s := Site{SiteKind(b.upTo(uint64(numSiteKinds-1), "kind")), b.index("inlined call"), b.pick(files, "file"),
			b.u32("line"), b.optional("callee"), b.index("cell"), b.counter(&fn)}
		fn.Cells = max(fn.Cells, uint32(s.Cell+1))
		fn.Sites = append(fn.Sites, s)
	}
	return fn
}

// counter reads an optional counter and makes room for it in fn.
func (b *blobReader) counter(fn *Func) int32 {
	c := b.index("counter")
	fn.Counters = max(fn.Counters, uint32(c+1))
	return c
}
