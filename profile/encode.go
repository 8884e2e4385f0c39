package profile

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// Write writes p as a sealed file. It returns an error if p is not valid.
// Equal profiles give equal bytes. What w has got when an error comes is no file
// that Read accepts.
func (p *Profile) Write(w io.Writer) error {
	if err := p.CheckValid(); err != nil {
		return err
	}
	head := append([]byte(fileMagic), make([]byte, fileHeader-len(fileMagic))...)
	binary.LittleEndian.PutUint32(head[8:], fileVersion)
	if _, err := w.Write(head); err != nil {
		return err
	}
	if p.Contexts != nil {
		return p.writeContexts(w)
	}
	for _, kind := range sectionOrder {
		if kind == secSamples && p.Samples == nil {
			continue
		}
		if err := writeSection(w, kind, p.section(kind)); err != nil {
			return err
		}
	}
	return nil
}

// section returns the bytes of a section before compression.
// p must be valid. Nothing in one section depends on the bytes of another.
func (p *Profile) section(kind int) []byte {
	var e encoder
	switch kind {
	case secProcesses:
		p.encodeProcesses(&e)
	case secStrings:
		e.strings(p.Strings)
	case secFuncs:
		e.uint(uint64(len(p.Funcs)))
		for i := range p.Funcs {
			p.Funcs[i].encode(&e)
		}
	case secSamples:
		p.encodeSamples(&e)
	case secNodes:
		e.uint(uint64(len(p.Nodes)))
		for i, n := range p.Nodes {
			e.u32(n.Func, uint32(i)-n.Parent, n.Cell)
		}
	case secCounts:
		for i := range p.Nodes {
			for _, c := range p.NodeCounts(i) {
				e.uint(c)
			}
		}
	}
	return e
}

// encodeProcesses appends the processes, in their order.
func (p *Profile) encodeProcesses(e *encoder) {
	e.uint(uint64(len(p.Processes)))
	for _, proc := range p.Processes {
		e.strings(proc.Args)
		e.uint(proc.Run)
		e.uint(uint64(uint32(proc.PID)))
		e.uint(uint64(startNano(proc)))
		e.string(proc.GoVersion)
		e.string(proc.Engine)
		e.uint(processFlags(proc))
		e.uint(uint64(len(proc.Losses)))
		for _, l := range proc.Losses {
			e.string(l.Kind)
			e.uint(l.Count)
		}
		e.strings(proc.Notes)
	}
}

// Bits of the flags of a process in a sealed file.
const (
	procFull    = 1 << 0
	procChecked = 1 << 1
)

// processFlags returns the flags of a process as a sealed file has them.
func processFlags(proc Process) uint64 {
	var flags uint64
	if proc.Full {
		flags |= procFull
	}
	if proc.Checked {
		flags |= procChecked
	}
	return flags
}

// startNano returns the start in nanoseconds since 1970, 0 for the zero time.
func startNano(proc Process) int64 {
	if proc.Start.IsZero() {
		return 0
	}
	return proc.Start.UnixNano()
}

// encode appends f. The order of the fields is that of FORMAT.md; funcKey in
// merge.go depends on the encoding of different functions being different.
func (f *Func) encode(e *encoder) {
	e.uint(uint64(f.Kind))
	e.uint(uint64(f.Flags))
	e.u32(f.Name, f.File, f.Line, f.Cells, f.Counters)
	e.uint(uint64(len(f.Inlined)))
	for _, in := range f.Inlined {
		e.index(in.Parent)
		e.u32(in.Callee, in.File, in.Line)
		e.index(in.Counter)
		e.u32(in.CalleeFile, in.CalleeLine)
	}
	e.uint(uint64(len(f.Sites)))
	for _, s := range f.Sites {
		e.uint(uint64(s.Kind))
		e.index(s.Inlined)
		e.u32(s.File, s.Line, s.Callee)
		e.index(s.Cell)
		e.index(s.Counter)
	}
	e.uint(uint64(len(f.Frames)))
	for _, fr := range f.Frames {
		e.u32(fr.Func, fr.File, fr.Line)
	}
}

// writeSection writes raw compressed, or as it is where that is no shorter.
// An end section is an empty one: a file that was cut lacks it.
func writeSection(w io.Writer, kind int, raw []byte) error {
	stored, method, err := compress(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", sectionNames[kind], err)
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
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, stored)
}

// compress returns raw in the form in which a section stores it. The fastest
// level is enough: nodes and counts are small numbers already, and DEFLATE
// squeezes their repetition at any level. What it squeezes by more than readers allow
// is only given short codes, of which none stands for more than eight bytes.
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

func deflate(raw []byte, level int) ([]byte, error) {
	var buf bytes.Buffer
	zw, err := flate.NewWriter(&buf, level)
	if err != nil {
		return nil, err
	}
	if _, err := zw.Write(raw); err != nil {
		return nil, err
	}
	if err := zw.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
