package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRemoveExchanged removes a directory that is exchanged for a link, or another directory, at each step of the
// removal in turn. Nothing goes but what was there.
func TestRemoveExchanged(t *testing.T) {
	defer func() { looked = func(string) {} }()
	for _, link := range []bool{true, false} {
		for step, steps := 0, 1; step < steps; step++ {
			top := t.TempDir()
			victim := filepath.Join(top, "victim")
			for _, name := range []string{"victim/a", "victim/sub/b", "shared/dir/a", "shared/dir/sub/b"} {
				name = filepath.Join(top, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, nil, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			shared, n := filepath.Join(top, "shared"), 0
			path := filepath.Join(shared, "dir")
			looked = func(string) {
				if n++; n != step+1 {
					return
				}
				exchange(t, path, victim, link)
			}
			d, err := OpenItself(path)
			if err == nil {
				err = d.RemoveAll()
			}
			steps = max(steps, n)
			gone, _ := filepath.Glob(top + "/shared/dir")
			have := count(t, top)
			if n > step && have < 4 || n <= step && (err != nil || have != 4 || gone != nil) {
				t.Errorf("link %v, exchanged at step %d of %d: %d things are left, %v", link, step, n, have,
					err)
			}
			if kept := victimFiles(top); kept != 2 {
				t.Errorf("link %v, exchanged at step %d of %d: %d files of somebody else's are left, want 2", link,
					step, n, kept)
			}
		}
	}
}

// exchange lets another directory, or a link to it, take the name of one.
func exchange(t *testing.T, path, victim string, link bool) {
	err := os.Rename(path, path+".moved")
	if err == nil && link {
		err = os.Symlink(victim, path)
	} else if err == nil {
		err = os.Rename(victim, path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// victimFiles counts the files of the directory that nobody asked to remove.
func victimFiles(top string) (n int) {
	for _, dir := range []string{"victim", "shared/dir"} {
		if info, err := os.Lstat(filepath.Join(top, dir)); err != nil || !info.IsDir() {
			continue
		}
		for _, file := range []string{"a", "sub/b"} {
			if _, err := os.Stat(filepath.Join(top, dir, file)); err == nil {
				n++
			}
		}
	}
	return n
}

// count counts what is below a directory.
func count(t *testing.T, top string) (n int) {
	err := filepath.WalkDir(top, func(string, os.DirEntry, error) error { n++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFiles opens files, and neither a link nor a pipe, which has no writer.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("file", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(dir+"/pipe", 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/file", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, dir+"/linked"); err != nil {
		t.Fatal(err)
	}
	for _, fsys := range []fs.FS{Files(dir), Files(dir + "/linked")} {
		for name, want := range map[string]string{"file": "", "link": "link: a link", "pipe": "pipe: no regular file",
			"none": "open none: no such file", "../x": "invalid"} {
			f, err := fsys.Open(name)
			if err == nil {
				f.Close()
			}
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if list, err := fs.ReadDir(fsys, "."); err != nil || len(list) != 4 {
			t.Errorf("%d names, %v", len(list), err)
		}
	}
}

// TestOpenItself takes a directory, and neither a link to one nor a file.
func TestOpenItself(t *testing.T) {
	top := t.TempDir()
	if err := os.Symlink(top, top+"/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(top+"/file", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := MakeDir(top, "made-")
	if err != nil {
		t.Fatal(err)
	}
	for path, ok := range map[string]bool{top: true, top + "/link": false, top + "/file": false, top + "/none": false,
		d.Path: true} {
		d, err := OpenItself(path)
		if (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			if uid, _ := d.Owner(); uid != os.Geteuid() || !d.IsOwn() {
				t.Errorf("%s: owner %d", path, uid)
			}
			d.Close()
		}
	}
	for name, ok := range map[string]bool{"made": true, "link": false, "file": false} {
		below, err := OpenBelow(top+"/link", true, filepath.Base(d.Path), "in", name)
		if name != "made" { // what is there is not made
			below, err = OpenBelow(top+"/link", true, name, "in")
		}
		if (err == nil) != ok {
			t.Errorf("below %s: %v", name, err)
		}
		if err == nil {
			below.Close()
		}
	}
	if _, err := OpenBelow(top, false, "none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there and not to be made: %v", err)
	}
	for name, ok := range map[string]bool{"file": true, "link": false, "none": false} {
		d, err := OpenDir(top)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := d.Open(name); (err == nil) != ok {
			t.Errorf("%s: %v", name, err)
		} else if ok {
			f.Close()
		}
	}
	if err := d.RemoveAll(); err != nil {
		t.Error(err)
	}
}
