package toolchain

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/goroot"
)

// How long unused entries stay in the cache, and how many stay however old.
// An entry used within keepAlways is never removed: a build may be running.
const (
	keepFor     = 30 * 24 * time.Hour
	keepEntries = 8
	keepAlways  = time.Hour
)

// entryFormat changes with what an entry has in it.
const entryFormat = 2

// An Entry is a directory of the cache. It appears at once and complete, by a
// rename, and does not change afterwards, but for the time of the file "used" and
// the directory of natives.
type Entry struct {
	Dir string
	Key string // name of the directory: a hash over all that it is made from
}

// Compiler is the patched compiler.
func (e *Entry) Compiler() string { return filepath.Join(e.Dir, "compile") }

// Overlay is the overlay that brings the runtime's files into a program with
// these parts, one of [goroot.Parts].
func (e *Entry) Overlay(parts goroot.Part) string {
	return filepath.Join(e.Dir, parts.String()+".json")
}

// CacheDir returns the directory of all entries: $STEMMA_CACHE, or stemma in
// the user's cache directory.
func CacheDir() (string, error) {
	if dir := os.Getenv("STEMMA_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory: %w; set STEMMA_CACHE", err)
	}
	return filepath.Join(dir, "stemma"), nil
}

// entryOf computes which entry serves g with manifest m. It need not exist.
// The location of GOROOT is part of it, because overlays name files by their paths.
func entryOf(cacheDir string, g *Go, m *goroot.Manifest) (*Entry, error) {
	h := sha256.New()
	fmt.Fprintf(h, "entry %d\ngo %s\nroot %s\nmanifest %s\n", entryFormat, g.Version, g.Root, m.Hash)
	if g.Foreign != "" {
		fmt.Fprintf(h, "foreign %s\n", g.Foreign)
	}
	if err := hashSources(h, g.Root); err != nil {
		return nil, err
	}
	key := hex.EncodeToString(h.Sum(nil))[:24]
	return &Entry{filepath.Join(cacheDir, key), key}, nil
}

// hashSources identifies the sources that an entry is made from, by size and
// time: a GOROOT that somebody changed by hand gets a compiler of its own.
// Reading them all would take longer than a build that has nothing to do. The
// files are those that the compiler and the runtime are made of, and the tools.
func hashSources(w io.Writer, root string) error {
	version, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s\n", version)
	for _, dir := range []string{"src/runtime", "src/internal", "src/cmd/compile", "src/cmd/internal", "pkg/tool"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(w, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
			return err
		})
		if err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}

// shortHash returns 12 hexadecimal digits that tell one path from another in the
// name of a file.
func shortHash(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:6])
}

// Exists reports whether the entry is there, and complete.
// The file "used" is the last that is written, before the rename.
func (e *Entry) Exists() bool {
	_, err := os.Stat(filepath.Join(e.Dir, "used"))
	return err == nil
}

// touch notes that the entry is in use. It need not succeed: the cache may be
// read-only.
func (e *Entry) touch() {
	now := time.Now()
	_ = os.Chtimes(filepath.Join(e.Dir, "used"), now, now)
}

// settle has the overlays speak of the place where the entry is: somebody may have copied or moved the cache.
// Others that do the same at the same time write the same.
func (e *Entry) settle() error {
	files, err := entriesNamed(e.Dir, func(d fs.DirEntry) bool { return filepath.Ext(d.Name()) == ".json" })
	if err != nil {
		return err
	}
	inside := string(filepath.Separator) + e.Key + string(filepath.Separator)
	for _, file := range files {
		o, err := readOverlay(file)
		if err != nil {
			return err
		}
		moved := false
		for from, to := range o.Replace {
			if i := strings.LastIndex(to, inside); i >= 0 && to[:i] != filepath.Dir(e.Dir) {
				o.Replace[from], moved = filepath.Join(e.Dir, to[i+len(inside):]), true
			}
		}
		if !moved {
			continue
		}
		tmp := fmt.Sprintf("%s.%d%s", file, os.Getpid(), tmpInfix)
		if err = o.write(tmp); err == nil {
			err = os.Rename(tmp, file)
		}
		if err != nil {
			_ = os.Remove(tmp)
			return fmt.Errorf("cache: it was moved here: %w; make it writable, or set STEMMA_CACHE", err)
		}
	}
	return nil
}

