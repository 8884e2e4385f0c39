// Package memorytest has memory for tests, pages that get lost, and walks that must end.
package memorytest

import (
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/rt/memory"
)

// Tests have memory as programs have it: reserved, and usable only as far as it was
// asked for. What forgets to ask ends the test by a fault.

type reservation struct {
	begin, end uintptr
	limit      uint64
}

var (
	reservations sync.Map // by begin
	Refused      int      // times that memory could not grow
)

// Reserve reserves n bytes, until Release or the test's end.
func Reserve(t testing.TB, n int) []byte {
	mem, err := syscall.Mmap(-1, 0, n, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE|syscall.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	begin := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	reservations.Store(begin, &reservation{begin, begin + uintptr(n), uint64(n)})
	t.Cleanup(func() { Release(mem) })
	return mem
}

// Release gives reserved memory back before the test ends.
func Release(mem []byte) {
	if _, ok := reservations.LoadAndDelete(uintptr(unsafe.Pointer(unsafe.SliceData(mem)))); ok {
		syscall.Munmap(mem)
	}
}

// LimitReserved lets at most n bytes of reserved memory be used that are not used yet.
func LimitReserved(mem []byte, n uint64) {
	r, _ := reservations.Load(uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
	r.(*reservation).limit = n
}

func init() { memory.Extend = extendReserved }

func extendReserved(base unsafe.Pointer, have, least, want uint64) uint64 {
	usable := uint64(1 << 40) // ordinary memory
	reservations.Range(func(_, v any) bool {
		r := v.(*reservation)
		if uintptr(base) < r.begin || uintptr(base) >= r.end {
			return true
		}
		room := r.limit - min(r.limit, uint64(uintptr(base)-r.begin))
		if usable = want; want > room {
			usable = least
		}
		if least > room {
			usable = have
			Refused++
			return false
		}
		from := have &^ 4095
		if err := syscall.Mprotect(unsafe.Slice((*byte)(unsafe.Add(base, uintptr(from))), usable-from),
			syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
			panic(err)
		}
		return false
	})
	return usable
}

const LostPage = 4096

// MustEnd fails if do does not end. It does at once, or never: the time says
// nothing but that.
func MustEnd(t *testing.T, do func()) {
	t.Helper()
	done := make(chan bool)
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a walk over a lost page does not end")
	}
}

// LosePage zeros page number i of mem.
func LosePage(mem []uint64, i int) {
	clear(mem[i*LostPage/8 : (i+1)*LostPage/8])
}

func AsWords(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

func AsBytes(w []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 8*len(w))
}
