package doctor

import (
	"fmt"
	"os"
	"syscall"
)

// Limits that the doctor looks at.
const (
	limitFileSize     = syscall.RLIMIT_FSIZE
	limitAddressSpace = syscall.RLIMIT_AS
	limitTimers       = 11 // RLIMIT_SIGPENDING, which package syscall does not have
)

// limitOf returns a limit of this process, which its children inherit.
func limitOf(resource int) (most uint64, limited bool) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(resource, &l); err != nil || l.Cur == 1<<64-1 {
		return 0, false
	}
	return l.Cur, true
}

// diskOf returns the room that is left on the disk of dir, and whether programs there cannot be started.
func diskOf(dir string) (free uint64, noExec bool, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false, fmt.Errorf("%s: %w", dir, err)
	}
	const stNoExec = 8
	return s.Bavail * uint64(s.Bsize), s.Flags&stNoExec != 0, nil
}

// mappable returns why a file cannot be mapped as those of a record are: some file systems have no
// shared mappings, or no holes.
func mappable(f *os.File) error {
	const size = 1 << 20 // below any sensible ulimit -f, which has a check of its own
	if most, limited := limitOf(limitFileSize); limited && most < size {
		return syscall.EFBIG // the attempt would end this process
	}
	if err := f.Truncate(size); err != nil {
		return err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("the file system cannot map files: %w", err)
	}
	return syscall.Munmap(b)
}
