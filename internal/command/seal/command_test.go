package seal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// TestNoInputIsWrittenOver makes the default name that of an argument, by each way to name one.
func TestNoInputIsWrittenOver(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"live", "x", "new"} {
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("x.stemma", []byte("a record"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("x.stemma", "link"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{"x.stemma", "live"}, ""},
		{[]string{"./x.stemma", "live"}, ""},
		{[]string{"x", "x.stemma"}, ""},
		{[]string{"x/", filepath.Join("live", "..", "x.stemma")}, ""},
		{[]string{"x", "link"}, ""},
		{[]string{"x", "live"}, "x.stemma"},
		{[]string{"new/", "x.stemma"}, "new.stemma"},
		{[]string{"nothing"}, "nothing.stemma"},
	} {
		out, err := defaultOut(c.paths)
		if out != c.want || (err == nil) != (c.want != "") {
			t.Errorf("seal %q: have %q, %v; want %q", c.paths, out, err, c.want)
		}
	}
}

// TestOutside is in a live directory, which is named anyway, and would take the profile with it.
func TestOutside(t *testing.T) {
	dir := t.TempDir()
	live := filepath.Join(dir, "stemma.out", "a.12-0a1b2c")
	recordtest.Shapes().WriteTo(t, live)
	t.Chdir(live)
	var errs bytes.Buffer
	e := &base.Env{Stdin: new(bytes.Buffer), Stdout: &errs, Stderr: &errs}
	for _, args := range []string{"-o x.stemma .", "-o sub/../x.stemma ../a.12-0a1b2c", "-o " + live + "/x .."} {
		args := strings.Fields(args)
		if err := runSeal(e, args); err == nil || !strings.Contains(err.Error(), "lies in a live directory") {
			t.Errorf("seal %q: have %v", args, err)
		}
	}
	if err := runSeal(e, []string{"."}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(live + ".stemma"); err != nil {
		t.Error(err)
	}
}
