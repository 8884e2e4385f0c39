package run

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
)

// TestNoPlace refuses a profile for which there is no directory, before anything runs.
func TestNoPlace(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, mode := range map[string]os.FileMode{"dir": 0o777, "closed": 0o555} {
		if err := os.Mkdir(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"x.stemma":                      "",
		filepath.Join(dir, "x.stemma"):  "",
		filepath.Join("no", "x.stemma"): "no directory no; make it first",
		"dir":                           "-o dir: a directory; name the file of the profile",
		"dir/":                          "-o dir/: a directory; name the file of the profile",
		"-":                             "a profile is written to a file",
		os.DevNull:                      "",
		"/dev/fd/1":                     "",
	}
	if os.Geteuid() != 0 { // who may write anywhere
		want["closed/x"] = "it cannot be written: permission denied"
	}
	for out, text := range want {
		err := checkOut(out)
		if (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("-o %s: have %v, want %q", out, err, text)
		}
	}
}

// TestNoRecordIsAnError makes runs of tests that leave no record. If they pass, that is an error: there may be an older
// profile of that name.
func TestNoRecordIsAnError(t *testing.T) {
	for code, wantErr := range map[int]bool{base.ExitOK: true, base.ExitFailure: false} {
		t.Chdir(t.TempDir())
		for _, runs := range []int{1, 2} {
			tests, err := NewTests(runs, "new.stemma")
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			have, err := tests.Run(&base.Env{Stderr: &out}, func() (int, error) { return code, nil })
			if (err != nil) != wantErr || have != code {
				t.Errorf("%d runs that exit with %d: have %d, %v", runs, code, have, err)
			}
			if err != nil {
				out.WriteString(err.Error())
			}
			if !strings.Contains(out.String(), "no record, and no new new.stemma: ") {
				t.Errorf("%d runs that exit with %d: have %q", runs, code, out.String())
			}
			if err := tests.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
