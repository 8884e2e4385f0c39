// Package toolchain builds Go programs with stemma's compiler and runtime, made from the user's own Go.
//
// # Terminology
//
// A [Go] is one Go installation as the go command sees it from one directory.
// An [Entry] is a directory of the cache: the patched compiler and the
// overlay for one Go and one manifest. A [Build] is one run of the go command
// with both of them in place: -overlay brings in the files of the runtime, and
// -toolexec leads to [Toolexec], which runs the patched compiler
// instead of compile. The flags of the user are passed on, merged or refused: see
// [Args].
package toolchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stemma-go/stemma/internal/goroot"
)

// A Go is one Go installation and the settings in force in one directory.
// The fields are those of go env; nothing changes them after Find and Check.
type Go struct {
	Version  string `json:"GOVERSION"`
	Root     string `json:"GOROOT"`
	OS       string `json:"GOOS"`
	Arch     string `json:"GOARCH"`
	HostOS   string `json:"GOHOSTOS"`
	HostArch string `json:"GOHOSTARCH"`
	Cache    string `json:"GOCACHE"`
	ModCache string `json:"GOMODCACHE"`
	Flags    string `json:"GOFLAGS"`

	Warning string `json:"-"` // something to tell the user; may be empty
	Foreign string `json:"-"` // a GOARCH that the compiler is to know beside stemma's own, or ""
}

// Find asks the go command which Go is in force in dir, the empty string for
// the current directory. It follows go.mod's toolchain line, as go build does.
// The error is what the go command says, of a go.mod that it cannot read say, or
// that there is no go command.
func Find(dir string) (*Go, error) {
	cmd := exec.Command("go", "env", "-json", "GOVERSION", "GOROOT", "GOOS", "GOARCH",
		"GOHOSTOS", "GOHOSTARCH", "GOCACHE", "GOMODCACHE", "GOFLAGS")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, errors.New("no go command in PATH; install Go from https://go.dev/dl")
	}
	if err != nil {
		return nil, fmt.Errorf("go env: %s", firstOf(strings.TrimSpace(stderr.String()), err.Error()))
	}
	g := new(Go)
	if err := json.Unmarshal(out, g); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	return g, nil
}

// firstOf returns a, or b if a is empty.
func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// Check is the version gate: it reports why stemma cannot work with g, and
// sets g.Warning if it can but was not tested with it.
// The host comes before the target, since the compiler runs here; the sources come
// last, because an unsupported release without sources is above all unsupported.
func (g *Go) Check() error {
	warning, err := goroot.CheckVersion(g.Version)
	if err != nil {
		return err
	}
	g.Warning = warning
	if err := goroot.CheckPlatform(g.HostOS, g.HostArch); err != nil {
		return fmt.Errorf("this machine: %w", err)
	}
	if err := goroot.CheckPlatform(g.OS, g.Arch); err != nil {
		return err
	}
	return goroot.CheckSources(g.Version, g.Root)
}

// command returns a run of g's own go command: the same that answered Find,
// with no further switch of toolchains.
// The caller sets directory and streams; the environment is this process's, and
// may be added to.
func (g *Go) command(verb string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(g.Root, "bin", "go"), append([]string{verb}, args...)...)
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "GOROOT="+g.Root)
	return cmd
}

// hermetic returns a run of g's go command for work that must not depend on
// the user's settings: the same compiler for all of them.
// Only the build cache is the user's: the result does not depend on it.
func (g *Go) hermetic(verb string, args ...string) *exec.Cmd {
	cmd := g.command(verb, args...)
	cmd.Env = append(cmd.Env, "GOENV=off", "GOFLAGS=", "GOOS=", "GOARCH=", "GOAMD64=", "GOEXPERIMENT=",
		"GO111MODULE=", "GOWORK=off", "GODEBUG=", "CGO_ENABLED=0", "GOCACHE="+g.Cache)
	cmd.Dir = filepath.Join(g.Root, "src", "cmd")
	cmd.Env = append(cmd.Env, "PWD="+cmd.Dir) // by way of the link that withOverlay made
	return cmd
}

// absolute returns an absolute path, or name where there is no current directory.
func absolute(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

// withOverlay returns g with a GOROOT that the go command accepts in an overlay, in
// stemma's cache if it must be another one. The go command refuses overlays of files
// below GOMODCACHE, where a toolchain that was switched to by GOTOOLCHAIN or go.mod
// lies; there a symbolic link will do. And early ones look for new packages in
// directories only: there the packages that are added have one each.
func (g *Go) withOverlay(cacheDir string, added []string) (*Go, error) {
	rel, err := filepath.Rel(g.ModCache, g.Root)
	cached := err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
	if !cached && !goroot.NeedsDirectory(g.Version) {
		return g, nil
	}
	moved := *g
	moved.Root = filepath.Join(cacheDir, "goroot", filepath.Base(g.Root)+"-"+shortHash(g.Root))
	if err := moved.make(g.Root, added); err != nil {
		return nil, fmt.Errorf("cache: %w; set STEMMA_CACHE to a directory that can be written", err)
	}
	return &moved, nil
}

// make makes the GOROOT of g, which stands for another one. It changes its name to tell what it is.
func (g *Go) make(from string, added []string) error {
	if err := os.MkdirAll(filepath.Dir(g.Root), 0o755); err != nil {
		return err
	}
	if !goroot.NeedsDirectory(g.Version) {
		if err := os.Symlink(from, g.Root); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		return nil
	}
	g.Root += ".mirror" // nothing may be made where a link leads
	if err := mirror(from, g.Root, filepath.Join("src", filepath.FromSlash(goroot.RuntimePkg))); err != nil {
		return err
	}
	for _, pkg := range added {
		name := filepath.Join(g.Root, "src", filepath.FromSlash(pkg), "known_to_go.go")
		if err := addFile(name, knownToGo); err != nil {
			return err
		}
	}
	return nil
}

// knownToGo is a file that makes the go command see a package in a directory.
const knownToGo = "//go:build ignore\n\n// Package ignored makes this directory known to the go command. The package " +
	"here comes with an overlay.\npackage ignored\n"

// mirror makes the directory to one like from, of links to what is there, where a directory pkg
// that from does not have can be made. Another process may do the same.
func mirror(from, to, pkg string) error {
	dir, rest, deeper := strings.Cut(pkg, string(filepath.Separator))
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == dir {
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil &&
			!errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if deeper {
		return mirror(filepath.Join(from, dir), filepath.Join(to, dir), rest)
	}
	return nil
}

// addFile makes a file, and its directory, if it is not there: at once, since other
// processes may look.
func addFile(name, text string) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "tmp")
	if err != nil {
		return err
	}
	_, err = tmp.WriteString(text)
	if err = errors.Join(err, tmp.Chmod(0o644&^umask()), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		_ = os.Remove(tmp.Name()) // half a file is none
	}
	return err
}
