// Package recorder writes what every record has: header, records of functions, losses.
package recorder

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// A Recorder writes what every record has, but for those of samples: the header, and what
// there is to know about functions. The engines stand on top of it. Its methods must be called
// under the lock of the engine, unless they say otherwise.
//
// Any page of the mapped files may become zeros at any time: a disk that is full, a file that
// another process cuts. So what the recorder relies on is kept here; the header is a copy
// of it. The engines do the same.
//
// Nothing here points into the Go heap. Of the zero Recorder only Lost may be called; it does nothing.
type Recorder struct {
	mem       unsafe.Pointer // the header
	funcs     memory.Span    // the records
	funcsUsed uint64         // as in the header
	known     unsafe.Pointer // a hash set of the function IDs that have a record
	goroot    string         // replaces $GOROOT in the names of files
}

// Size of the memory that Init needs beside the files.
const (
	KnownSize = 1 << 23 // bytes of the hash set: 1<<20 function IDs
	knownMask = KnownSize/8 - 1
)

// Init makes r the writer of the header at mem, of a main file of size bytes, and of the
// function records. known and funcs are zeroed memory of KnownSize and funcsSize bytes; funcs is a
// span.
func (r *Recorder) Init(mem, known, funcs unsafe.Pointer, size, funcsSize uint64) {
	*r = Recorder{mem: mem, known: known, funcs: memory.NewSpan(funcs, funcsSize)}
	h := r.Header()
	copy(h.Magic[:], layout.Magic)
	h.Version = layout.Version
	h.Size, h.Used, h.FuncsSize = size, layout.HeaderSize, funcsSize
}

// Header returns the header, whose page may be lost.
func (r *Recorder) Header() *layout.Header { return (*layout.Header)(r.mem) }

// UsedFuncs returns the bytes of funcs that are in use: complete records. It may be called without the lock.
func (r *Recorder) UsedFuncs() uint64 { return memory.Load64(&r.funcsUsed) }

// Funcs returns the function records.
func (r *Recorder) Funcs() unsafe.Pointer { return r.funcs.At(0) }

// CopyFuncs copies function records, from an offset on and at most so many bytes, to the span of another file. It
// returns how many bytes that has in all, and reports whether there was room for them. It may be called without the
// lock.
func (r *Recorder) CopyFuncs(to *memory.Span, from, most uint64) (end uint64, ok bool) {
	end = min(r.UsedFuncs(), from+most)
	if !to.Need(end) {
		return from, false
	}
	n := end - from
	copy(unsafe.Slice((*byte)(to.At(from)), n), unsafe.Slice((*byte)(r.funcs.At(from)), n))
	return end, true
}

// Move makes r go on with another header, and with other memory for function records, which has all that there are.
func (r *Recorder) Move(mem unsafe.Pointer, funcs memory.Span) { r.mem, r.funcs = mem, funcs }

// Lost counts a loss of the given kind. It may be called without the lock, and in a signal
// handler.
//
//go:nosplit
func (r *Recorder) Lost(kind uint32) {
	if r.mem != nil { // a program that only samples has no such header
		memory.Add64(&r.Header().Lost[kind], 1)
	}
}

// Describe writes into the header what the program is.
// run is the run number; goroot is where the Go installation was when the program
// was linked, or "".
func (r *Recorder) Describe(run uint64, pid uint32, start uint64, goVersion, goroot string, args []string) {
	r.goroot = goroot
	h := r.Header()
	h.Run, h.PID, h.Start = run, pid, start
	h.GoVerLen = uint32(copy(h.GoVer[:], goVersion))
	dst := h.Args[:]
	n := 0
	for i, a := range args {
		if i > 0 && n < len(dst) {
			dst[n] = 0
			n++
		}
		n += copy(dst[n:], a)
	}
	h.ArgsLen = uint32(n)
}

// SetShards says how many shards there are.
func (r *Recorder) SetShards(n uint32) { r.Header().Shards = n }

// LostPage counts a page that the disk did not take. It is not under the
// lock: two at once may count as one.
func (r *Recorder) LostPage() { r.Lost(layout.LostPages) }

// FuncID returns the ID of a function: the address of its metadata.
func FuncID(meta *layout.Meta) uint64 { return uint64(uintptr(unsafe.Pointer(meta))) }

// Record writes the function's record, unless it has one. It reports false if
// the record does not fit: then nobody could read the function's nodes.
func (r *Recorder) Record(meta *layout.Meta) bool {
	w, isNew := r.beginNew(layout.FuncRecord{Kind: layout.RecFunc, ID: FuncID(meta), NodeSize: meta.NodeSize,
		Flags: meta.Flags &^ layout.MetaFlagNear, Strings: meta.Strings, BlobLen: meta.BlobLen})
	if !isNew {
		return true
	}
	for i := range meta.Strings {
		s, goroot := r.expand(metaString(meta, i))
		w.u32(uint32(len(goroot) + len(s)))
	}
	for i := range meta.Strings {
		s, goroot := r.expand(metaString(meta, i))
		w.str(goroot)
		w.str(s)
	}
	w.str(unsafe.String((*byte)(metaPart(meta, meta.Strings)), int(meta.BlobLen)))
	return w.End()
}

