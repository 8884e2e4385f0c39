package bucket_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
)

// TestUnreadableDirectory has a directory of a store that its user cannot read, which is an error, and one beside those
// of services, which is none.
func TestUnreadableDirectory(t *testing.T) {
	dir, err := os.MkdirTemp("", "bucket-") // that of the test is for its user alone
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := bucket.Open(context.Background(), "file://"+dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if err := put(b, run, "a record"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "lost+found"), 0); err != nil {
		t.Fatal(err)
	}
	for service, want := range map[string]error{"": nil, "srv": nil, "none": nil} {
		if err := listAsOther(b, service); err != want {
			t.Errorf("service %q: %v", service, err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "srv", "h"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(dir, "srv", "h"), 0o755)
	for service, want := range map[string]error{"": fs.ErrPermission, "srv": fs.ErrPermission, "none": nil} {
		if err := listAsOther(b, service); !errors.Is(err, want) {
			t.Errorf("service %q, of which a directory cannot be read: %v", service, err)
		}
	}
}

// listAsOther lists the records of a service, and not as root, who can read all.
func listAsOther(b *bucket.Bucket, service string) error {
	done := make(chan error)
	go func() {
		if os.Geteuid() == 0 {
			runtime.LockOSThread() // which ends with this goroutine
			if err := syscall.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		}
		_, err := b.List(context.Background(), &bucket.Query{Service: service}, func(error) {})
		done <- err
	}()
	return <-done
}
