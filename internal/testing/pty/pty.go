// Package pty opens terminals, for tests.
package pty

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// Open opens a new terminal: the end that types and the end that a program sees.
func Open(t *testing.T) (ptm, pts *os.File) {
	t.Helper()
	ptm, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("%v; run it where there are pseudo-terminals", err)
	}
	t.Cleanup(func() { ptm.Close() })
	var locked, number int32
	for req, arg := range map[uintptr]*int32{syscall.TIOCSPTLCK: &locked, syscall.TIOCGPTN: &number} {
		// The system call is done with arg when it returns.
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, ptm.Fd(), req, uintptr(unsafe.Pointer(arg))); errno != 0 {
			t.Fatal(errno)
		}
	}
	pts, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pts.Close() })
	return ptm, pts
}
