// Package ctxid turns context IDs into text and back.
//
// # The text form
//
// A context ID carries 182 bits: the run number of its process (64 bits), the node
// (28), the id (30), the epoch (32) and the address of the capturing call (28), in
// this order, the last four as package layout lays them out in two words. A CRC of 16
// bits follows them, and the 198 bits are written as [Prefix] and 33 digits of
// base64url, the most significant first:
//
//	stm2ASNFZ4mrze8AAABQAAABwAAAAMAASNJz5
//
// So the first ten digits are the same in all IDs of a run, and in no other's.
//
// The digits stand in the order of the CRC's polynomial, so that it sees every
// error within 16 adjacent bits: each change of one character and each
// transposition of neighbours. Of other damage it lets one in 65,536 pass.
package ctxid

import (
	"fmt"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// Prefix begins the text of every ID, and Len is the length of the text. The last
// character of Prefix is the version of the text form.
const (
	Prefix = "stm2"
	Len    = len(Prefix) + digits
	digits = 33
)

// OldPrefix and OldLen are those of the first version, which had 12 bits to tell
// processes apart.
const (
	OldPrefix = "stm1"
	OldLen    = 26
)

// Digits are those of base64url (RFC 4648, section 5).
const Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// An ID is a context ID: the two words that package layout defines, and the run number of
// the process. The zero ID is none.
type ID struct{ Hi, Lo, Run uint64 }

// Fields are the parts of the two words of an ID.
type Fields struct {
	Node  uint32 // number of the interned top of the ccStack, 0 for none
	ID    uint32 // the id on top of it
	Epoch uint32
	PC    uint32 // the return address of the capturing call, less the text's; 0 if the node tells it
}

// Split returns the parts of the ID in two words, as package layout defines them.
func Split(hi, lo uint64) Fields {
	return Fields{
		Node:  uint32(hi>>32) & (1<<layout.IDInternedBits - 1),
		ID:    uint32(hi) & (1<<layout.IDIdBits - 1),
		Epoch: uint32(lo >> layout.IDEpoch),
		PC:    uint32(lo) & (1<<layout.IDPCBits - 1),
	}
}

// Join is the inverse of [Split].
func Join(f Fields) (hi, lo uint64) {
	return uint64(f.Node)<<32 | uint64(f.ID), uint64(f.Epoch)<<layout.IDEpoch | layout.IDMark | uint64(f.PC)
}

// Append appends the text of an ID to b.
func Append(b []byte, id ID) []byte {
	f, run := Split(id.Hi, id.Lo), id.Run
	var text [digits]byte
	put(text[:10], run>>4)
	put(text[10:20], run&15<<56|uint64(f.Node)<<28|uint64(f.ID)>>2)
	put(text[20:30], uint64(f.ID)&3<<58|uint64(f.Epoch)<<26|uint64(f.PC)>>2)
	put(text[30:], uint64(f.PC)&3<<16|uint64(check(run, f)))
	return append(append(b, Prefix...), text[:]...)
}

// put writes the low bits of v as digits.
func put(text []byte, v uint64) {
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = Digits[v&63]
		v >>= 6
	}
}

// check returns the CRC (polynomial x^16+x^12+x^5+1, from 0xffff, after 10 zero
// bits) of an ID. A start that is not 0 keeps the text of all zeros from being
// valid.
func check(run uint64, f Fields) uint16 {
	crc := uint16(0xffff)
	for _, w := range [3]uint64{
		run >> 10,
		run<<54 | uint64(f.Node)<<26 | uint64(f.ID)>>4,
		uint64(f.ID)<<60 | uint64(f.Epoch)<<28 | uint64(f.PC),
	} {
		for shift := 48; shift >= 0; shift -= 16 {
			x := crc ^ uint16(w>>shift)
			// The quotient of x*2^16 and the polynomial, then the remainder.
			q := x ^ x>>4 ^ x>>8 ^ x>>11 ^ x>>12
			crc = q ^ q<<5 ^ q<<12
		}
	}
	return crc
}

// Parse returns the ID that s is the text of. Any other text is an error: of
// another length, with another prefix or digit, or with a wrong check value.
func Parse[T string | []byte](s T) (ID, error) {
	switch {
	case IsOld(s):
		return ID{}, fmt.Errorf("context ID of an earlier version of stemma (have %s, want %s); decode it with "+
			"the stemma that built the program", OldPrefix, Prefix)
	case len(s) != Len:
		return ID{}, fmt.Errorf("context ID of %d characters, want %d", len(s), Len)
	case string(s[:len(Prefix)]) != Prefix:
		return ID{}, fmt.Errorf("context ID begins with %q, want %q", string(s[:len(Prefix)]), Prefix)
	}
	if i := len(Prefix) + DigitsIn(s[len(Prefix):]); i < Len {
		return ID{}, fmt.Errorf("context ID with %q in place %d, want a letter, a digit, - or _", s[i], i)
	}
	first, second, third, last := get(s[4:14]), get(s[14:24]), get(s[24:34]), get(s[34:])
	run := first<<4 | second>>56
	f := Fields{
		Node:  uint32(second>>28) & (1<<layout.IDInternedBits - 1),
		ID:    uint32(second<<2)&(1<<layout.IDIdBits-1) | uint32(third>>58),
		Epoch: uint32(third >> 26),
		PC:    uint32(third<<2)&(1<<layout.IDPCBits-1) | uint32(last>>16),
	}
	if have, want := uint16(last), check(run, f); have != want {
		return ID{}, fmt.Errorf("context ID with check value %#04x, want %#04x: it was changed on its way", have,
			want)
	}
	if run == 0 {
		return ID{}, fmt.Errorf("context ID without a run number")
	}
	hi, lo := Join(f)
	return ID{hi, lo, run}, nil
}

// IsOld reports whether s has the form of an ID of the first version.
func IsOld[T string | []byte](s T) bool {
	return len(s) == OldLen && string(s[:len(OldPrefix)]) == OldPrefix &&
		DigitsIn(s[len(OldPrefix):]) == OldLen-len(OldPrefix)
}

// DigitsIn returns how many digits s begins with.
func DigitsIn[T string | []byte](s T) int {
	for i := range len(s) {
		if values[s[i]] == notDigit {
			return i
		}
	}
	return len(s)
}

// get is the inverse of put.
func get[T string | []byte](s T) (v uint64) {
	for i := range len(s) {
		v = v<<6 | uint64(values[s[i]])
	}
	return v
}

// values has the value of each character, notDigit for those that are no digit. It is a constant: a table that is
// filled when the package is initialized would be in every program that imports package stemma.
const (
	values = none32 + // up to 0x1f
		none8 + none4 + "\xff\x3e\xff\xff" + // -
		"\x34\x35\x36\x37\x38\x39\x3a\x3b\x3c\x3d\xff\xff" + none4 + // 0 to 9
		"\xff\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e" + // A to O
		"\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\xff\xff\xff\xff\x3f" + // P to Z, _
		"\xff\x1a\x1b\x1c\x1d\x1e\x1f\x20\x21\x22\x23\x24\x25\x26\x27\x28" + // a to o
		"\x29\x2a\x2b\x2c\x2d\x2e\x2f\x30\x31\x32\x33\xff" + none4 + // p to z
		none32 + none32 + none32 + none32
	none32   = none8 + none8 + none8 + none8
	none8    = none4 + none4
	none4    = "\xff\xff\xff\xff"
	notDigit = 0xff
)
