package clean

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// A writer does something when the first line is written.
type writer struct {
	strings.Builder
	then func()
}

func (w *writer) Write(b []byte) (int, error) {
	if w.then != nil {
		w.then()
		w.then = nil
	}
	return w.Builder.Write(b)
}

// TestExchanged lets a directory of records become a link to another one when the first of them is gone.
func TestExchanged(t *testing.T) {
	for _, named := range []bool{false, true} {
		t.Chdir(t.TempDir())
		t.Setenv("TMPDIR", t.TempDir())
		t.Setenv("STEMMA_OUT", "")
		dir := "stemma.out"
		var args []string
		if named {
			dir = filepath.Join(os.TempDir(), fmt.Sprint("stemma-", os.Geteuid()))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			args = append(args, dir)
		}
		victim := t.TempDir()
		names := []string{"a.12-0a1b2c", "b.12-0a1b2d", "c.12-0a1b2e"}
		for _, name := range names {
			recordtest.Shapes().WriteTo(t, filepath.Join(dir, name))
			recordtest.Shapes().WriteTo(t, filepath.Join(victim, name))
		}
		w := &writer{then: func() {
			if err := os.Rename(dir, dir+".moved"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(victim, dir); err != nil {
				t.Fatal(err)
			}
		}}
		if err := Run(w, args, Options{}); err != nil {
			t.Error(err)
		}
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(victim, name, "tree")); err != nil {
				t.Errorf("named %v: %v, and nobody asked for its removal", named, err)
			}
			if _, err := os.Stat(filepath.Join(dir+".moved", name)); !os.IsNotExist(err) {
				t.Errorf("named %v: %s is left: %v", named, name, err)
			}
		}
	}
}

// TestForeign has directories where records are expected that others have made, may enter, or still use, and one with
// the records of programs that were started elsewhere.
func TestForeign(t *testing.T) {
	make := func(path string) func(t *testing.T) string {
		return func(t *testing.T) string {
			if path == "" {
				path = filepath.Join(os.TempDir(), fmt.Sprint("stemma-", os.Geteuid()))
			}
			recordtest.Shapes().WriteTo(t, filepath.Join(path, "a.12-0a1b2c"))
			if err := os.Chmod(path, 0o700); err != nil {
				t.Fatal(err)
			}
			return path
		}
	}
	open := func(t *testing.T, path string) {
		if err := os.Chmod(path, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	give := func(t *testing.T, path string) {
		if err := os.Chown(path, 1, -1); err != nil {
			t.Skip("only root gives files away; run go test -run TestForeign ./internal/command/clean as root: ", err)
		}
	}
	use := func(t *testing.T, path string) {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if err := store.Hold(f); err != nil {
			t.Fatal(err)
		}
	}
	link := func(t *testing.T, path string) {
		to := filepath.Join(t.TempDir(), "moved")
		if err := os.Rename(path, to); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		make   func(t *testing.T) string
		change func(t *testing.T, path string)
		said   string // "" if it is removed
	}{
		"elsewhere":              {make(""), func(*testing.T, string) {}, "left alone: 1 record in "},
		"elsewhere, by a link":   {make(""), link, "left alone: 1 record in "},
		"here":                   {make("stemma.out"), open, ""},
		"here, somebody else's":  {make("stemma.out"), give, "left alone, since it belongs to user 1: stemma.out"},
		"here, a link":           {make("stemma.out"), link, "not a directory"},
		"left":                   {make("x.live-1"), open, ""},
		"left by somebody else":  {make("x.live-1"), give, "left alone, since it belongs to user 1: x.live-1"},
		"left, and a link to it": {make("x.live-1"), link, "not a directory"},
		"in use":                 {make("x.live-1"), use, "left alone, since a stemma that runs uses it: x.live-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			t.Setenv("TMPDIR", t.TempDir())
			t.Setenv("STEMMA_OUT", "")
			path := c.make(t)
			c.change(t, path)
			var w strings.Builder
			if err := Run(&w, nil, Options{}); err != nil {
				t.Error(err)
			}
			_, err := os.Stat(filepath.Join(path, "a.12-0a1b2c", "tree"))
			if os.IsNotExist(err) != (c.said == "") || !strings.Contains(w.String(), c.said) {
				t.Errorf("have %v and\n%swant %q", err, w.String(), c.said)
			}
			// Named, it is what was asked for.
			if err := Run(&w, []string{path}, Options{}); c.said != "" && err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(path, "a.12-0a1b2c")); !os.IsNotExist(err) {
				t.Errorf("named: %v", err)
			}
		})
	}
}

