package collect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket/buckettest"
)

// TestOneFails has a store that refuses one record of five: the others are there after one pass. If it refuses all, it
// is not asked for each.
func TestOneFails(t *testing.T) {
	out := t.TempDir()
	for i := range 5 {
		write(t, filepath.Join(out, fmt.Sprintf("a.%d-0a1b2c", i+1)), uint64(i+1))
	}
	all, puts := false, 0
	b := &buckettest.Memory{Fail: func(op, key string) error {
		if op == "put" && (all || strings.Contains(key, fmt.Sprintf("%016x", 2))) {
			puts++
			return errors.New("too large")
		}
		return nil
	}}
	a, log := agent(b, out, nil)
	if _, err := a.Pass(context.Background()); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("%v\n%s", err, log)
	}
	if list := manifests(t, b); len(list) != 4 {
		t.Errorf("%d records of 5 are in the store, want 4", len(list))
	}
	all, puts = true, 0
	a, _ = agent(new(buckettest.Memory), out, nil)
	a.to[0] = a.store(bucket.New((&buckettest.Memory{Fail: b.Fail}).Bucket(), "mem://other"))
	if _, err := a.Pass(context.Background()); err == nil || puts != maxFailures {
		t.Errorf("%v, after %d attempts, want %d", err, puts, maxFailures)
	}
}

// TestOldestFail has a store that refuses the oldest records, more than it is tried with in one pass, and in two: the
// others come there nevertheless, also with an agent that runs once, whose error names what did not.
func TestOldestFail(t *testing.T) {
	t.Run("one", func(t *testing.T) { testOldestFail(t, maxFailures, 0) })
	t.Run("three", func(t *testing.T) { testOldestFail(t, 2*maxFailures+1, 0) })
	// Of records that are too young for the first pass.
	t.Run("young", func(t *testing.T) { testOldestFail(t, 2*maxFailures+1, 2*maxFailures+6) })
	t.Run("young others", func(t *testing.T) { testOldestFail(t, 2*maxFailures+1, 5) })
}

func testOldestFail(t *testing.T, refused, young int) {
	out := t.TempDir()
	for i := range refused + 5 {
		path := filepath.Join(out, fmt.Sprintf("a.%d-0a1b2c", i+1))
		write(t, path, uint64(i+1))
		at := time.Now().Add(time.Duration(i)*time.Second - time.Minute)
		if i >= refused+5-young {
			at = time.Now()
		}
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	b := &buckettest.Memory{Fail: func(op, key string) error {
		var run int
		if i := strings.Index(key, "/0000"); op == "put" && i > 0 {
			_, _ = fmt.Sscanf(key[i+1:], "%016x", &run)
		}
		if run > 0 && run <= refused {
			return errors.New("too large")
		}
		return nil
	}}
	a, log := agent(b, out, nil)
	err := a.Once(context.Background())
	last := filepath.Join(out, fmt.Sprintf("a.%d-0a1b2c", refused))
	want := fmt.Sprintf("%d records were not uploaded to mem://: %s, ", refused, filepath.Join(out, "a.1-0a1b2c"))
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), last+": ") ||
		!strings.Contains(err.Error(), "too large") {
		t.Errorf("have %v\nwant %s…%s: … too large\n%s", err, want, last, log)
	}
	if n := len(manifests(t, b)); n != 5 {
		t.Errorf("%d records are in the store, want 5\n%s", n, log)
	}
}

// TestRefusedNamesAreEscaped has a record that a store refuses, and that is called so that it would forge a line.
func TestRefusedNamesAreEscaped(t *testing.T) {
	out := t.TempDir()
	write(t, filepath.Join(out, "a\nstemma-fleet: uploaded \x1b[2J.12-0a1b2c"), 1)
	a, log := agent(&buckettest.Memory{Fail: func(string, string) error { return errors.New("full") }}, out, nil)
	if err := a.Once(context.Background()); err == nil || strings.ContainsAny(err.Error(), "\n\x1b") {
		t.Errorf("%q\n%s", err, log)
	}
}

