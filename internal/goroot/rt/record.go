package rt

import (
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// record writes the function's record, unless it has one. It reports false if
// the record does not fit: then nobody could read the function's nodes.
func (t *Tree) record(meta *layout.Meta) bool {
	id := funcID(meta)
	if !t.learn(id) {
		return true
	}
	// A layout.MetaString is what the compiler makes of a string.
	strs := unsafe.Slice((*string)(unsafe.Add(unsafe.Pointer(meta), layout.MetaSize)), meta.Strings)
	blob := (*byte)(unsafe.Add(unsafe.Pointer(meta), layout.MetaSize+layout.MetaStringSize*uintptr(meta.Strings)))
	w := t.beginRecord(layout.FuncRecord{Kind: RecFunc, ID: id, NodeSize: meta.NodeSize, Flags: meta.Flags, Strings: meta.Strings, BlobLen: meta.BlobLen})
	for _, str := range strs {
		s, goroot := t.expand(str)
		w.u32(uint32(len(goroot) + len(s)))
	}
	for _, str := range strs {
		s, goroot := t.expand(str)
		w.str(goroot)
		w.str(s)
	}
	w.str(unsafe.String(blob, int(meta.BlobLen)))
	return w.end()
}

// expand returns s and what stands for the $GOROOT that the compiler left at
// its beginning, for the linker to replace.
func (t *Tree) expand(s string) (rest, goroot string) {
	const prefix = "$GOROOT"
	if t.goroot != "" && len(s) > len(prefix) && s[:len(prefix)] == prefix && s[len(prefix)] == '/' {
		return s[len(prefix):], t.goroot
	}
	return s, ""
}

// recordRoot writes the record of a function that does not exist, with one
// call site in each of its cells.
func (t *Tree) recordRoot(id uint64, name string, cells []string) {
	w := t.beginRecord(layout.FuncRecord{
		Kind: RecFunc, ID: id, NodeSize: uint32(layout.NodeBytes(len(cells), 1)),
		Strings: uint32(2 + len(cells)), BlobLen: uint32(4 + 2 + layout.SiteNumbers*len(cells)),
	})
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
		w.bytes(SiteCall, 0, 0, 0, byte(k+3), byte(k+1), 0)
	}
	t.learn(id)
	w.end()
}

// learn adds id to the set of functions that have a record and reports
// whether it is new. Metadata lies side by side in memory, so the place in
// the set follows its address.
func (t *Tree) learn(id uint64) bool {
	for h := id >> 6; ; h++ {
		e := (*uint64)(unsafe.Add(t.known, uintptr(h&knownMask)*unsafe.Sizeof(id)))
		switch *e {
		case id:
			return false
		case 0:
			*e = id
			return true
		}
	}
}

// A recordWriter appends one record to funcs. A record that does not fit is
// dropped and counted.
type recordWriter struct {
	t          *Tree
	begin, off uint64
	full       bool
}

// beginRecord begins a record with its head, of which the length comes last.
func (t *Tree) beginRecord(head layout.FuncRecord) recordWriter {
	w := recordWriter{t: t, begin: t.funcsUsed}
	if p := w.at(layout.FuncRecordSize); p != nil {
		*(*layout.FuncRecord)(p) = head
	}
	return w
}

// at returns where the next n bytes go, or nil if they do not fit.
func (w *recordWriter) at(n uint64) unsafe.Pointer {
	if !w.t.funcs.Need(w.begin + w.off + n + 8) {
		w.full = true
		return nil
	}
	p := w.t.funcs.at(w.begin + w.off)
	w.off += n
	return p
}

func (w *recordWriter) u32(v uint32) {
	if p := w.at(4); p != nil {
		*(*uint32)(p) = v
	}
}

func (w *recordWriter) str(s string) {
	if p := w.at(uint64(len(s))); p != nil {
		copy(unsafe.Slice((*byte)(p), len(s)), s)
	}
}

func (w *recordWriter) bytes(bs ...byte) {
	for _, b := range bs {
		if p := w.at(1); p != nil {
			*(*byte)(p) = b
		}
	}
}

// end publishes the record, and reports whether it did fit.
func (w *recordWriter) end() bool {
	if w.full {
		w.t.Lost(LostFuncs)
		return false
	}
	w.off = (w.off + 7) &^ 7
	storeRel32(&(*layout.FuncRecord)(w.t.funcs.at(w.begin)).Length, uint32(w.off))
	w.t.funcsUsed = w.begin + w.off
	w.t.header().FuncsUsed = w.t.funcsUsed
	return true
}

// A FaultWriter writes the record of a place of fault.
type FaultWriter struct {
	w       recordWriter
	id      uint64
	strings [3 * faultFrames]string
	lines   [faultFrames]uint32
	frames  int
}

// faultFrames is the most frames that the record of a fault has; the
// outermost are cut.
const faultFrames = 16

// BeginFault begins the record of a fault at pc. ok is false if there is one.
func (t *Tree) BeginFault(pc uint64) (w FaultWriter, ok bool) {
	id := FaultID(pc)
	if !t.learn(id) {
		return w, false
	}
	w.w = recordWriter{t: t}
	w.id = id
	return w, true
}

// Frame adds a frame of the function at the place, innermost first.
func (w *FaultWriter) Frame(function, file string, line int32) {
	if w.frames == faultFrames {
		return
	}
	w.strings[2*w.frames], w.strings[2*w.frames+1] = function, file
	w.lines[w.frames] = uint32(line)
	w.frames++
}

// End writes the record; handler is the runtime function that faults go to.
func (w *FaultWriter) End(handler string) {
	n := 2*w.frames + 1
	w.strings[n-1] = handler
	const frameBytes = 7 // all numbers below have a fixed length
	w.w = w.w.t.beginRecord(layout.FuncRecord{
		Kind: RecFault, ID: w.id, NodeSize: faultSize, Strings: uint32(n), BlobLen: uint32(2 + frameBytes*w.frames),
	})
	for _, s := range w.strings[:n] {
		w.w.u32(uint32(len(s)))
	}
	for _, s := range w.strings[:n] {
		w.w.str(s)
	}
	w.w.bytes(byte(n-1), byte(w.frames))
	for i := range w.frames {
		w.w.bytes(byte(2*i), byte(2*i+1))
		line := w.lines[i]
		for range 4 {
			w.w.bytes(byte(line) | 0x80)
			line >>= 7
		}
		w.w.bytes(byte(line))
	}
	w.w.end()
}
