package store

import (
	"os"
	"syscall"
	"time"
)

// isHeld reports whether a program holds the lock of the main file of its live directory,
// as it does until it ends. A file that cannot be opened is not held.
func isHeld(file string) bool {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe may have taken its name
	if err != nil {
		return false
	}
	defer f.Close()
	return Holds(f)
}

// Holds is isHeld, of a file that is open.
func Holds(f *os.File) bool {
	// A lock that is got is given back when the file is closed. Several readers do not
	// get into each other's way, and who takes the lock tries again.
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == syscall.EWOULDBLOCK
}

// Hold locks a file, or a directory, that is open, until it is closed or this process ends: then it is held.
// It is syscall.EWOULDBLOCK if somebody else holds it.
func Hold(f *os.File) error {
	for try := 0; ; try++ {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK || try == 100 || Holds(f) {
			return err
		}
		// It was a reader that looked: nobody holds it.
		_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
		time.Sleep(time.Duration(try) * 100 * time.Microsecond)
	}
}