// A filler fills a directory. It ends early, with an error, when its context does.
type filler func(ctx context.Context, dir string) error

// make builds the entry with fill unless it exists. Of several processes one builds
// and the others wait; waiting is called once before that. What killed processes left
// is removed, of this entry or another one.
// An error of fill is returned as it is and leaves nothing behind, so that the
// next try begins anew.
func (e *Entry) make(waiting func(), fill filler) error {
	sweep(filepath.Dir(e.Dir))
	if e.Exists() {
		e.touch()
		return nil
	}
	e.leave() // or this process would wait for itself
	unlock, err := lock(e.Dir+".lock", waiting)
	if err != nil {
		return fmt.Errorf("cache: %w; set STEMMA_CACHE to a directory that can be written", err)
	}
	defer unlock()
	if e.Exists() {
		e.touch()
		return nil
	}
	if err := errors.Join(e.removeLeft(), os.RemoveAll(e.Dir)); err != nil {
		return err
	}
	return e.fill(fill)
}

// inUse are the entries that this process uses, by directory, and what gives their locks up.
var inUse struct {
	sync.Mutex
	unlock map[string]func()
}

// use keeps others from removing the entry while this process lives. It reports false if the entry has been removed
// already. In a cache that cannot be written nobody removes anything.
func (e *Entry) use() bool {
	e.leave()
	unlock, err := flock(e.Dir+".lock", syscall.LOCK_SH)
	if err != nil {
		return e.Exists()
	}
	if !e.Exists() {
		unlock()
		return false
	}
	inUse.Lock()
	defer inUse.Unlock()
	if inUse.unlock == nil {
		inUse.unlock = make(map[string]func())
	}
	inUse.unlock[e.Dir] = unlock
	return true
}

// leave takes use back.
func (e *Entry) leave() {
	inUse.Lock()
	defer inUse.Unlock()
	if unlock := inUse.unlock[e.Dir]; unlock != nil {
		unlock()
		delete(inUse.unlock, e.Dir)
	}
}

