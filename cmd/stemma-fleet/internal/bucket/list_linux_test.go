package bucket_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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
		if _, err := listAsOther(b, service); err != want {
			t.Errorf("service %q: %v", service, err)
		}
	}
	// A service of somebody else is said, and is no reason to refuse the others.
	if err := os.Mkdir(filepath.Join(dir, "theirs"), 0); err != nil {
		t.Fatal(err)
	}
	for service, want := range map[string]struct {
		bad string
		err error
	}{
		"": {bad: filepath.Join(dir, "theirs")}, "srv": {}, "theirs": {err: fs.ErrPermission},
	} {
		said, err := listAsOther(b, service)
		if !errors.Is(err, want.err) || (said != "") != (want.bad != "") || !strings.Contains(said, want.bad) {
			t.Errorf("service %q beside one that cannot be read: %v, said %q, want %v", service, err, said, want)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "srv", "h"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(dir, "srv", "h"), 0o755)
	for service, want := range map[string]error{"": fs.ErrPermission, "srv": fs.ErrPermission, "none": nil} {
		if _, err := listAsOther(b, service); !errors.Is(err, want) {
			t.Errorf("service %q, of which a directory cannot be read: %v", service, err)
		}
	}
}

// listAsOther lists the records of a service, and not as root, who can read all. It returns what was left out.
func listAsOther(b *bucket.Bucket, service string) (said string, err error) {
	done := make(chan error)
	go func() {
		if os.Geteuid() == 0 {
			runtime.LockOSThread() // which ends with this goroutine
			if err := syscall.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		}
		_, err := b.List(context.Background(), &bucket.Query{Service: service},
			func(err error) { said += err.Error() })
		done <- err
	}()
	err = <-done
	return said, err
}
