package raw

import (
	"bytes"
	"testing"
)

type record struct {
	A uint64
	B uint32
	C [2]uint8
	_ uint16
	D [2]struct{ X, Y uint32 }
}

var (
	value = record{A: 0x0102030405060708, B: 0x090a0b0c, C: [2]uint8{1, 2}, D: [2]struct{ X, Y uint32 }{{3, 4}, {5, 6}}}
	bits  = []byte{8, 7, 6, 5, 4, 3, 2, 1, 12, 11, 10, 9, 1, 2, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0}
)

// What is stored and loaded is little-endian, on a machine of either order.
func TestLoadStore(t *testing.T) {
	if have := Append([]byte{9}, value); !bytes.Equal(have[1:], bits) {
		t.Errorf("appended %v\nwant     %v", have[1:], bits)
	}
	long := append(bytes.Clone(bits), 7)
	if have := Load[record](long); have != value {
		t.Errorf("loaded %+v\nwant   %+v", have, value)
	}
	if have := decode[record](long); have != value {
		t.Errorf("loaded on another machine %+v\nwant %+v", have, value)
	}
	Update(long, func(r *record) { r.D[1].Y = 8 })
	bits := bytes.Clone(bits)
	bits[28] = 8
	if !bytes.Equal(long, append(bits, 7)) || Size[record]() != len(bits) {
		t.Errorf("updated %v, of size %d", long, Size[record]())
	}
}

// A record that is cut off is a mistake, not zeros.
func TestLoadCut(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a record was loaded from fewer bytes than it has")
		}
	}()
	Load[record](bits[:len(bits)-1])
}

func TestLoadDoesNotAllocate(t *testing.T) {
	sum := uint64(0)
	if n := testing.AllocsPerRun(100, func() { sum += Load[record](bits).A }); little && n != 0 {
		t.Errorf("%v allocations for a record, want none", n)
	}
}
