package goroot

import (
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"strings"
)

// A release is a Go release that stemma has a tree for.
type release struct {
	lang           string // "go1.26"
	oldest, newest string // the patch releases that were tested
	tree           string // directory here
	hooks          func() []Hook
}

// releases are sorted, oldest first.
var releases = []release{
	{"go1.26", "go1.26.0", "go1.26.8", "_go1.26", hooksGo126},
}

// releaseOf returns the release of a version that CheckVersion accepts.
func releaseOf(goVersion string) *release {
	for i := range releases {
		if releases[i].lang == version.Lang(cleanVersion(goVersion)) {
			return &releases[i]
		}
	}
	return nil
}

// supportedRange is the end of every message about a Go that does not fit.
func supportedRange() string {
	first, last := releases[0], releases[len(releases)-1]
	return fmt.Sprintf("stemma supports %s to %s", first.oldest, last.newest)
}

// cleanVersion cuts the list of experiments off what "go env GOVERSION" prints.
func cleanVersion(v string) string {
	v, _, _ = strings.Cut(v, " ")
	return v
}

// CheckVersion reports whether stemma works with a Go version as "go env
// GOVERSION" prints it. A patch release newer than the tested ones gets a
// warning only, because each hook verifies itself.
func CheckVersion(goVersion string) (warning string, err error) {
	v := cleanVersion(goVersion)
	first, last := releases[0], releases[len(releases)-1]
	switch {
	case strings.Contains(goVersion, "devel"):
		return "", fmt.Errorf("%s is a development version of Go; %s", goVersion, supportedRange())
	case !version.IsValid(v):
		return "", fmt.Errorf("unknown Go version %q; %s", goVersion, supportedRange())
	case version.Compare(v, first.oldest) < 0:
		return "", fmt.Errorf("%s is too old; %s; set GOTOOLCHAIN=%s to use that", v, supportedRange(), last.newest)
	case version.Compare(version.Lang(v), last.lang) > 0:
		return "", fmt.Errorf("%s is too new for this version of stemma; %s; set GOTOOLCHAIN=%s to use that", v, supportedRange(), last.newest)
	}
	if r := releaseOf(v); version.Compare(v, r.newest) > 0 {
		return fmt.Sprintf("%s is newer than the releases that were tested (%s to %s); going on, because each change verifies itself",
			v, r.oldest, r.newest), nil
	}
	return "", nil
}

// CheckPlatform reports whether stemma works on and for goos/goarch.
func CheckPlatform(goos, goarch string) error {
	if goos == "linux" && goarch == "amd64" {
		return nil
	}
	return fmt.Errorf("%s/%s is not supported in this version (have GOOS=%s GOARCH=%s, want linux/amd64)", goos, goarch, goos, goarch)
}

// CheckSources reports whether root, a GOROOT, has the sources and tools that
// the patched compiler is made from.
func CheckSources(goVersion, root string) error {
	for _, name := range []string{"src/runtime/proc.go", "src/cmd/compile/main.go", "bin/go"} {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("%s: no %s in GOROOT %s; stemma builds its compiler from the sources of Go: install them (golang-src, say) or a release from https://go.dev/dl",
				goVersion, name, root)
		}
	}
	return nil
}
