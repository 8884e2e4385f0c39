package sealed

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestChecksum compares checksums with those of package crc32, of all lengths up to some, in one and in two parts.
func TestChecksum(t *testing.T) {
	table := crc32.MakeTable(crc32.Castagnoli)
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 100)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	for n := range len(b) + 1 {
		want := crc32.Checksum(b[:n], table)
		if have := checksum(0, b[:n]); have != want {
			t.Errorf("%d bytes: have %#x, want %#x", n, have, want)
		}
		if have := checksum(checksum(0, b[:n/3]), b[n/3:n]); have != want {
			t.Errorf("%d bytes in two parts: have %#x, want %#x", n, have, want)
		}
	}
}

func BenchmarkChecksum(b *testing.B) {
	data := make([]byte, 1<<20)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		checksum(0, data)
	}
}
