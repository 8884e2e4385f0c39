package toolchain

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A stat is a file as reachable sees it.
type stat struct {
	mode fs.FileMode
	sys  syscall.Stat_t
}

func (s stat) Name() string       { return "" }
func (s stat) Size() int64        { return 0 }
func (s stat) Mode() fs.FileMode  { return s.mode }
func (s stat) ModTime() time.Time { return time.Time{} }
func (s stat) IsDir() bool        { return s.mode.IsDir() }
func (s stat) Sys() any           { return &s.sys }

func TestReachable(t *testing.T) {
	const uid, gid = 1000, 1000
	for _, tt := range []struct {
		uid, gid uint32
		mode     fs.FileMode
		last     bool
		want     string
	}{
		{uid, gid, 0o755, true, ""},
		{0, 0, 0o755, true, ""},
		{1001, gid, 0o755, true, "user 1001"},
		{1001, gid, 0o755, false, "user 1001"},
		{65534, gid, 0o755, true, "user 65534"},
		{uid, gid, 0o757, true, "all users"},
		{uid, gid, 0o757, false, "all users"},
		{0, 0, fs.ModeSticky | 0o777, false, ""},
		{0, 0, fs.ModeSticky | 0o777, true, "all users"},
		{uid, gid, 0o775, true, "group 1000"},
		{uid, gid, 0o775, false, ""},
		{uid, 50, 0o775, false, "group 50"},
		{0, 0, 0o775, false, ""},
	} {
		have := reachable(stat{tt.mode, syscall.Stat_t{Uid: tt.uid, Gid: tt.gid}}, tt.last, uid, gid)
		if (have == "") != (tt.want == "") || !strings.Contains(have, tt.want) {
			t.Errorf("%d:%d %v, last %v: have %q, want %q", tt.uid, tt.gid, tt.mode, tt.last, have, tt.want)
		}
	}
}

// Each directory on the way counts, also on the way of a link.
func TestCheckOwned(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "open", "cache")
	if err := os.MkdirAll(real, 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{real, link, filepath.Join(real, "none", "yet")} {
		if err := checkOwned(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Chmod(filepath.Dir(real), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{real, link, filepath.Join(real, "none", "yet")} {
		if err := checkOwned(name); err == nil ||
			!strings.Contains(err.Error(), filepath.Dir(real)+": all users may write to it") {
			t.Errorf("%s: %v, want an error", name, err)
		}
	}
}