// TestSegments has segments of a program that runs, of one that has ended, of one whose record is gone, and what one
// has left that was killed while it wrote a segment.
func TestSegments(t *testing.T) {
	out := t.TempDir()
	running := filepath.Join(out, "a.12-0a1b2c")
	for _, name := range []string{"a.12-0a1b2c", "a.12-0a1b2c.000001", "a.12-0a1b2c.1000000", "b.12-0a1b2d",
		"b.12-0a1b2d.000002", "c.12-0a1b2e.000001"} {
		recordtest.Shapes().WriteTo(t, filepath.Join(out, name))
	}
	for _, name := range []string{"a.12-0a1b2c.000002", "b.12-0a1b2d.000003", "d.12-0a1b2f.000001"} {
		recordtest.New(1).WriteTo(t, filepath.Join(out, name))
		at := func(file string) string { return filepath.Join(out, name, file) }
		if err := os.Rename(at("tree"), at("tree.new")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(out, "d.12-0a1b2f.000001", "notes"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(running, "tree"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := store.Hold(f); err != nil {
		t.Fatal(err)
	}
	said := new(strings.Builder)
	if err := Run(said, []string{out}, Options{}); err != nil {
		t.Error(err)
	}
	segment := strings.Index(said.String(), "b.12-0a1b2d.000002\n")
	whole := strings.Index(said.String(), "b.12-0a1b2d\n")
	if segment < 0 || whole < segment {
		t.Errorf("a segment goes before the record of its run, which has all:\n%s", said)
	}
	var left []string
	list, _ := os.ReadDir(out)
	for _, e := range list {
		left = append(left, e.Name())
	}
	want := []string{"a.12-0a1b2c", "a.12-0a1b2c.000001", "a.12-0a1b2c.000002", "a.12-0a1b2c.1000000",
		"d.12-0a1b2f.000001"}
	if !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}

// TestEmpty has directories without anything in them: those that programs and runs of stemma make for themselves go,
// and those that somebody has made for records, or for something else, stay.
func TestEmpty(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	configured := t.TempDir()
	for _, dir := range []string{"x.live-1", "x.live-data", "named", "stemma.out"} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	there := func(dir string) bool {
		_, err := os.Stat(dir)
		return err == nil
	}
	var dry strings.Builder
	if err := Run(&dry, nil, Options{Dry: true}); err != nil || !there("x.live-1") ||
		!strings.Contains(dry.String(), "  empty directory  x.live-1\n1 directory to be removed\n") {
		t.Errorf("-n: %v, %s", err, &dry)
	}
	for _, out := range []string{configured, ""} {
		t.Setenv("STEMMA_OUT", out)
		for _, dirs := range [][]string{nil, {"named"}, {"stemma.out"}, {configured}} {
			var w strings.Builder
			if err := Run(&w, dirs, Options{}); err != nil {
				t.Error(err)
			}
			if first := out != "" && dirs == nil; strings.Contains(w.String(), "empty directory  x.live-1") != first ||
				strings.Contains(w.String(), "nothing to remove") == first {
				t.Errorf("STEMMA_OUT=%s %q: %s", out, dirs, &w)
			}
		}
	}
	for dir, want := range map[string]bool{"x.live-1": false, "x.live-data": true, "named": true, "stemma.out": true,
		configured: true} {
		if there(dir) != want {
			t.Errorf("%s: there is %t, want %t", dir, !want, want)
		}
	}

	// With a record in it, the directory of programs that were started here goes together with the last one.
	for _, dir := range []string{"stemma.out", configured} {
		recordtest.Shapes().WriteTo(t, filepath.Join(dir, "a.12-0a1b2c"))
		if err := Run(new(strings.Builder), []string{dir}, Options{}); err != nil {
			t.Error(err)
		}
		if there(dir) != (dir == configured) {
			t.Errorf("%s: there is %t", dir, there(dir))
		}
	}
}

// TestTemporaries has temporary directories of a stemma that was killed, of one that runs, of a program that runs
// although its stemma was killed, and such as stemma has not made.
func TestTemporaries(t *testing.T) {
	t.Chdir(t.TempDir())
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	t.Setenv("STEMMA_OUT", "")
	there := map[string]bool{"stemma-run1": false, "stemma-overlay22": false, "stemma-run333": true, "stemma-run": true,
		"stemma-runs1": true, "xstemma-run1": true, "stemma-run9x": true}
	for name := range there {
		if err := os.MkdirAll(filepath.Join(tmp, name, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	used, err := base.MakeTemporary("stemma-run")
	if err != nil {
		t.Fatal(err)
	}
	defer used.RemoveAll()
	there[filepath.Base(used.Path)] = true
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(tmp, "stemma-run333", "sleep")
	if err := os.WriteFile(exe, data, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		var w strings.Builder
		if err := Run(&w, nil, Options{Dry: dry}); err != nil || strings.Count(w.String(), "temporary directory") != 2 {
			t.Errorf("%v, %s", err, &w)
		}
		for name, want := range there {
			if _, err := os.Stat(filepath.Join(tmp, name, "sub")); os.IsNotExist(err) != (!want && !dry) &&
				name != filepath.Base(used.Path) {
				t.Errorf("dry %t: %s: %v", dry, name, err)
			}
		}
	}
	if _, err := os.Stat(used.Path); err != nil {
		t.Error(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	var w strings.Builder
	if err := Run(&w, nil, Options{}); err != nil || strings.Count(w.String(), "temporary directory") != 1 {
		t.Errorf("when the program has ended: %v, %s", err, &w)
	}
}

// TestGone is where nothing can be any more: its directory was removed.
func TestGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("STEMMA_OUT", "")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := Run(new(strings.Builder), nil, Options{}); err != nil {
		t.Error(err)
	}
}
