package main

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"sort"
)

// A function is the code of a symbol.
type function struct {
	begin, end uint64
	name       string
	counts     bool // its code has an increment relative to the segment base: it is instrumented
}

// program is what is known of an executable.
type code struct {
	lo, hi    uint64 // of its text
	functions []function
}

// readCode reads an executable.
func readCode(exe string) (*code, error) {
	f, err := elf.Open(exe)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text := f.Section(".text")
	if text == nil {
		return nil, fmt.Errorf("%s: no section .text", exe)
	}
	bytes, err := text.Data()
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	c := &code{lo: text.Addr, hi: text.Addr + text.Size}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value >= c.lo && s.Value < c.hi {
			end := min(s.Value+s.Size, c.hi)
			c.functions = append(c.functions,
				function{s.Value, end, s.Name, hasIncrement(bytes[s.Value-c.lo : end-c.lo])})
		}
	}
	slices.SortFunc(c.functions, func(a, b function) int { return int(int64(a.begin - b.begin)) })
	return c, nil
}

// hasIncrement looks for INCQ GS:disp32(register).
func hasIncrement(code []byte) bool {
	for i := range code {
		if i+8 <= len(code) && code[i] == 0x65 && code[i+1]&0xf8 == 0x48 && code[i+2] == 0xff && code[i+3]&0xf8 == 0x80 {
			return true
		}
	}
	return false
}

// at returns the function that an address lies in, or nil.
func (c *code) at(pc uint64) *function {
	i := sort.Search(len(c.functions), func(i int) bool { return c.functions[i].begin > pc }) - 1
	if i < 0 || pc >= c.functions[i].end && pc != c.functions[i].begin {
		return nil
	}
	return &c.functions[i]
}

// writeEntries writes where functions begin, for the plugin.
func (c *code) writeEntries(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	for _, fn := range c.functions {
		fmt.Fprintf(w, "%x\n", fn.begin)
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// Counts are what the emulator has seen, by names of functions.
type counts struct {
	entries map[string]uint64 // of instrumented functions
	natives map[string]uint64 // calls by name, in instrumented functions, of functions that are not
}

// readCounts reads what the plugin has written. An entry after a jump from the same function is none: the stack
// was too small, or the function begins with a loop.
func readCounts(file string, c *code) (*counts, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	have := &counts{map[string]uint64{}, map[string]uint64{}}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var kind byte
		var pc, target, runs uint64
		text := lines.Text()
		format, args := "%c %x %x %d", []any{&kind, &pc, &target, &runs}
		if text[0] == 'e' {
			format, args = "%c %x %d", []any{&kind, &pc, &runs}
		}
		if _, err := fmt.Sscanf(text, format, args...); err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		have.add(c, kind, pc, target, runs)
	}
	return have, lines.Err()
}

// add adds a line.
func (k *counts) add(c *code, kind byte, pc, target, runs uint64) {
	from := c.at(pc)
	if from == nil || !from.counts {
		return
	}
	to := c.at(target)
	switch {
	case kind == 'e':
		k.entries[from.name] += runs
	case kind == 'j' && target == from.begin:
		k.entries[from.name] -= runs
	case kind == 'c' && to != nil && to.begin == target && !to.counts:
		k.natives[to.name] += runs
	}
}
