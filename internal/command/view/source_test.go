package view

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSource opens files that a record may name: regular ones of a module, and none by way of a link out of it. In a
// page are those of the module here, of its workspace, of Go and of the module cache.
func TestSource(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"here/go.mod": "module here\n", "here/a.go": "", "here/sub/a.go": "", "other/go.mod": "module other\n",
		"other/a.go": "", "secret.go": "", "none/a.go": "", "space/go.work": "go 1.26\n",
		"space/x/go.mod": "module x\n",
		"space/x/a.go":   "", "space/y/go.mod": "module y\n", "space/y/a.go": "", "mod/m@v1.0.0/a.go": "",
		"mod/n@v1.0.0/sub/a.go": "", "mod/n@v1.0.0/go.mod": "module n\n", "mod/secret.go": "",
		"goroot/src/go.mod": "module std\n", "goroot/src/fmt/a.go": "", "forged@v1/a.go": "",
		"here/.env": "", "here/.git/config": "", "here/sub/.a.go": "", ".hid/go.mod": "module hid\n", ".hid/a.go": "",
	} {
		name = filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"here/out.go": "../secret.go", "here/away.go": filepath.Join(top, "secret.go"), "here/in.go": "sub/a.go",
		"here/dir": "..", "space/other": "../other", "here/other": "../other", "mod/m@v1.0.0/out.go": "../secret.go",
	} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(top, "here", "pipe.go"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOMODCACHE", filepath.Join(top, "mod"))
	const nowhere, served, public = 0, 1, 2
	for _, c := range []struct {
		wd, name string
		want     int
	}{
		{"here", "here/a.go", public}, {"here/sub", "here/a.go", public}, {"here", "here/sub/a.go", public},
		{"here", "here/in.go", public}, {"here", "here/out.go", nowhere}, {"here", "here/away.go", nowhere},
		{"here", "here/dir/secret.go", nowhere}, {"here", "here/other/a.go", served}, {"here", "here/pipe.go", nowhere},
		{"here", "here", nowhere}, {"here", "here/none.go", nowhere}, {"here", "other/a.go", served},
		{"here", "secret.go", served}, {"here", "none/a.go", served}, {"none", "none/a.go", public},
		{"space/x", "space/y/a.go", public}, {"space/x", "here/a.go", served}, {"space/x", "space/other/a.go", served},
		{"here", "mod/m@v1.0.0/a.go", public},
		{"here", "mod/n@v1.0.0/sub/a.go", public}, {"here", "mod/m@v1.0.0/out.go", nowhere},
		{"here", "mod/secret.go", served}, {"here", "goroot/src/fmt/a.go", public}, {"here", "forged@v1/a.go", served},
		{"here", "here/../secret.go", served}, {"here", "here/.env", served}, {"here", "here/.git/config", served},
		{"here", "here/sub/.a.go", served}, {"here", "here/sub/../.env", served}, {".hid", ".hid/a.go", public},
	} {
		t.Chdir(filepath.Join(top, c.wd))
		have := nowhere
		for level, open := range []func(string) (io.ReadCloser, error){openSource, openPublic} {
			if f, err := open(top + "/" + c.name); err == nil {
				f.Close()
				have = level + 1
			}
		}
		if have != c.want {
			t.Errorf("%s, seen from %s: have %d, want %d", c.name, c.wd, have, c.want)
		}
	}
	if f, err := openSource("a.go"); err == nil {
		f.Close()
		t.Error("a relative path was opened")
	}
}
