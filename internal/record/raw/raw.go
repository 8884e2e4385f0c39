// Package raw loads and stores the records of package layout, on any machine.
package raw

import (
	"encoding/binary"
	"unsafe"
)

// Size returns the bytes of a record.
func Size[T any]() int {
	var v T
	return int(unsafe.Sizeof(v))
}

// Load returns the record that b begins with; b must have all of it.
// T has no padding and no pointers, as the records of package layout.
func Load[T any](b []byte) T {
	var v T
	b = b[:unsafe.Sizeof(v):len(b)] // not beyond what b is long
	if !little {
		return decode[T](b)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v)), b)
	return v
}

// Store writes a record to the beginning of b, which must have room for it.
func Store[T any](b []byte, v T) {
	if _, err := binary.Encode(b, binary.LittleEndian, &v); err != nil {
		panic(err) // T is no record, or b too short: a mistake in the caller
	}
}

// Append appends a record to b.
func Append[T any](b []byte, v T) []byte {
	b, err := binary.Append(b, binary.LittleEndian, &v)
	if err != nil {
		panic(err) // T is no record: a mistake in the caller
	}
	return b
}

// little tells that this machine keeps numbers as the files do.
var little = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// decode is Load where the machine's order is another one. It is apart because what it
// does to the record makes that escape to the heap.
func decode[T any](b []byte) (v T) {
	if _, err := binary.Decode(b, binary.LittleEndian, &v); err != nil {
		panic(err) // T is no record: a mistake in the caller
	}
	return v
}

// Update changes the record that b begins with.
func Update[T any](b []byte, change func(*T)) {
	v := Load[T](b)
	change(&v)
	Store(b, v)
}
