package safefile

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func hello(w io.Writer) error { _, err := io.WriteString(w, "hello"); return err }

// TestWrite writes to a file, which is replaced, and to a pipe, which must stay one: root
// would have a plain file instead of /dev/null.
func TestWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for mode, want := range map[os.FileMode]os.FileMode{Private: 0o600, Usual: 0o644} {
		if err := os.WriteFile(file, []byte("what was there before"), 0o666); err != nil {
			t.Fatal(err)
		}
		old := syscall.Umask(0o022)
		err := Write(file, mode, hello)
		syscall.Umask(old)
		if err != nil {
			t.Error(err)
		}
		if data, err := os.ReadFile(file); string(data) != "hello" {
			t.Errorf("the file holds %q, %v", data, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("mode %v, %v, want %v", info.Mode(), err, want)
		}
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	read := make(chan string)
	go func() {
		data, _ := os.ReadFile(pipe)
		read <- string(data)
	}()
	if err := Write(pipe, Private, hello); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the pipe is a file now: %v", err)
	}
	if have := <-read; have != "hello" {
		t.Errorf("the pipe brought %q", have)
	}
	// Nothing stays that was not asked for.
	for _, dir := range []string{filepath.Dir(file), filepath.Dir(pipe)} {
		if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
			t.Errorf("%s has %v, %v", dir, list, err)
		}
	}
	err := Write(file, Private, func(w io.Writer) error { return io.ErrClosedPipe })
	data, _ := os.ReadFile(file)
	if err == nil || !strings.HasPrefix(err.Error(), file+": ") || string(data) != "hello" {
		t.Errorf("have %v, and the file holds %q", err, data)
	}
}

// TestWriteForeign has somebody else's pipe where the file is going to be, in a directory for all.
func TestWriteForeign(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Skip("no named pipes here: ", err)
	}
	f, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that nobody waits
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	me := os.Geteuid()
	euid = func() int { return me + 1 }
	defer func() { euid = os.Geteuid }()
	if me == 0 {
		if err := os.Chown(pipe, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	for mode, refused := range map[os.FileMode]bool{0o777: true, 0o755: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		euid = func() int { return me + 2 }
		if err := Write(pipe, Private, hello); (err != nil) != refused {
			t.Errorf("in a directory of mode %v: have %v, want an error: %v", mode, err, refused)
		}
	}
}

// TestWriteForeignLink has somebody else's link where the file is going to be, in a directory for all. It leads to what
// belongs to root, and might be a disk. The user's own link is followed.
func TestWriteForeignLink(t *testing.T) {
	dir := t.TempDir()
	link, me := filepath.Join(dir, "link"), os.Geteuid()
	if err := os.Symlink("/dev/null", link); err != nil {
		t.Fatal(err)
	}
	other := me
	if me == 0 {
		other = 1
		if err := os.Lchown(link, other, other); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { euid = os.Geteuid }()
	for mode, shared := range map[os.FileMode]bool{0o777: true, 0o755: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		for user, refused := range map[int]bool{other: false, other + 1: shared} {
			euid = func() int { return user }
			if err := Write(link, Private, hello); (err != nil) != refused {
				t.Errorf("in a directory of mode %v, for user %d: have %v, want an error: %v", mode, user, err, refused)
			}
			if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
				t.Fatalf("the link is gone: %v", err)
			}
		}
	}
}

// TestWriteExchanged lets the directory become another one while a file is written, and has links where the temporary
// file could be. The file goes where it was to go.
func TestWriteExchanged(t *testing.T) {
	top := t.TempDir()
	dir, victim := filepath.Join(top, "shared"), filepath.Join(top, "victim")
	for _, d := range []string{dir, victim} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "out"), []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	begun := ""
	err := Write(filepath.Join(dir, "out"), Usual, func(w io.Writer) error {
		list, err := os.ReadDir(dir)
		if err != nil || len(list) != 2 {
			t.Fatalf("have %v, %v, want two files", list, err)
		}
		for _, d := range list {
			if d.Name() != "out" {
				begun = d.Name()
			}
		}
		if err := os.Rename(dir, dir+".moved"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(victim, dir); err != nil {
			t.Fatal(err)
		}
		return hello(w)
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{victim + "/out": "old", dir + ".moved/out": "hello"} {
		if have, err := os.ReadFile(file); string(have) != want {
			t.Errorf("%s: have %q, %v, want %q", file, have, err, want)
		}
	}
	again := ""
	if err := Write(victim+"/out", Usual, func(w io.Writer) error {
		list, _ := filepath.Glob(victim + "/out.*")
		again = filepath.Base(strings.Join(list, ""))
		return nil
	}); err != nil || again == begun || again == "." {
		t.Errorf("%v; temporary files are called %s and %s, want others each time", err, begun, again)
	}
}