// TestAwayOnce has a store that is away: an agent that runs once does not try all records for ever.
func TestAwayOnce(t *testing.T) {
	out := t.TempDir()
	for i := range 3 * maxFailures {
		write(t, filepath.Join(out, fmt.Sprintf("a.%d-0a1b2c", i+1)), uint64(i+1))
	}
	puts := 0
	a, log := agent(&buckettest.Memory{Fail: func(op, _ string) error {
		if op != "put" {
			return nil
		}
		puts++
		return errors.New("away")
	}}, out, nil)
	a.patience = 0
	if err := a.Once(context.Background()); err == nil || puts != maxFailures ||
		!strings.Contains(err.Error(), "3 records were not uploaded") {
		t.Errorf("%v after %d attempts\n%s", err, puts, log)
	}
}

// TestNoSpool has no room to seal records: that is an error of this machine, and no record is unreadable.
func TestNoSpool(t *testing.T) {
	out := t.TempDir()
	write(t, filepath.Join(out, "a.1-0a1b2c"), 1)
	a, log := agent(new(buckettest.Memory), out, nil)
	t.Setenv("TMPDIR", filepath.Join(out, "none"))
	err := a.Once(context.Background())
	if err == nil || !strings.Contains(err.Error(), "set TMPDIR") || a.Numbers.unreadable.Load() > 0 {
		t.Errorf("%v, %d unreadable\n%s", err, a.Numbers.unreadable.Load(), log)
	}
}

// TestEnds has a pass that is ended before it has looked at all: it does not say that all is done.
func TestEnds(t *testing.T) {
	out := t.TempDir()
	write(t, filepath.Join(out, "a.1-0a1b2c"), 1)
	a, _ := agent(new(buckettest.Memory), out, nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := a.Once(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was canceled", err)
	}
}

// TestClockSetBack has records that were made in what is the future now: they are collected, and at once.
func TestClockSetBack(t *testing.T) {
	out := t.TempDir()
	for i, name := range []string{"a.1-0a1b2c", "b.1-0a1b2c.000001"} {
		path := filepath.Join(out, name)
		write(t, path, uint64(i+1))
		later := time.Now().Add(3 * time.Hour)
		if err := os.Chtimes(path, later, later); err != nil {
			t.Fatal(err)
		}
	}
	b := new(buckettest.Memory)
	a, log := agent(b, out, nil)
	if wait, err := a.Pass(context.Background()); err != nil || wait > settled {
		t.Errorf("%v, and it waits for %v\n%s", err, wait, log)
	}
	list := manifests(t, b)
	for key, m := range list {
		if m.Ended.Before(m.Began) {
			t.Errorf("%s has ended at %v, and begun at %v", key, m.Ended, m.Began)
		}
	}
	if len(list) != 2 {
		t.Errorf("%d records in the store, want 2", len(list))
	}
}

// TestSymlinks has a store in a directory that is a link, and records below another one: what is uploaded is in the
// directory that is meant, and a link at the key of a record is replaced, not followed.
func TestSymlinks(t *testing.T) {
	top := t.TempDir()
	real, outside := filepath.Join(top, "real"), filepath.Join(top, "outside")
	for _, dir := range []string{real, filepath.Join(top, "out")} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(outside, []byte("of somebody else"), 0o666); err != nil {
		t.Fatal(err)
	}
	link(real, filepath.Join(top, "store"))
	link(filepath.Join(top, "out"), filepath.Join(top, "records"))
	write(t, filepath.Join(top, "out", "a.1-0a1b2c"), 1)
	dir := filepath.Join(real, "shapes", "h%2F1", fmt.Sprintf("%016x", 1))
	link(outside, filepath.Join(dir, "whole.json"))
	b, err := bucket.Open(context.Background(), "file://"+filepath.Join(top, "store"))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	log := new(strings.Builder)
	a := New(b, nil, Options{Dirs: []string{filepath.Join(top, "records")}, Host: "h/1", Log: log})
	if err := a.Once(context.Background()); err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	list, err := b.List(context.Background(), new(bucket.Query), func(err error) { t.Error(err) })
	if err != nil || len(list) != 1 {
		t.Errorf("%d records in the store, want 1: %v", len(list), err)
	}
	if text, err := os.ReadFile(outside); err != nil || string(text) != "of somebody else" {
		t.Errorf("outside there is %q, %v", text, err)
	}
}