// removeLeft removes the directories that were being filled when the process that did it was
// killed. The lock is held, so there is no other one.
func (e *Entry) removeLeft() error {
	isLeft := regexp.MustCompile("^" + regexp.QuoteMeta(e.Key+tmpInfix) + "[0-9]+$")
	left, err := entriesNamed(filepath.Dir(e.Dir), func(d fs.DirEntry) bool {
		return d.IsDir() && isLeft.MatchString(d.Name())
	})
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// entriesNamed returns the paths of what a directory has and is wanted. The directory's own name may have
// any letters, also those of patterns. One that is not there has nothing.
func entriesNamed(dir string, wanted func(fs.DirEntry) bool) (paths []string, err error) {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, entry := range list {
		if wanted(entry) {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths, err
}

// tmpInfix is between the key of an entry and the rest of the name of a directory that
// is to become it.
const tmpInfix = ".tmp"

// ofEntry matches the names of entries, and of directories that are to become one. Others may keep things of their own
// where the cache is, which are left alone.
var ofEntry = regexp.MustCompile(`^([0-9a-f]{24})(\.tmp[0-9]+)?$`)

// keyOf returns the key of the entry that something in the cache is, or was to become; "" if it is neither.
func keyOf(d fs.DirEntry) (key string, left bool) {
	m := ofEntry.FindStringSubmatch(d.Name())
	if m == nil || !d.IsDir() {
		return "", false
	}
	return m[1], m[2] != ""
}

// sweep removes what killed processes left of any entry. It is quick, and what cannot be
// removed is tried again the next time: each such directory may be 32 MB large.
func sweep(cacheDir string) {
	names, err := os.ReadDir(cacheDir)
	if err != nil {
		return
	}
	for _, d := range names {
		key, left := keyOf(d)
		if !left {
			continue
		}
		e := &Entry{filepath.Join(cacheDir, key), key}
		if unlock, err := tryLock(e.Dir + ".lock"); err == nil {
			_ = e.removeLeft()
			unlock()
		}
	}
}

// fill builds the entry in a temporary directory and renames that. The lock is held.
// Afterwards the cache is trimmed: only then has it grown.
func (e *Entry) fill(fill filler) error {
	tmp, err := os.MkdirTemp(filepath.Dir(e.Dir), e.Key+tmpInfix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) // there is nothing to remove after the rename
	err = interruptible(
		func(ctx context.Context) error { return fill(ctx, tmp) },
		func() { os.RemoveAll(tmp) })
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "used"), nil, 0o644); err != nil {
		return err
	}
	if err := os.Chmod(tmp, 0o755&^umask()); err != nil {
		return err
	}
	if err := os.Rename(tmp, e.Dir); err != nil {
		return err
	}
	_ = trim(filepath.Dir(e.Dir), time.Now()) // what cannot be removed stays
	return nil
}

// umask returns the process's file mode creation mask, which MkdirTemp ignores.
func umask() os.FileMode {
	old := syscall.Umask(0)
	syscall.Umask(old)
	return os.FileMode(old)
}

// interruptible runs work, whose context ends when a signal asks this process to end.
// Then, as soon as work has returned, it cleans up, and the process dies of that signal,
// as whoever sent it expects.
func interruptible(work func(context.Context) error, cleanUp func()) error {
	defer base.HoldSignals()()
	signals := make(chan os.Signal, 1)
	for _, s := range base.Interrupts {
		if !signal.Ignored(s) { // as under nohup
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	select {
	case err := <-done:
		return err
	case s := <-signals:
		cancel()
		<-done
		cleanUp()
		base.EndBy(s)
		return nil
	}
}

// lock takes an exclusive lock on a file, which it creates, and which the kernel releases when this
// process ends in whatever way.
// waiting is called once if another process holds the lock. The lock file stays
// when the lock is given up: to remove it would let two processes lock two files
// of one name.
func lock(name string, waiting func()) (unlock func(), err error) {
	unlock, err = tryLock(name)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		waiting()
		return flock(name, syscall.LOCK_EX)
	}
	return unlock, err
}

// tryLock is lock that does not wait: if another process has the lock the error is
// EWOULDBLOCK.
func tryLock(name string) (unlock func(), err error) {
	return flock(name, syscall.LOCK_EX|syscall.LOCK_NB)
}

func flock(name string, how int) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if err != syscall.EINTR {
			f.Close()
			return nil, fmt.Errorf("%s: lock: %w", name, err)
		}
	}
}

// trim removes entries that have not been used for long. Lock files stay: to remove one
// that another process waits for would give two owners.
func trim(cacheDir string, now time.Time) error {
	type entry struct {
		dir  string
		idle time.Duration
	}
	var entries []entry
	names, err := os.ReadDir(cacheDir)
	if err != nil {
		return err
	}
	for _, d := range names {
		key, left := keyOf(d)
		if key == "" || left {
			continue // not an entry, or not yet one
		}
		dir := filepath.Join(cacheDir, key)
		info, err := os.Stat(filepath.Join(dir, "used"))
		if err != nil {
			continue
		}
		entries = append(entries, entry{dir, now.Sub(info.ModTime())})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.idle, b.idle) })
	for i, e := range entries {
		if e.idle > keepFor || i >= keepEntries && e.idle > keepAlways {
			unlock, err := tryLock(e.dir + ".lock")
			if err != nil {
				continue // a build uses it
			}
			err = remove(e.dir)
			unlock()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// remove deletes an entry. The mark goes first, so that what is left of an
// interrupted removal does not count as an entry.
func remove(dir string) error {
	if err := os.Remove(filepath.Join(dir, "used")); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
