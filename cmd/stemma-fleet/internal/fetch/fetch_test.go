package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket/buckettest"
)

// TestShrink has a cache that is too large. What was used long ago goes, also when fetching fails in between; what
// another command may read just now stays.
func TestShrink(t *testing.T) {
	ctx, away := context.Background(), false
	m := &buckettest.Memory{Fail: func(op, key string) error {
		if away && op == "get" && strings.HasSuffix(key, ".stemma") {
			return errors.New("away")
		}
		return nil
	}}
	b := bucket.New(m.Bucket(), "mem://")
	for i := range 3 {
		one := &bucket.Manifest{Service: "srv", Host: "h", Run: fmt.Sprintf("%016x", i+1), Kind: bucket.Whole,
			Ended: time.Now()}
		if _, err := b.Put(ctx, one, strings.NewReader(fmt.Sprint("record ", i))); err != nil {
			t.Fatal(err)
		}
	}
	c := &Cache{Dir: t.TempDir(), Most: 1, Warn: func(err error) { t.Error(err) }}
	files, err := c.Fetch(ctx, b, new(bucket.Query))
	if err != nil || len(files) != 3 {
		t.Fatalf("%q, %v", files, err)
	}
	old := time.Now().Add(-2 * fresh)
	if err := os.Chtimes(files[0], old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(files[2]); err != nil {
		t.Fatal(err)
	}
	others := []string{"thesis.tex", "srv/h/0000000000000001/whole.stemma"} // the directory may have been used before
	for i, name := range others {
		others[i] = filepath.Join(c.Dir, name)
		err := errors.Join(os.MkdirAll(filepath.Dir(others[i]), 0o700), os.WriteFile(others[i], []byte("mine"), 0o600),
			os.Chtimes(others[i], old, old))
		if err != nil {
			t.Fatal(err)
		}
	}
	away = true
	if _, err := c.Fetch(ctx, b, &bucket.Query{Runs: map[string]bool{fmt.Sprintf("%016x", 3): true}}); err == nil {
		t.Error("the store is away, and there is no error")
	}
	left, err := filepath.Glob(filepath.Join(c.Dir, "*", "srv", "h", "*", "*"))
	if err != nil || len(left) != 1 || left[0] != files[1] {
		t.Errorf("left are %q, %v; want %s", left, err, files[1])
	}
	for _, file := range others {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("what was not fetched is removed: %v", err)
		}
	}
}

// TestKeep has names as a server may have them: whatever they are, the file is on one line, and in the directory of its
// question.
func TestKeep(t *testing.T) {
	c := &Cache{Dir: t.TempDir(), Most: 1 << 20}
	files := make(map[string]bool)
	names := []string{"", "..", "../../srv", "a\nb", "a\x00b", "\xff", strings.Repeat("srv+", 500),
		strings.Repeat("ü", 200)}
	for _, name := range names {
		file, err := c.Keep(name, name+".stemma", func(w io.Writer) error {
			_, err := io.WriteString(w, name)
			return err
		})
		if err != nil {
			t.Errorf("%.20q: %v", name, err)
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil || string(text) != name {
			t.Errorf("%.20q: %q, %v", name, text, err)
		}
		below, err := filepath.Rel(c.Dir, file)
		if err != nil || strings.Count(below, "/") != 1 || strings.Contains(file, "\n") || files[file] {
			t.Errorf("%.20q is kept as %q", name, file)
		}
		files[file] = true
	}
}

// TestGrown fetches a record of a run that grows, whose place a later one, or the whole run, takes meanwhile: when its
// manifest is read, or when the record is. The whole run may be the same.
func TestGrown(t *testing.T) {
	for _, kind := range []bucket.Kind{bucket.Growing, bucket.Whole} {
		testGrown(t, kind, ".stemma", "second")
		testGrown(t, kind, ".json", "second")
	}
	testGrown(t, bucket.Whole, ".stemma", "first")
	testGrown(t, bucket.Whole, ".json", "first")
	testGrown(t, bucket.Whole, "growing.json", "second")
}

func testGrown(t *testing.T, kind bucket.Kind, at, content string) {
	ctx := context.Background()
	store := new(buckettest.Memory)
	b := bucket.New(store.Bucket(), "mem://")
	put := func(kind bucket.Kind, content string) *bucket.Manifest {
		m := &bucket.Manifest{Service: "srv", Host: "h", Run: "0123456789abcdef", Kind: kind, IDs: true,
			Began: time.Now(), Ended: time.Now()}
		if _, err := b.Put(ctx, m, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		return m
	}
	first := put(bucket.Growing, "first")
	if at == "growing.json" { // both are listed
		put(kind, content)
	}
	store.Fail = func(op, key string) error {
		if op == "get" && strings.HasSuffix(key, at) {
			store.Fail = nil
			put(kind, content)
			store.Change(first.ObjectKey(), func([]byte) []byte { return nil })
			if kind == bucket.Whole {
				store.Change(first.Key(), func([]byte) []byte { return nil })
			}
		}
		return nil
	}
	c := &Cache{Dir: t.TempDir(), Most: 1 << 20, Warn: func(err error) { t.Error(err) }}
	files, err := c.Fetch(ctx, b, &bucket.Query{Runs: map[string]bool{first.Run: true}})
	if err != nil || len(files) != 1 {
		t.Fatalf("%s at %s: %q, %v", kind, at, files, err)
	}
	if text, err := os.ReadFile(files[0]); err != nil || string(text) != content {
		t.Errorf("%s at %s: fetched %q, %v, want %q", kind, at, text, err, content)
	}
}
