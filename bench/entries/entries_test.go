package main

import "testing"

// TestIncrement has instructions that count, and some that do not.
func TestIncrement(t *testing.T) {
	for code, want := range map[string]bool{
		"\x90\x65\x49\xff\x85\x00\x00\x00\x40": true,  // INCQ GS:0x40000000(R13)
		"\x65\x48\xff\x81\x08\x00\x00\x40":     true,  // INCQ GS:0x40000008(CX)
		"\x49\xff\x85\x00\x00\x00\x40\x90\x90": false, // INCQ 0x40000000(R13)
		"\x65\x48\x8b\x04\x25\x00\x00\x00\x00": false, // MOVQ GS:0, AX
	} {
		if have := hasIncrement([]byte(code)); have != want {
			t.Errorf("% x: have %v, want %v", code, have, want)
		}
	}
}

// TestCounts has a stack that grows once, natives, and a function of the same name that has another ABI.
func TestCounts(t *testing.T) {
	c := &code{functions: []function{
		{begin: 0x10, end: 0x20, name: "main.f", counts: true},
		{begin: 0x20, end: 0x30, name: "main.asm", counts: true},
		{begin: 0x30, end: 0x40, name: "main.asm"},
		{begin: 0x40, end: 0x50, name: "runtime.morestack_noctxt"},
		{begin: 0x50, end: 0x60, name: "runtime.mallocgcSmall8"},
	}}
	k := newCounts()
	k.add(c, 'e', 0x10, 0, 8)
	k.add(c, 'c', 0x1a, 0x40, 1)
	k.add(c, 'j', 0x1f, 0x10, 1)
	k.add(c, 'j', 0x1f, 0x12, 5) // a loop
	k.add(c, 'c', 0x12, 0x30, 3)
	k.add(c, 'c', 0x22, 0x30, 2)
	k.add(c, 'c', 0x14, 0x50, 4)
	k.add(c, 'c', 0x52, 0x30, 9) // by a native
	if k.entries["main.f"] != 7 || k.natives["main.asm"] != 3 || k.standIns["main.asm"] != 2 ||
		k.natives["runtime.newobject"] != 4 || len(k.natives) != 2 {
		t.Errorf("have %+v", k)
	}
}

func TestIsInstance(t *testing.T) {
	for name, want := range map[string]bool{
		"lib.(*Cell[int]).Get": true, "lib.Twin[string]": true, "lib.(*Cell[go.shape.int]).Get": false,
		"lib.Twin[go.shape.string].func1": false, "main.main": false,
	} {
		if isInstance(name) != want {
			t.Errorf("%s: have %v", name, !want)
		}
	}
}
