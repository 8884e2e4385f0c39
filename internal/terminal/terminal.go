// Package terminal knows whether a file is a terminal, who has its keys, and how wide it is.
package terminal

import (
	"os"
	"syscall"
	"unsafe"
)

// Is reports whether f is a terminal.
func Is(f *os.File) bool {
	_, err := foreground(f)
	return err == nil
}

// Foreground reports whether f is a terminal whose keys send signals to this
// process's group.
func Foreground(f *os.File) bool {
	group, err := foreground(f)
	return err == nil && group == syscall.Getpgrp()
}

// foreground asks a terminal for its foreground process group.
func foreground(f *os.File) (int, error) {
	var group int32
	if err := ask(f, syscall.TIOCGPGRP, unsafe.Pointer(&group)); err != nil {
		return 0, err
	}
	return int(group), nil
}

// Width returns how many columns a terminal has; 80 if it does not tell.
func Width(f *os.File) int {
	wide, _ := Size(f)
	return wide
}

// Size returns how many columns and rows a terminal has; 80 and 24 if it does not tell.
func Size(f *os.File) (wide, high int) {
	var size struct{ rows, columns, x, y uint16 }
	if err := ask(f, syscall.TIOCGWINSZ, unsafe.Pointer(&size)); err != nil || size.columns == 0 || size.rows == 0 {
		return 80, 24
	}
	return int(size.columns), int(size.rows)
}

// IsDumb reports whether the environment says that terminals cannot move their cursor.
func IsDumb() bool { return os.Getenv("TERM") == "dumb" }

// ask makes a request of a terminal, which writes its answer to what p points to. The system call keeps
// no pointer.
func ask(f *os.File, request uintptr, p unsafe.Pointer) error {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(p))
	if errno != 0 {
		return errno
	}
	return nil
}
