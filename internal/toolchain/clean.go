package toolchain

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// CleanCache removes all entries of the cache and tells of each how large it was, but keeps those that another
// process makes or uses, and tells of them as well. With dry it only tells.
func CleanCache(dry bool, removed func(path string, bytes uint64), kept func(path string)) error {
	dir, err := CacheDir()
	if err != nil {
		return err
	}
	if err := checkOwned(dir); err != nil {
		return err
	}
	names, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	err = nil
	for _, d := range names {
		key, left := keyOf(d)
		path := filepath.Join(dir, d.Name())
		if e := (&Entry{path, key}); key == "" || !left && !e.Exists() {
			continue // a lock, or what is not ours
		}
		unlock, lockErr := tryLock(filepath.Join(dir, key) + ".lock")
		if lockErr != nil {
			if errors.Is(lockErr, syscall.EWOULDBLOCK) {
				kept(path)
			} else {
				err = errors.Join(err, lockErr)
			}
			continue
		}
		bytes := DiskUsage(os.DirFS(path))
		var failed error
		switch {
		case dry:
		case left:
			failed = os.RemoveAll(path)
		default:
			failed = remove(path)
		}
		unlock()
		if err = errors.Join(err, failed); failed == nil {
			removed(path, bytes)
		}
	}
	return err
}

// DiskUsage returns how many bytes of a disk a directory takes, which of sparse files is less
// than their size. What cannot be looked at takes none.
func DiskUsage(dir fs.FS) (bytes uint64) {
	_ = fs.WalkDir(dir, ".", func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				bytes += 512 * uint64(s.Blocks)
			}
		}
		return nil
	})
	return bytes
}
