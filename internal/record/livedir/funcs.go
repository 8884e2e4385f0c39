package livedir

import (
	"fmt"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/sealed"
	"github.com/stemma-go/stemma/profile"
)

// A FuncsReader reads the file funcs into a profile.
// Strings that several records share are one string of the profile.
type FuncsReader struct {
	ByID    map[uint64]uint32 // functions of the profile by their addresses
	Used    int64             // bytes of the file that were read
	unknown map[uint64]uint32 // sizes of nodes of functions whose record is damaged, by their addresses
	sizes   []uint32          // of the node in bytes, for each function of the profile

	live    *Dir
	p       *profile.Profile
	strings map[string]uint32
	labels  map[string]uint32 // functions of labels by what they say
	next    int64             // offset of the record to be read next
	code    func(*Code) error
}

// Code is a record of return addresses: where the code of a function lies, and which call
// returns where.
type Code struct {
	Entry uint64
	Size  uint32
	Func  uint32      // index into Profile.Funcs
	Calls [][2]uint32 // offset that a call returns to, site
}

// NewFuncsReader returns a reader that has read nothing yet. The directory's header is known. code gets the records of
// return addresses, which only a record of context IDs has.
func (l *Dir) NewFuncsReader(code func(*Code) error) *FuncsReader {
	r := &FuncsReader{
		ByID: make(map[uint64]uint32), unknown: make(map[uint64]uint32),
		live: l, p: l.Profile, strings: map[string]uint32{"": 0}, code: code,
		labels: make(map[string]uint32),
	}
	r.addRoot()
	return r
}