// metaPart returns where string i of the metadata stands; behind the last one stands the blob.
func metaPart(meta *layout.Meta, i uint32) unsafe.Pointer {
	size := uintptr(layout.MetaStringSize)
	if meta.Flags&layout.MetaFlagNear != 0 {
		size = layout.MetaAddrSize
	}
	return unsafe.Add(unsafe.Pointer(meta), layout.MetaSize+size*uintptr(i))
}

// metaString returns string i of the metadata.
func metaString(meta *layout.Meta, i uint32) string {
	part := metaPart(meta, i)
	if meta.Flags&layout.MetaFlagNear == 0 {
		return *(*string)(part) // as the compiler makes strings
	}
	text := (*[1 << 30]byte)(unsafe.Add(unsafe.Pointer(nil), uintptr((*layout.MetaAddr)(part).Addr)))
	n, i := 0, 0
	for shift := 0; ; shift += 7 {
		b := text[i]
		i++
		n |= int(b&0x7f) << shift
		if b < 0x80 {
			return unsafe.String(&text[i], n)
		}
	}
}

// expand returns s and what stands for the $GOROOT that the compiler left at
// its beginning, for the linker to replace.
func (r *Recorder) expand(s string) (rest, goroot string) {
	const prefix = "$GOROOT"
	if r.goroot != "" && len(s) > len(prefix) && s[:len(prefix)] == prefix && s[len(prefix)] == '/' {
		return s[len(prefix):], r.goroot
	}
	return s, ""
}

// RecordRoot writes the record of a function that does not exist, with one
// call site in each of its cells, unless it has one. It reports false if the record does not fit.
func (r *Recorder) RecordRoot(id uint64, name string, cells []string) bool {
	w, isNew := r.beginNew(layout.FuncRecord{
		Kind: layout.RecFunc, ID: id, NodeSize: uint32(layout.NodeBytes(len(cells), 1)),
		Strings: uint32(2 + len(cells)), BlobLen: uint32(4 + 2 + layout.BlobSite*len(cells) + 1),
	})
	if !isNew {
		return true
	}
	w.u32(uint32(len(name)))
	w.u32(0)
	for _, c := range cells {
		w.u32(uint32(len(c)))
	}
	w.str(name)
	for _, c := range cells {
		w.str(c)
	}
	// name 0, start line 0, one file: string 1; no inlined calls; the sites.
	w.bytes(0, 0, 1, 1, 0, byte(len(cells)))
	for k := range cells {
		w.bytes(layout.SiteCall, 0, 0, 0, byte(k+3), byte(k+1), 0)
	}
	w.bytes(0) // no weights
	return w.End()
}

// maxTypeName bounds the name of a type: those of generic types may be of any length.
const maxTypeName = 1 << 10

// RecordNamed writes the record of the allocations of a type, or of the waits for a reason, unless it has one; kind
// shows which. It reports false if the record does not fit.
func (r *Recorder) RecordNamed(kind uint32, id uint64, name string) bool {
	w, isNew := r.beginNew(layout.FuncRecord{Kind: kind, ID: id, NodeSize: layout.AmountSize, Strings: 1, BlobLen: 1})
	if !isNew {
		return true
	}
	name = name[:min(len(name), maxTypeName)]
	w.u32(uint32(len(name)))
	w.str(name)
	w.bytes(0)
	return w.End()
}

// RecordMetric writes the record of a metric of the program's own. It reports false if the record does not fit.
func (r *Recorder) RecordMetric(id uint64, name, unit string) bool {
	w := r.beginRecord(layout.FuncRecord{Kind: layout.RecMetric, ID: id, NodeSize: layout.AmountSize, Strings: 2,
		BlobLen: 2})
	w.u32(uint32(len(name)))
	w.u32(uint32(len(unit)))
	w.str(name)
	w.str(unit)
	w.bytes(0, 1)
	return w.End()
}

// RecordLabels writes the record of labels, keys and values in turn, unless it has one. It reports false if the record
// does not fit.
func (r *Recorder) RecordLabels(id uint64, words []string) bool {
	w, isNew := r.beginNew(layout.FuncRecord{Kind: layout.RecLabels, ID: id, NodeSize: layout.LabelsSize,
		Strings: uint32(len(words)), BlobLen: uint32(1 + len(words))})
	if !isNew {
		return true
	}
	for _, s := range words {
		w.u32(uint32(len(s)))
	}
	for _, s := range words {
		w.str(s)
	}
	w.bytes(byte(len(words) / 2))
	for i := range words {
		w.bytes(byte(i))
	}
	return w.End()
}

// unrecorded marks the ID, in the set, of what has no record since that did not fit. What would have a node of it is
// counted nowhere; and each time it is tried again, for there may be room by now.
const unrecorded = 1

