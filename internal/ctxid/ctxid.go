// Package ctxid turns context IDs into text and back.
//
// # The text form
//
// A context ID carries 116 bits: the node (28 bits), the id (30), the epoch
// (18), the address of the capturing call (28) and the tag of its process (12),
// in this order, as package rt lays them out in two words. A CRC of 16 bits
// follows them, and the 132 bits are written as [Prefix] and 22 digits of
// base64url, the most significant first:
//
//	stm1AAAABAAAAAcAAAMAAJJAB1Q7qD
//
// The digits stand in the order of the CRC's polynomial, so that it sees every
// error within 16 adjacent bits: each change of one character and each
// transposition of neighbours. Of other damage it lets one in 65,536 pass.
package ctxid

import (
	"fmt"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// Prefix begins the text of every ID, and Len is the length of the text.
const (
	Prefix = "stm1"
	Len    = len(Prefix) + digits
	digits = 22
)

// Digits are those of base64url (RFC 4648, section 5).
const Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// Fields are the parts of an ID. All are zero in the zero ID only.
type Fields struct {
	Node  uint32 // number of the interned top of the ccStack, 0 for none
	ID    uint32 // the id on top of it
	Epoch uint32
	PC    uint32 // the return address of the capturing call, less the text's; 0 if the node tells it
	Tag   uint32 // of the process
}

// Split returns the parts of the ID in two words, as package rt defines them.
func Split(hi, lo uint64) Fields {
	return Fields{
		Node:  uint32(hi>>32) & (1<<rt.IDNodeBits - 1),
		ID:    uint32(hi) & (1<<rt.IDIdBits - 1),
		Epoch: uint32(lo>>rt.IDEpoch) & (1<<rt.IDEpochBits - 1),
		PC:    uint32(lo) & (1<<rt.IDPCBits - 1),
		Tag:   uint32(lo>>rt.IDTag) & (1<<rt.IDTagBits - 1),
	}
}

// Join is the inverse of [Split].
func Join(f Fields) (hi, lo uint64) {
	return uint64(f.Node)<<32 | uint64(f.ID), uint64(f.Tag)<<rt.IDTag | uint64(f.Epoch)<<rt.IDEpoch | uint64(f.PC)
}

// Append appends the text of an ID to b.
func Append(b []byte, hi, lo uint64) []byte {
	f := Split(hi, lo)
	first := uint64(f.Node)<<rt.IDIdBits | uint64(f.ID)
	second := (uint64(f.Epoch)<<rt.IDPCBits|uint64(f.PC))<<rt.IDTagBits | uint64(f.Tag)
	var text [digits]byte
	put(text[:10], first<<2|second>>56)
	crc := uint64(check(first, second))
	put(text[10:20], second<<4|crc>>12)
	put(text[20:], crc)
	return append(append(b, Prefix...), text[:]...)
}

// put writes the low bits of v as digits.
func put(text []byte, v uint64) {
	for i := len(text) - 1; i >= 0; i-- {
		text[i] = Digits[v&63]
		v >>= 6
	}
}

// check returns the CRC (polynomial x^16+x^12+x^5+1, from 0xffff, after 12 zero
// bits) of two halves of 58 bits. A start that is not 0 keeps the text of all
// zeros from being valid.
func check(first, second uint64) uint16 {
	crc := uint16(0xffff)
	for _, w := range [2]uint64{first >> 6, first<<58 | second} {
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
func Parse[T string | []byte](s T) (hi, lo uint64, err error) {
	if len(s) != Len {
		return 0, 0, fmt.Errorf("context ID of %d characters, want %d", len(s), Len)
	}
	if string(s[:len(Prefix)]) != Prefix {
		return 0, 0, fmt.Errorf("context ID begins with %q, want %q", string(s[:len(Prefix)]), Prefix)
	}
	for i := len(Prefix); i < Len; i++ {
		if values[s[i]] < 0 {
			return 0, 0, fmt.Errorf("context ID with %q in place %d, want a letter, a digit, - or _", s[i], i)
		}
	}
	high, mid, low := get(s[4:14]), get(s[14:24]), get(s[24:])
	first, second := high>>2, high&3<<56|mid>>4
	if have, want := uint16(mid<<12|low), check(first, second); have != want {
		return 0, 0, fmt.Errorf("context ID with check value %#04x, want %#04x: it was changed on its way", have, want)
	}
	f := Fields{
		Node:  uint32(first >> rt.IDIdBits),
		ID:    uint32(first) & (1<<rt.IDIdBits - 1),
		Epoch: uint32(second >> (rt.IDPCBits + rt.IDTagBits)),
		PC:    uint32(second>>rt.IDTagBits) & (1<<rt.IDPCBits - 1),
		Tag:   uint32(second) & (1<<rt.IDTagBits - 1),
	}
	if f.Tag == 0 {
		return 0, 0, fmt.Errorf("context ID without the tag of a process")
	}
	hi, lo = Join(f)
	return hi, lo, nil
}

// get is the inverse of put.
func get[T string | []byte](s T) (v uint64) {
	for i := range len(s) {
		v = v<<6 | uint64(values[s[i]])
	}
	return v
}

// values are the values of the digits by character, -1 for other characters.
var values = func() (v [256]int8) {
	for c := range v {
		v[c] = -1
	}
	for i := range Digits {
		v[Digits[i]] = int8(i)
	}
	return v
}()
