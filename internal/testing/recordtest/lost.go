package recordtest

import (
	"math/rand/v2"
	"unsafe"
)

const pageSize = 4096

// Lost zeros pages of files that a program has mapped, as a full disk does, or
// whoever cuts the file, and keeps what was on them: what is written later must fit
// it, as if nothing had been lost. The memory must be aligned to 8 bytes.
type Lost struct{ pages []lostPage }

type lostPage struct{ now, was []byte }

// Page zeros a random page of the first used bytes of a file.
func (l *Lost) Page(r *rand.Rand, file []byte, used uint64) {
	off := r.IntN(int(used/pageSize)+1) * pageSize
	now := file[off : off+pageSize]
	l.pages = append(l.pages, lostPage{now, append([]byte(nil), now...)})
	clear(now)
}

// Restore puts back each word of the lost pages that is still zero.
func (l *Lost) Restore() {
	for i := len(l.pages) - 1; i >= 0; i-- {
		p := l.pages[i]
		now, was := words(p.now), words(p.was)
		for k := range now {
			if now[k] == 0 {
				now[k] = was[k]
			}
		}
	}
	l.pages = nil
}

func words(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), len(b)/8)
}