// Read reads the records in the used bytes of funcs, from where it ended the last
// time, and adds the functions to the profile. A record without a length is being
// written: it is the last.
func (r *FuncsReader) Read() error {
	f, err := OpenFile(r.live.FS, layout.FileFuncs)
	if err != nil {
		return err
	}
	defer f.Close()
	end, err := f.Has(r.live.Header.FuncsUsed)
	if err != nil {
		return err
	}
	r.Used = end
	f.Limit(end)
	for r.next+layout.FuncRecordSize <= end {
		size, err := r.record(f, r.next, end)
		if r.live.PagesLost() && size == 0 {
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

// addRoot knows the root, function 0 of a new profile, even if the program did not get as
// far as writing its record. Its record, when it comes, replaces the function.
func (r *FuncsReader) addRoot() {
	r.sizes = append(r.sizes, uint32(layout.NodeBytes(layout.NumRoots, 1)))
	r.ByID[layout.RootFunc] = 0
}

// A funcHeader is the fixed part of a record of funcs.
type funcHeader layout.FuncRecord

// readFuncHeader reads the fixed part of the record at off.
func readFuncHeader(f *File, off int64) (h funcHeader, err error) {
	b, err := f.At(off, layout.FuncRecordSize)
	if err != nil {
		return h, err
	}
	return raw.Load[funcHeader](b), nil
}

// checkLength checks the length of a record where room bytes are in use.
func (h *funcHeader) checkLength(room int64) error {
	if h.Length < layout.FuncRecordSize || h.Length%8 != 0 || int64(h.Length) > room {
		return fmt.Errorf("record of %d bytes, but %d are in use", h.Length, room)
	}
	return nil
}

// checkNode checks what the tree walk needs: whose nodes, and how large.
func (h *funcHeader) checkNode() error {
	if h.ID == 0 || h.ID&7 != 0 {
		return fmt.Errorf("not an aligned address")
	}
	if h.NodeSize < layout.NodeSize || h.NodeSize%8 != 0 {
		return fmt.Errorf("node of %d bytes, want at least %d and a multiple of 8", h.NodeSize, layout.NodeSize)
	}
	return nil
}

// record reads the record at off and returns its size, 0 at the end or with an
// error.
func (r *FuncsReader) record(f *File, off, end int64) (int64, error) {
	h, err := readFuncHeader(f, off)
	if err != nil || h.Length == 0 {
		return 0, err
	}
	if err := h.checkLength(end - off); err != nil {
		return 0, f.Fail(off, "%w", err)
	}
	if r.live.PagesLost() {
		if err := f.checkPages(off, int64(h.Length), end); err != nil {
			return 0, err
		}
	}
	b, err := f.At(off, int(h.Length))
	if err != nil {
		return 0, err
	}
	if layout.IsPCs(r.live.Header.Flags, h.Kind) {
		if err := r.returns(b); err != nil {
			return 0, f.Fail(off, "function %#x: %w", h.ID, err)
		}
		return int64(h.Length), nil
	}
	table, blob, err := h.split(b)
	if err != nil {
		return 0, f.Fail(off, "%w", err)
	}
	d := &sealed.Decoder{Data: b[blob : blob+int(h.BlobLen)], Where: "blob", Base: off + int64(blob)}
	if err := r.add(h, table, d); err != nil {
		return 0, f.Fail(off, "function %#x: %w", h.ID, err)
	}
	return int64(h.Length), nil
}

// lengthSize is the size of the length of a string in a record.
const lengthSize = 4

// split returns the strings of a record and the place of its blob.
// b is the whole record. A length that leads out of it is an error.
func (h *funcHeader) split(b []byte) (table []string, blob int, err error) {
	if uint64(h.Strings) > uint64(len(b)-layout.FuncRecordSize)/lengthSize {
		return nil, 0, fmt.Errorf("%d strings in a record of %d bytes", h.Strings, len(b))
	}
	lengths := b[layout.FuncRecordSize:][:lengthSize*h.Strings]
	at := uint64(layout.FuncRecordSize + len(lengths))
	for i := range h.Strings {
		n := uint64(raw.Load[uint32](lengths[lengthSize*i:]))
		if at+n > uint64(len(b)) {
			return nil, 0, fmt.Errorf("string %d of %d bytes does not fit the record", i, n)
		}
		table = append(table, string(b[at:at+n]))
		at += n
	}
	if at+uint64(h.BlobLen) > uint64(len(b)) {
		return nil, 0, fmt.Errorf("blob of %d bytes does not fit the record", h.BlobLen)
	}
	return table, int(at), nil
}

// add adds the function of a record. A function may be recorded twice, when
// two threads enter it first at the same time.
func (r *FuncsReader) add(h funcHeader, table []string, d *sealed.Decoder) error {
	if err := h.checkNode(); err != nil && r.live.Header.hasNodes() {
		return err
	}
	fn, err := r.decode(h, &FuncReader{Decoder: d, Table: r.intern(table)})
	if err != nil {
		return err
	}
	if err := fn.Check(len(r.p.Strings)); err != nil {
		return err
	}
	if have := uint64(h.NodeSize); r.live.Header.hasNodes() &&
		(have < layout.NodeSize+layout.CellSize*uint64(fn.Cells) || have < layout.CounterSize*uint64(fn.Counters)) {
		return fmt.Errorf("node of %d bytes for %d cells and %d counters", have, fn.Cells, fn.Counters)
	}
	if old, ok := r.ByID[h.ID]; ok && h.ID != layout.RootFunc {
		if r.sizes[old] != h.NodeSize {
			return fmt.Errorf("recorded twice, with nodes of %d and %d bytes", r.sizes[old], h.NodeSize)
		}
		return nil
	}
	if h.ID == layout.RootFunc {
		r.p.Funcs[0], r.sizes[0] = fn, h.NodeSize
		return nil
	}
	if fn.Kind == profile.FuncLabels { // those of all lanes are one
		text := fmt.Sprint(fn.Frames)
		if same, ok := r.labels[text]; ok {
			r.ByID[h.ID] = same
			return nil
		}
		r.labels[text] = uint32(len(r.p.Funcs))
	}
	r.ByID[h.ID] = uint32(len(r.p.Funcs))
	r.p.Funcs = append(r.p.Funcs, fn)
	r.sizes = append(r.sizes, h.NodeSize)
	return nil
}

// intern returns the indexes of the strings in the profile, from 1 on; 0
// stands for "".
func (r *FuncsReader) intern(table []string) []uint32 {
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
func (r *FuncsReader) decode(h funcHeader, b *FuncReader) (profile.Func, error) {
	switch {
	case h.ID == layout.RootFunc:
		return profile.Func{Kind: profile.FuncRoot, Name: b.Name("name"), Cells: layout.NumRoots, Counters: 1}, b.Err
	case h.ID == layout.OverflowFunc, h.ID == layout.BypassFunc:
		return profile.Func{Kind: profile.FuncOverflow, Name: b.Name("name"), Counters: 1}, b.Err
	case h.Kind == layout.RecFault:
		return b.Fault(), b.End()
	case h.Kind == layout.RecAlloc:
		return b.Alloc(), b.End()
	case h.Kind == layout.RecWait:
		return b.Wait(), b.End()
	case h.Kind == layout.RecHeld:
		return b.Held(), b.End()
	case h.Kind == layout.RecRun:
		return b.Run(), b.End()
	case h.Kind == layout.RecMetric:
		return b.Metric(), b.End()
	case h.Kind == layout.RecLabels:
		return b.Labels(), b.End()
	case h.Kind != layout.RecFunc:
		return profile.Func{}, fmt.Errorf("unknown kind of record %d", h.Kind)
	}
	fn := b.Function()
	if h.Flags&layout.MetaFlagWrapper != 0 {
		fn.Flags |= profile.FuncWrapper
	}
	if h.Flags&layout.MetaFlagAsm != 0 {
		fn.Flags |= profile.FuncAsm
	}
	if h.Flags&layout.MetaFlagAdapter != 0 {
		fn.Flags |= profile.FuncAdapter
	}
	if h.Flags&layout.MetaFlagNew != 0 {
		fn.Flags |= profile.FuncNew
	}
	return fn, b.End()
}

// returns reads a record of kind layout.RecPCs, which b is the whole of.
func (r *FuncsReader) returns(b []byte) error {
	h := raw.Load[layout.PCsRecord](b)
	code := &Code{Entry: h.Entry, Size: h.Size}
	fn, ok := r.ByID[h.ID]
	if !ok {
		if r.unknown[h.ID] != 0 || r.live.PagesLost() {
			return nil
		}
		return fmt.Errorf("return addresses of a function without a record")
	}
	code.Func = fn
	switch {
	case uint64(h.Pairs) > uint64(len(b)-layout.PCsRecordSize)/layout.PCPairSize:
		return fmt.Errorf("%d return addresses in a record of %d bytes", h.Pairs, len(b))
	case code.Entry+uint64(code.Size) < code.Entry:
		return fmt.Errorf("%d bytes of code at %#x", code.Size, code.Entry)
	}
	code.Calls = make([][2]uint32, h.Pairs)
	for i := range code.Calls {
		pair := raw.Load[layout.PCPair](b[layout.PCsRecordSize+layout.PCPairSize*i:])
		if pair.Return > code.Size || uint64(pair.Site) >= uint64(len(r.p.Funcs[fn].Sites)) {
			return fmt.Errorf("return address %d: offset %d of %d bytes, site %d of %d", i, pair.Return, code.Size,
				pair.Site, len(r.p.Funcs[fn].Sites))
		}
		code.Calls[i] = [2]uint32{pair.Return, pair.Site}
	}
	return r.code(code)
}
