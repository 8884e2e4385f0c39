package sealed

import "sync"

// CRC-32C (Castagnoli), as hash/crc32 has it. That package sets up tables and the processor's instruction in each
// program that imports it, also in those that import package stemma and read no file: with what the linker needs for
// it, a tenth of what stemma adds to a program. This one is slower, and still takes a fraction of what DEFLATE takes.
const castagnoli = 0x82f63b78

// checksumTables are for 8 bytes at once: the first has the checksums of one byte, the others those of a byte with as
// many zeros behind it. They are made when they are first asked for, and not by sync.OnceValue, which would have to run
// when the package is initialized.
var (
	checksumTables     [8][256]uint32
	checksumTablesMade sync.Once
)

func makeChecksumTables() {
	t := &checksumTables
	for i := range t[0] {
		crc := uint32(i)
		for range 8 {
			crc = crc>>1 ^ castagnoli&-(crc&1)
		}
		t[0][i] = crc
	}
	for i := range t[0] {
		for k := 1; k < len(t); k++ {
			t[k][i] = t[k-1][i]>>8 ^ t[0][t[k-1][i]&0xff]
		}
	}
}

// checksum returns the checksum of what has the checksum crc, followed by b.
func checksum(crc uint32, b []byte) uint32 {
	checksumTablesMade.Do(makeChecksumTables)
	t := &checksumTables
	crc = ^crc
	for ; len(b) >= 8; b = b[8:] {
		_ = b[7]
		crc = t[7][byte(crc)^b[0]] ^ t[6][byte(crc>>8)^b[1]] ^ t[5][byte(crc>>16)^b[2]] ^ t[4][byte(crc>>24)^b[3]] ^
			t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
	}
	for _, c := range b {
		crc = crc>>8 ^ t[0][byte(crc)^c]
	}
	return ^crc
}
