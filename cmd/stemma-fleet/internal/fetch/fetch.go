// Package fetch brings records from a bucket to this machine.
package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/internal/safefile"
)

// A Cache is a directory of records that were fetched, below the keys that they have in their bucket.
type Cache struct {
	Dir  string
	Most int64       // bytes; what was used longest ago goes first, but nothing that was used last
	Warn func(error) // for what is not as it should be, and does not keep others from being fetched
}

// Fetch returns the files of the records that a query selects. A record that the store does not have as it was uploaded
// is an error: sums without it would be too low.
func (c *Cache) Fetch(ctx context.Context, b *bucket.Bucket, q *bucket.Query) (files []string, err error) {
	err = c.Each(ctx, b, q, func(_ *bucket.Manifest, file string) error {
		files = append(files, file)
		return nil
	})
	return files, err
}

// Each calls do with the file of each record that a query selects, when it has been fetched.
func (c *Cache) Each(ctx context.Context, b *bucket.Bucket, q *bucket.Query,
	do func(m *bucket.Manifest, file string) error) error {
	list, err := b.List(ctx, q, c.Warn)
	if err != nil {
		return err
	}
	var files []string
	for _, gap := range gaps(list) {
		c.Warn(gap)
	}
	defer func() { c.shrink(files) }() // of what was fetched, also if the rest cannot be
	store := sha256.Sum256([]byte(b.Identity))
	dir := filepath.Join(c.Dir, hex.EncodeToString(store[:8]))
	for _, m := range list {
		file := filepath.Join(dir, filepath.FromSlash(m.ObjectKey()))
		err := c.one(ctx, b, m, file)
		for tries := 0; bucket.Gone(err) && tries < 3; tries++ {
			now, failed := b.Instead(ctx, m)
			if failed != nil {
				break
			}
			m, file = now, filepath.Join(dir, filepath.FromSlash(now.ObjectKey()))
			err = c.one(ctx, b, m, file)
		}
		if err != nil {
			return err
		}
		files = append(files, file)
		if err := do(m, file); err != nil {
			return err
		}
	}
	return nil
}

// one fetches a record, unless the file is there and is what was uploaded.
func (c *Cache) one(ctx context.Context, b *bucket.Bucket, m *bucket.Manifest, file string) error {
	if same(file, m) {
		now := time.Now()
		return os.Chtimes(file, now, now)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "new-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(b.Get(ctx, m, f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// Keep writes a file with a name for the answer to a question, instead of the answer before, and returns where it is.
func (c *Cache) Keep(question, name string, write func(io.Writer) error) (string, error) {
	sum := sha256.Sum256([]byte(question))
	file := filepath.Join(c.Dir, hex.EncodeToString(sum[:8]), fileName(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	if err := safefile.Write(file, 0o600, write); err != nil {
		return "", err
	}
	c.shrink([]string{file})
	return file, nil
}

// fileName returns a name, which may come from a server, as that of a file: on one line, and not too long.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '/' || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, name)
	const most = 100 // bytes; file systems take 255
	end := filepath.Ext(name)
	name = strings.TrimSuffix(name, end)
	for len(name) > most {
		_, n := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-n]
	}
	return name + end
}

// same reports whether a file has what a manifest says.
func same(file string, m *bucket.Manifest) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	want, _ := hex.DecodeString(m.SHA256)
	return err == nil && n == m.Size && bytes.Equal(sum.Sum(nil), want)
}

// gaps returns an error for each run that lacks segments in the store between others: they were removed before they
// were uploaded, or are still to come.
func gaps(list []*bucket.Manifest) (missing []error) {
	byRun := make(map[string][]uint64)
	for _, m := range list {
		if m.Kind == bucket.Segment || m.Kind == bucket.Rest {
			run := m.Service + " of " + m.Host + ", run " + m.Run
			byRun[run] = append(byRun[run], m.Segment)
		}
	}
	for run, have := range byRun {
		slices.Sort(have)
		if lacks := have[len(have)-1] - have[0] + 1 - uint64(len(have)); lacks > 0 {
			missing = append(missing, fmt.Errorf("%s: %d of the segments %d to %d are not in the store: sums are "+
				"without them", run, lacks, have[0], have[len(have)-1]))
		}
	}
	slices.SortFunc(missing, func(a, b error) int { return bytes.Compare([]byte(a.Error()), []byte(b.Error())) })
	return missing
}

// fresh is for how long a file that was used stays: another command may read it.
const fresh = time.Hour

// ours is what a directory in the cache is called.
var ours = regexp.MustCompile(`^[0-9a-f]{16}$`)

// shrink removes files that were not used for long, until the others have at most so many bytes. What else there is in
// the directory is somebody's: it neither goes nor counts.
func (c *Cache) shrink(used []string) {
	type entry struct {
		path string
		size int64
		at   time.Time
	}
	var all []entry
	var size int64
	list, _ := os.ReadDir(c.Dir)
	for _, d := range list {
		if !ours.MatchString(d.Name()) {
			continue
		}
		_ = filepath.WalkDir(filepath.Join(c.Dir, d.Name()), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			if info, err := d.Info(); err == nil {
				all = append(all, entry{path, info.Size(), info.ModTime()})
				size += info.Size()
			}
			return nil
		})
	}
	keep := make(map[string]bool)
	for _, path := range used {
		keep[path] = true
	}
	slices.SortFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	for _, e := range all {
		if size <= c.Most || time.Since(e.at) < fresh {
			return
		}
		if !keep[e.path] && os.Remove(e.path) == nil {
			size -= e.size
		}
	}
}
