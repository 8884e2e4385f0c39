package seal

import (
	"os"
	"path/filepath"
	"testing"
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
