package terminal

import (
	"os"
	"syscall"
	"unsafe"
)

// Raw makes a terminal hand over each key as it is pressed, without showing it, and returns what makes it as it was.
func Raw(f *os.File) (restore func() error, err error) {
	var old syscall.Termios
	if err := ask(f, syscall.TCGETS, unsafe.Pointer(&old)); err != nil {
		return nil, err
	}
	raw := old
	raw.Iflag &^= syscall.BRKINT | syscall.ICRNL | syscall.INPCK | syscall.ISTRIP | syscall.IXON
	raw.Oflag &^= syscall.OPOST
	raw.Lflag &^= syscall.ECHO | syscall.ICANON | syscall.IEXTEN | syscall.ISIG
	raw.Cc[syscall.VMIN], raw.Cc[syscall.VTIME] = 1, 0
	if err := ask(f, syscall.TCSETS, unsafe.Pointer(&raw)); err != nil {
		return nil, err
	}
	return func() error { return ask(f, syscall.TCSETS, unsafe.Pointer(&old)) }, nil
}
