package main

import (
	"context"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"gocloud.dev/blob"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket/buckettest"
)

// A stuck opener opens buckets that answer nothing.
type stuck struct{}

func (stuck) OpenBucketURL(context.Context, *url.URL) (*blob.Bucket, error) {
	m := &buckettest.Memory{Stuck: func(string, string) bool { return true }}
	return m.Bucket(), nil
}

// TestTablesProgress makes tables of a store that does not answer: a line each 20 seconds shows that it waits, until it
// gives up.
func TestTablesProgress(t *testing.T) {
	blob.DefaultURLMux().RegisterBucket("stuck", stuck{})
	signals := make(chan os.Signal, 1) // the goroutine that waits for them must begin outside of the bubble
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	out := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var stderr strings.Builder
		code := run([]string{"parquet", "-o=" + out, "-cache=" + out, "-store=stuck://b"}, &stderr)
		lines := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
		if code != 1 || len(lines) < 11 || lines[0] != "stemma: tables: stuck://b, 20 s" ||
			!strings.Contains(lines[len(lines)-1], "no answer for 5m0s") {
			t.Errorf("exit code %d, %q", code, lines)
		}
	})
}

// TestNoTables names a record that is not there: no directory is made for its tables, and one that was there stays.
func TestNoTables(t *testing.T) {
	top := t.TempDir()
	old := filepath.Join(top, "old")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{old, filepath.Join(old, "new"), filepath.Join(top, "a", "b")} {
		var stderr strings.Builder
		missing := filepath.Join(top, "missing.stemma")
		if code := run([]string{"parquet", "-o=" + out, missing}, &stderr); code != 1 ||
			!strings.Contains(stderr.String(), missing) {
			t.Errorf("exit code %d, %s", code, stderr.String())
		}
	}
	var left []string
	err := filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
		left = append(left, path)
		return err
	})
	if err != nil || len(left) != 2 || left[1] != old {
		t.Errorf("left are %q, %v", left, err)
	}
}
