package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stemma-go/stemma/internal/command/clean"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// cleanPlace makes a working directory with records of programs that have ended, and of one that
// runs, and things that clean must leave alone. It returns the names of the first.
func cleanPlace(t *testing.T) (ended []string) {
	t.Chdir(t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("STEMMA_OUT", "")
	ended = []string{"stemma.out/a.12-0a1b2c", "stemma.out/b.test.7-zzzzzz", "prog.live-123/prog.9-abc123"}
	for _, dir := range append(ended, "stemma.out/running.3-000000", "stemma.out/renamed", "elsewhere/a.12-0a1b2c") {
		recordtest.Shapes().WriteTo(t, dir)
	}
	for file, text := range map[string]string{
		"stemma.out/mine.1-abcdef/tree": "a tree of my own", "stemma.out/notes.txt": "", "a.stemma": "",
		"stemma.out/b.test.7-zzzzzz/sub/mine.txt": "",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../elsewhere/a.12-0a1b2c", "stemma.out/link.5-aaaaaa"); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("stemma.out/running.3-000000/tree")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return ended
}

// files returns the names of all files here.
func files(t *testing.T) []string {
	var list []string
	err := filepath.WalkDir(".", func(file string, d os.DirEntry, err error) error {
		list = append(list, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestClean(t *testing.T) {
	ended := cleanPlace(t)
	before := files(t)
	out, errs, code := mainOf(t, "", "clean", "-n")
	if code != 0 || !slices.Equal(files(t), before) ||
		!strings.Contains(out, "kB  to be removed; 1 record of a program that still runs stays\n") {
		t.Errorf("dry run: code %d, %s%s", code, out, errs)
	}
	for _, dir := range ended {
		if !strings.Contains(out, "kB  record  "+dir+"\n") {
			t.Errorf("dry run: no %s in\n%s", dir, out)
		}
	}

	_, errs, code = mainOf(t, "", "clean")
	// One record has a directory of somebody's in it: all else goes, and it is said.
	if code != 1 || !strings.Contains(errs, "b.test.7-zzzzzz: directory not empty") {
		t.Errorf("code %d, %s", code, errs)
	}
	want := slices.DeleteFunc(before, func(file string) bool {
		kept := strings.Contains(file, "b.test.7-zzzzzz/sub") || file == "stemma.out/b.test.7-zzzzzz"
		return !kept && (slices.ContainsFunc(ended,
			func(dir string) bool { return file == dir || strings.HasPrefix(file, dir+"/") }) ||
			file == "prog.live-123")
	})
	if have := files(t); !slices.Equal(have, want) {
		t.Errorf("left\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
	if out, errs, code := mainOf(t, "", "clean"); code != 0 ||
		out != "nothing to remove; 1 record of a program that still runs stays\n" {
		t.Errorf("again: code %d, %s%s", code, out, errs)
	}
	// Named, also elsewhere. The directory is somebody's.
	if out, errs, code := mainOf(t, "", "clean", "elsewhere"); code != 0 || !strings.Contains(out, "removed\n") ||
		slices.ContainsFunc(files(t), func(file string) bool { return strings.HasPrefix(file, "elsewhere/a.") }) ||
		!slices.Contains(files(t), "elsewhere") {
		t.Errorf("named: code %d, %s%s", code, out, errs)
	}
	for _, args := range [][]string{{"clean", "none"}, {"clean", "a.stemma"}, {"clean", "-x"}} {
		if _, errs, code := mainOf(t, "", args...); code == 0 || errs == "" {
			t.Errorf("%q: code %d, %s", args, code, errs)
		}
	}
}

// Compilers go only when they are asked for, and nothing else goes with them.
func TestCleanCache(t *testing.T) {
	cleanPlace(t)
	t.Setenv("STEMMA_CACHE", filepath.Join(t.TempDir(), "cache"))
	key := strings.Repeat("0", 23)
	for _, file := range []string{key + "a/compile", key + "a/used", key + "b.tmp77/src/x.go", "goroot/link",
		key + "a.lock", "mine/used"} {
		file = filepath.Join(os.Getenv("STEMMA_CACHE"), file)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, make([]byte, 5000), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := files(t)
	for _, args := range [][]string{{"clean", "-cache", "-n"}, {"clean", "-cache"}} {
		out, errs, code := mainOf(t, "", args...)
		if code != 0 || strings.Count(out, "kB  compiler  ") != 2 || !slices.Equal(files(t), before) {
			t.Errorf("%q: code %d, %s%s", args, code, out, errs)
		}
	}
	left, err := os.ReadDir(os.Getenv("STEMMA_CACHE"))
	var names []string
	for _, d := range left {
		names = append(names, d.Name())
	}
	if err != nil || !slices.Equal(names, []string{key + "a.lock", key + "b.lock", "goroot", "mine"}) {
		t.Errorf("left: %v, %v", names, err)
	}
}

func TestWarnFull(t *testing.T) {
	cleanPlace(t)
	var b bytes.Buffer
	if clean.Warn(&b, store.OutDir, 1<<30); b.Len() > 0 {
		t.Error(b.String())
	}
	if clean.Warn(&b, store.OutDir, 1000); !strings.Contains(b.String(),
		"kB of records in stemma.out (6 directories); 'stemma clean' removes") {
		t.Error(b.String())
	}
}
