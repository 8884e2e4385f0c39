package callgraph

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/livedir"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/internal/sealed"
)

// A Binary is an instrumented executable.
type Binary struct {
	Text  uint64 // the address of runtime.text
	Funcs []Func
}

// A Func is an instrumented function that has sites of its own.
type Func struct {
	Name              string // of its symbol
	Place             Place  // where it begins
	Data, Meta, Entry uint64 // addresses
	Cells             uint32
	Sites             []Site
}

// A Site is a call site in the metadata. Its place is that of the innermost
// inlined call.
type Site struct {
	Kind   int
	Place  Place
	Callee string // the symbol name, if it is known
	Cell   uint64 // index + 1, 0 for none
}

// dynamic returns what the compiler has put into the site's addition value.
func (s *Site) dynamic() bool {
	return s.Callee == "" || s.Kind != layout.SiteCall && s.Kind != layout.SiteDefer
}

// callsC reports whether the callee is what the cgo command makes of a C function.
func (s *Site) callsC() bool {
	name := s.Callee[strings.LastIndexByte(s.Callee, '.')+1:]
	return strings.HasPrefix(name, "_Cfunc_") || strings.HasPrefix(name, "_C2func_")
}

// An image is the memory of a program as it is loaded: the sections of its file.
type image struct {
	sections []section
	moved    map[uint64]uint64 // by address: what the loader puts there
}

type section struct {
	addr uint64
	data []byte
}

// ReadBinary reads the metadata of a program built for an engine with context IDs.
// It finds it by its symbols, so a program without them is an error.
func ReadBinary(r io.ReaderAt) (*Binary, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return nil, errors.New("no symbol table, by which the call graph is matched; link without -s (strip the " +
			"program afterwards)")
	} else if err != nil {
		return nil, err
	}
	m, err := newImage(f)
	if err != nil {
		return nil, err
	}
	b := new(Binary)
	for i := range symbols {
		s := &symbols[i]
		switch {
		case s.Name == "runtime.text":
			b.Text = s.Value
		case strings.HasPrefix(s.Name, "stemma:") && strings.HasSuffix(s.Name, ".av") &&
			s.Section < elf.SHN_LORESERVE && s.Section != elf.SHN_UNDEF:
			fn, err := m.function(s.Value)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.Name, err)
			}
			b.Funcs = append(b.Funcs, fn)
		}
	}
	if b.Text == 0 {
		return nil, errors.New("no symbol runtime.text, which each Go program has")
	}
	slices.SortFunc(b.Funcs, func(x, y Func) int { return int(int64(x.Data - y.Data)) })
	return b, nil
}

// newImage reads the sections that are loaded, and the addresses that the loader
// fills in, of a position-independent executable.
func newImage(f *elf.File) (*image, error) {
	m := &image{moved: make(map[uint64]uint64)}
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, fmt.Errorf("section %s: %w", s.Name, err)
		}
		m.sections = append(m.sections, section{s.Addr, data})
		if s.Type != elf.SHT_RELA {
			continue
		}
		for size := raw.Size[elf.Rela64](); len(data) >= size; data = data[size:] {
			if r := raw.Load[elf.Rela64](data); elf.R_TYPE64(r.Info) == uint32(elf.R_X86_64_RELATIVE) {
				m.moved[r.Off] = uint64(r.Addend)
			}
		}
	}
	return m, nil
}

// errAddress is an address that leads out of the file.
var errAddress = errors.New("damaged metadata: an address is in no section")

// at returns n bytes at an address.
func (m *image) at(addr, n uint64) ([]byte, error) {
	for _, s := range m.sections {
		if addr >= s.addr && addr-s.addr < uint64(len(s.data)) && n <= uint64(len(s.data))-(addr-s.addr) {
			return s.data[addr-s.addr:][:n], nil
		}
	}
	return nil, errAddress
}

// pointer returns the address that is at an address.
func (m *image) pointer(addr uint64) (uint64, error) {
	if to, ok := m.moved[addr]; ok {
		return to, nil
	}
	b, err := m.at(addr, uint64(raw.Size[uint64]()))
	if err != nil {
		return 0, err
	}
	return raw.Load[uint64](b), nil
}

// function reads the function with its data at an address.
func (m *image) function(data uint64) (f Func, err error) {
	f.Data = data
	if f.Meta, err = m.pointer(data + uint64(unsafe.Offsetof(layout.FuncData{}.Func))); err != nil {
		return f, err
	}
	if f.Entry, err = m.pointer(f.Meta + uint64(unsafe.Offsetof(layout.Meta{}.Entry))); err != nil {
		return f, err
	}
	b, err := m.at(f.Meta, layout.MetaSize)
	if err != nil {
		return f, err
	}
	head := raw.Load[layout.Meta](b)
	f.Cells = head.Cells
	table := make([]string, 0, min(head.Strings, 1<<16))
	at := f.Meta + layout.MetaSize
	str, size := m.str, uint64(layout.MetaStringSize)
	if head.Flags&layout.MetaFlagNear != 0 {
		str, size = m.near, layout.MetaAddrSize
	}
	for range head.Strings {
		s, err := str(at)
		if err != nil {
			return f, err
		}
		table = append(table, s)
		at += size
	}
	blob, err := m.at(at, uint64(head.BlobLen))
	if err != nil {
		return f, err
	}
	return f, f.describe(blob, table)
}

// describe reads the description of the function, see package layout; strings are those of
// the table.
func (f *Func) describe(blob []byte, table []string) error {
	r := livedir.FuncReader{Decoder: &sealed.Decoder{Data: blob, Where: "damaged metadata"},
		Table: make([]uint32, len(table)+1)}
	for i := range r.Table {
		r.Table[i] = uint32(i) // plus 1; 0 is no string
	}
	strs := append([]string{""}, table...)
	str := func(i uint32) string { return strs[i] }
	fn := r.Function()
	if err := r.End(); err != nil {
		return err
	}
	f.Name, f.Place = str(fn.Name), Place{File: str(fn.File), Line: int(fn.Line)}
	for i, s := range fn.Sites {
		if int64(s.Cell) >= int64(f.Cells) {
			return fmt.Errorf("damaged metadata: site %d: cell %d of %d", i, s.Cell, f.Cells)
		}
		f.Sites = append(f.Sites,
			Site{Kind: int(s.Kind), Place: Place{File: str(s.File), Line: int(s.Line)}, Callee: str(s.Callee),
				Cell: uint64(s.Cell + 1)})
	}
	return nil
}

// str reads a string header and what it points to.
func (m *image) str(at uint64) (string, error) {
	p, err := m.pointer(at)
	if err != nil {
		return "", err
	}
	head, err := m.at(at, layout.MetaStringSize)
	if err != nil {
		return "", err
	}
	n := raw.Load[layout.MetaString](head).Len
	if n == 0 {
		return "", nil
	}
	b, err := m.at(p, n)
	return string(b), err
}

// near reads the address of a string with its length in front, and the string.
func (m *image) near(at uint64) (string, error) {
	b, err := m.at(at, layout.MetaAddrSize)
	if err != nil {
		return "", err
	}
	p := uint64(raw.Load[layout.MetaAddr](b).Addr)
	var n uint64
	for shift := 0; shift < 64; shift += 7 {
		b, err := m.at(p, 1)
		if err != nil {
			return "", err
		}
		p++
		n |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			break
		}
	}
	b, err = m.at(p, n)
	return string(b), err
}
