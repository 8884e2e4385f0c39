package rt

import "unsafe"

// record writes the function's record, unless it has one. It reports false if
// the record does not fit: then nobody could read the function's nodes.
func (t *Tree) record(meta unsafe.Pointer) bool {
	id := uint64(uintptr(meta))
	if !t.learn(id) {
		return true
	}
	strs := int(*(*uint32)(unsafe.Add(meta, MetaNumStrings)))
	bloblen := int(*(*uint32)(unsafe.Add(meta, MetaBlobLen)))
	str := func(i int) string {
		p := unsafe.Add(meta, MetaStrings+16*i)
		return unsafe.String(*(**byte)(p), *(*int)(unsafe.Add(p, 8)))
	}
	w := t.beginRecord(RecFunc, id, *(*uint32)(unsafe.Add(meta, MetaNodeSize)), *(*uint32)(unsafe.Add(meta, MetaFlags)))
	w.u32(uint32(strs))
	w.u32(uint32(bloblen))
	for i := range strs {
		s, goroot := t.expand(str(i))
		w.u32(uint32(len(goroot) + len(s)))
	}
	for i := range strs {
		s, goroot := t.expand(str(i))
		w.str(goroot)
		w.str(s)
	}
	w.str(unsafe.String((*byte)(unsafe.Add(meta, MetaStrings+16*strs)), bloblen))
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
	size := uint32(NodeCells+4*len(cells)+7) &^ 7
	w := t.beginRecord(RecFunc, id, size, 0)
	w.u32(uint32(2 + len(cells)))
	w.u32(uint32(4 + 2 + 7*len(cells)))
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
		e := (*uint64)(unsafe.Add(t.known, uintptr(h&knownMask)*8))
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

func (t *Tree) beginRecord(kind uint32, id uint64, size, flags uint32) recordWriter {
	w := recordWriter{t: t, begin: t.funcsUsed}
	w.u32(0) // the length comes last
	w.u32(kind)
	w.u32(uint32(id))
	w.u32(uint32(id >> 32))
	w.u32(size)
	w.u32(flags)
	return w
}

// at returns where the next n bytes go, or nil if they do not fit.
func (w *recordWriter) at(n uint64) unsafe.Pointer {
	if w.begin+w.off+n+8 > w.t.funcsSize {
		w.full = true
		return nil
	}
	p := unsafe.Add(w.t.funcs, uintptr(w.begin+w.off))
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
	storeRel32((*uint32)(unsafe.Add(w.t.funcs, uintptr(w.begin))), uint32(w.off))
	w.t.funcsUsed = w.begin + w.off
	*w.t.u64(HdrFuncsUsed) = w.t.funcsUsed
	return true
}

// A FaultWriter writes the record of a place of fault.
type FaultWriter struct {
	w       recordWriter
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
	w.w = t.beginRecord(RecFault, id, faultSize, 0)
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
	w.w.u32(uint32(n))
	w.w.u32(uint32(2 + 7*w.frames)) // all numbers below have a fixed length
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
