package goroot

import (
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A release is a minor Go release and the patch releases of it that were tried, see
// bench/releases. All have one tree and one table of hooks. Where a file of the tree
// must differ, it comes twice, with build constraints such as go1.28 and !go1.28.
type release struct {
	lang           string // "go1.26"
	oldest, newest string
}

// releases are sorted, oldest first.
var releases = []release{
	{"go1.26", "go1.26.0", "go1.26.11"},
	{"go1.27", "go1.27.0", "go1.27.4"},
}

// UntestedEnv is the environment variable that lets a Go release through that is newer
// than all that were tried.
const UntestedEnv = "STEMMA_UNTESTED_GO"

// releaseOf returns the release of a version, or nil.
func releaseOf(goVersion string) *release {
	for i := range releases {
		if releases[i].lang == version.Lang(cleanVersion(goVersion)) {
			return &releases[i]
		}
	}
	return nil
}

// Supported names the releases that were tried, "go1.26.0 to go1.26.11 and go1.27.0 to go1.27.4".
func Supported() string {
	var list []string
	for _, r := range releases {
		if r.oldest == r.newest {
			list = append(list, r.newest)
		} else {
			list = append(list, r.oldest+" to "+r.newest)
		}
	}
	return strings.Join(list, " and ")
}

// supportedRange is the end of every message about a Go that does not fit.
func supportedRange() string { return "stemma supports " + Supported() }

// cleanVersion cuts the list of experiments off what "go env GOVERSION" prints.
func cleanVersion(v string) string {
	v, _, _ = strings.Cut(v, " ")
	return v
}

// CheckVersion reports whether stemma works with a Go version as "go env
// GOVERSION" prints it. A version that nobody tried gets a warning only, if it is of a
// release that is known, because each hook verifies itself.
func CheckVersion(goVersion string) (warning string, err error) {
	v := cleanVersion(goVersion)
	first, last := releases[0], releases[len(releases)-1]
	r := releaseOf(v)
	switch {
	case isInstrumented(goVersion):
		return "", fmt.Errorf("%s is an instrumented GOROOT, made by stemma goroot: use its go command as it is, or "+
			"for stemma the Go that it was made of", v)
	case strings.Contains(goVersion, "devel"):
		return "", fmt.Errorf("%s is a development version of Go; %s", goVersion, supportedRange())
	case !version.IsValid(v):
		return "", fmt.Errorf("unknown Go version %q; %s", goVersion, supportedRange())
	case version.Compare(v, first.oldest) < 0:
		return "", fmt.Errorf("%s is too old; %s; set GOTOOLCHAIN=%s to use that", v, supportedRange(), last.newest)
	case r == nil && os.Getenv(UntestedEnv) != "1":
		return "", fmt.Errorf("%s is too new for this version of stemma; %s; set GOTOOLCHAIN=%s to use that, or %s=1 "+
			"to try %s anyway",
			v, supportedRange(), last.newest, UntestedEnv, v)
	case r == nil || version.Compare(v, r.oldest) < 0 || version.Compare(v, r.newest) > 0:
		return fmt.Sprintf("%s is not among the releases that were tested (%s); going on, because each change "+
			"verifies itself", v, Supported()), nil
	}
	return "", nil
}

// NeedsDirectory reports whether a Go's go command finds a package of the standard
// library only where GOROOT has a directory with a Go file for it, whatever an overlay
// says: those up to go1.26.4.
func NeedsDirectory(goVersion string) bool {
	return version.Compare(cleanVersion(goVersion), "go1.26.5") < 0
}

// Architectures are those that programs can be built for, and that stemma runs on.
var Architectures = []string{"amd64", "arm64"}

// CheckPlatform reports whether stemma works on and for goos/goarch.
func CheckPlatform(goos, goarch string) error {
	if goos == "linux" && slices.Contains(Architectures, goarch) {
		return nil
	}
	return fmt.Errorf("%s/%s is not supported in this version (have GOOS=%s GOARCH=%s, want linux/%s)", goos,
		goarch, goos, goarch, strings.Join(Architectures, " or linux/"))
}

// counted are the architectures whose instructions the compiler counts in a build for costs, and sized the systems
// whose programs have symbols with sizes.
var (
	counted = []string{"amd64", "arm64", "loong64", "riscv64"}
	sized   = []string{"linux", "freebsd", "netbsd", "openbsd"}
)

// CheckCosts reports whether there is a build for costs for goos/goarch.
func CheckCosts(goos, goarch string) error {
	switch {
	case !slices.Contains(counted, goarch):
		return fmt.Errorf("GOARCH=%s: its instructions cannot be counted (have %s)", goarch,
			strings.Join(counted, ", "))
	case !slices.Contains(sized, goos):
		return fmt.Errorf("GOOS=%s: symbols of its programs have no sizes; use GOOS=linux, whose instructions are the "+
			"same but for what asks the system", goos)
	}
	return nil
}

// CheckSources reports whether root, a GOROOT, has the sources and tools that
// the patched compiler is made from.
func CheckSources(goVersion, root string) error {
	for _, name := range []string{"src/runtime/proc.go", "src/cmd/compile/main.go", "bin/go"} {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return fmt.Errorf("%s: no %s in GOROOT %s; stemma builds its compiler from the sources of Go: install "+
				"them (golang-src, say) or a release from https://go.dev/dl",
				goVersion, name, root)
		}
	}
	return nil
}