// place returns where in the set an ID is, with a record or marked, or the free place where it belongs. It returns nil
// if all others are taken. Metadata lies side by side in memory, so the place in the set follows its address.
func (r *Recorder) place(id uint64) *uint64 {
	for h := range uint64(knownMask + 1) {
		e := (*uint64)(unsafe.Add(r.known, uintptr((id>>6+h)&knownMask)*unsafe.Sizeof(id)))
		if *e == 0 || *e&^unrecorded == id {
			return e
		}
	}
	return nil
}

// beginNew begins the record of what has the ID of head, and reports whether it has none yet.
func (r *Recorder) beginNew(head layout.FuncRecord) (w Writer, isNew bool) {
	at := r.place(head.ID)
	if at != nil && *at == head.ID {
		return w, false
	}
	w = r.beginRecord(head)
	w.known, w.id = at, head.ID
	w.full = w.full || at == nil
	return w, true
}

// A Writer appends one record to funcs. A record that does not fit is
// dropped and counted.
type Writer struct {
	r          *Recorder
	begin, off uint64
	full       bool
	known      *uint64 // the place of id in the set of those that have a record; nil for a record of something else
	id         uint64
}

// NewRecord begins a record of any kind.
func (r *Recorder) NewRecord() Writer { return Writer{r: r, begin: r.funcsUsed} }

// beginRecord begins a record with its head. The length comes last.
func (r *Recorder) beginRecord(head layout.FuncRecord) Writer {
	w := r.NewRecord()
	if p := w.At(layout.FuncRecordSize); p != nil {
		*(*layout.FuncRecord)(p) = head
	}
	return w
}

// At returns where the next n bytes go, or nil if they do not fit.
func (w *Writer) At(n uint64) unsafe.Pointer {
	if !w.r.funcs.Need(w.begin + w.off + n + 8) {
		w.full = true
		return nil
	}
	p := w.r.funcs.At(w.begin + w.off)
	w.off += n
	return p
}

func (w *Writer) u32(v uint32) {
	if p := w.At(4); p != nil {
		*(*uint32)(p) = v
	}
}

func (w *Writer) str(s string) {
	if p := w.At(uint64(len(s))); p != nil {
		copy(unsafe.Slice((*byte)(p), len(s)), s)
	}
}

func (w *Writer) bytes(bs ...byte) {
	for _, b := range bs {
		if p := w.At(1); p != nil {
			*(*byte)(p) = b
		}
	}
}

// End publishes the record, and reports whether it did fit. Of what is tried again the loss is counted once.
func (w *Writer) End() bool {
	if w.full {
		if w.known == nil || *w.known == 0 {
			w.r.Lost(layout.LostFuncs)
		}
		if w.known != nil {
			*w.known = w.id | unrecorded
		}
		return false
	}
	if w.known != nil {
		*w.known = w.id
	}
	w.off = (w.off + 7) &^ 7
	memory.StoreRel32(&(*layout.FuncRecord)(w.r.funcs.At(w.begin)).Length, uint32(w.off))
	memory.StoreRel64(&w.r.funcsUsed, w.begin+w.off)
	memory.StoreRel64(&w.r.Header().FuncsUsed, w.r.funcsUsed)
	return true
}

// A FaultWriter writes the record of a place of fault.
type FaultWriter struct {
	r       *Recorder
	id      uint64
	strings [2 * faultFrames]string
	lines   [faultFrames]uint32
	frames  int
}

// faultFrames is the most frames that the record of a fault has; the
// outermost are cut.
const faultFrames = 16

// BeginFault begins the record of a fault at pc. ok is false if there is one.
func (r *Recorder) BeginFault(pc uint64) (w FaultWriter, ok bool) {
	w.id = layout.FaultID(pc)
	at := r.place(w.id)
	if at != nil && *at == w.id {
		return w, false
	}
	w.r = r
	return w, true
}

// Frame adds a frame of the function at the place, innermost first.
func (f *FaultWriter) Frame(function, file string, line int32) {
	if f.frames == faultFrames {
		return
	}
	f.strings[2*f.frames], f.strings[2*f.frames+1] = function, file
	f.lines[f.frames] = uint32(line)
	f.frames++
}

// End writes the record, and reports whether it did fit; handler is the runtime function that faults go to.
func (f *FaultWriter) End(handler string) bool {
	n := 2*f.frames + 1
	const frameBytes = 7 // all numbers below have a fixed length
	w, _ := f.r.beginNew(layout.FuncRecord{
		Kind: layout.RecFault, ID: f.id, NodeSize: layout.FaultSize, Strings: uint32(n),
		BlobLen: uint32(2 + frameBytes*f.frames),
	})
	for _, s := range f.strings[:n-1] {
		w.u32(uint32(len(s)))
	}
	w.u32(uint32(len(handler)))
	for _, s := range f.strings[:n-1] {
		w.str(s)
	}
	w.str(handler)
	w.bytes(byte(n-1), byte(f.frames))
	for i := range f.frames {
		w.bytes(byte(2*i), byte(2*i+1))
		line := f.lines[i]
		for range 4 {
			w.bytes(byte(line) | 0x80)
			line >>= 7
		}
		w.bytes(byte(line))
	}
	return w.End()
}
