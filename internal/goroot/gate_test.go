package goroot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckVersion(t *testing.T) {
	for _, tt := range []struct{ version, warning, err string }{
		{"go1.26.0", "", ""},
		{"go1.26.8", "", ""},
		{"go1.26.8 X:nogreenteagc", "", ""},
		{"go1.26.8-vendor", "", ""},
		{"go1.26.99", "go1.26.99 is not among the releases that were tested (go1.26.0 to go1.26.11 and go1.27.0 " +
			"to go1.27.4)", ""},
		{"go1.27.4", "", ""},
		{"go1.27.0", "", ""},
		{"go1.27.99", "go1.27.99 is not among the releases that were tested", ""},
		{"go1.27rc1", "go1.27rc1 is not among the releases that were tested", ""},
		{"go1.25.4", "",
			"go1.25.4 is too old; stemma supports go1.26.0 to go1.26.11 and go1.27.0 to go1.27.4; set " +
				"GOTOOLCHAIN=go1.27.4"},
		{"go1.26rc1", "", "go1.26rc1 is too old"},
		{"go1.9", "", "go1.9 is too old"},
		{"go1.28.0", "",
			"go1.28.0 is too new for this version of stemma; stemma supports go1.26.0 to go1.26.11 and go1.27.0 to " +
				"go1.27.4; set GOTOOLCHAIN=go1.27.4 to use that, or STEMMA_UNTESTED_GO=1 to try go1.28.0 anyway"},
		{"go1.28rc1", "", "go1.28rc1 is too new"},
		{"go2.0.0", "", "go2.0.0 is too new"},
		{"devel go1.27-abcdef Thu", "", "is a development version of Go"},
		{"go1.27-devel_abcdef", "", "is a development version of Go"},
		{"weekly.2011", "", `unknown Go version "weekly.2011"`},
		{"", "", `unknown Go version ""`},
	} {
		warning, err := CheckVersion(tt.version)
		if !strings.HasPrefix(warning, tt.warning) || (warning == "") != (tt.warning == "") {
			t.Errorf("%q: have warning %q, want %q", tt.version, warning, tt.warning)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: have error %v, want %q", tt.version, err, tt.err)
		}
	}
}

// A release candidate can be tried before stemma knows the release.
func TestUntested(t *testing.T) {
	t.Setenv(UntestedEnv, "1")
	warning, err := CheckVersion("go1.28rc1")
	if err != nil || !strings.HasPrefix(warning, "go1.28rc1 is not among the releases that were tested") {
		t.Errorf("have %q, %v", warning, err)
	}
	if _, err := NewManifest("go1.28rc1"); err != nil {
		t.Error(err)
	}
	if _, err := CheckVersion("go1.25.0"); err == nil {
		t.Error("an old release is let through")
	}
	t.Setenv(UntestedEnv, "no")
	if _, err := CheckVersion("go1.28rc1"); err == nil || !strings.Contains(err.Error(), UntestedEnv+"=1") {
		t.Errorf("a value that means nothing: have %v, want an error that says which does", err)
	}
}

func TestNeedsDirectory(t *testing.T) {
	for v, want := range map[string]bool{"go1.26.0": true, "go1.26.4": true, "go1.26.5": false, "go1.26.11": false,
		"go1.27.0": false} {
		if NeedsDirectory(v) != want {
			t.Errorf("%s: have %v", v, !want)
		}
	}
}

func TestCheckPlatform(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		if err := CheckPlatform("linux", arch); err != nil {
			t.Error(err)
		}
	}
	for _, p := range [][2]string{{"linux", "riscv64"}, {"darwin", "arm64"}, {"windows", "amd64"}} {
		err := CheckPlatform(p[0], p[1])
		if err == nil || !strings.Contains(err.Error(), p[0]+"/"+p[1]+" is not supported") {
			t.Errorf("%v: have error %v", p, err)
		}
	}
}

func TestCheckCosts(t *testing.T) {
	for _, p := range [][3]string{
		{"linux", "riscv64", ""}, {"freebsd", "amd64", ""},
		{"darwin", "arm64", "GOOS=darwin: symbols of its programs have no sizes; use GOOS=linux"},
		{"js", "wasm", "GOARCH=wasm: its instructions cannot be counted (have amd64, arm64"},
	} {
		err := CheckCosts(p[0], p[1])
		if (err != nil) != (p[2] != "") || err != nil && !strings.HasPrefix(err.Error(), p[2]) {
			t.Errorf("%v: have error %v", p, err)
		}
	}
}

func TestCheckSources(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"src/runtime/proc.go", "bin/go"} {
		writeFile(t, root, name, "")
	}
	err := CheckSources("go1.26.8", root)
	if want := "go1.26.8: no src/cmd/compile/main.go in GOROOT " + root; err == nil ||
		!strings.HasPrefix(err.Error(), want) {
		t.Errorf("have error %v, want %q", err, want)
	}
	writeFile(t, root, "src/cmd/compile/main.go", "")
	if err := CheckSources("go1.26.8", root); err != nil {
		t.Error(err)
	}
}

func writeFile(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
