// Package goroot holds all that enters the user's GOROOT, the rules by which it does, and the Go releases that it fits.
//
// # Terminology
//
// The tree is a directory that mirrors GOROOT/src; each of its files is added to
// GOROOT, none replaces a file that is there. The packages below rt are added as well, as
// [RuntimePkg] and what is below it, as is layout. A [Hook] is a change of at most three lines in
// a file of GOROOT. A [Manifest] is the tree, the files of these packages, and the hooks.
//
// Nothing here writes to GOROOT: the results become overlays.
package goroot

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed all:_goroot rt/*/*.go layout/*.go
var embedded embed.FS

const tree = "_goroot"

// RuntimePkg is what the import paths of package layout, and of those below rt, begin with in GOROOT.
const RuntimePkg = "internal/runtime/stemma"

// here is what the import paths of these packages begin with outside of GOROOT.
const here = "github.com/stemma-go/stemma/internal/goroot/"

// seamHost is the half of the seam of package memory that is for tests, and stays outside.
const seamHost = "env_host.go"

// pathInGOROOT returns where a file or package of rt or layout, by its path here, is in GOROOT.
func pathInGOROOT(name string) string {
	if rest, ok := strings.CutPrefix(name, "rt"); ok {
		return RuntimePkg + rest
	}
	return path.Join(RuntimePkg, name)
}

// A Manifest is all that stemma adds to and changes in the GOROOT of one Go release.
// All paths are relative to GOROOT/src, with forward slashes.
type Manifest struct {
	Version string            // the Go version it was asked for, "go1.26.8"
	Added   map[string][]byte // files that are added
	Hooks   []Hook            // changes in existing files
	Hash    string            // 64 hexadecimal digits over Added and Hooks
}

// NewManifest returns the manifest for a Go version that [CheckVersion] accepts.
func NewManifest(goVersion string) (*Manifest, error) {
	if _, err := CheckVersion(goVersion); err != nil {
		return nil, err
	}
	added, err := addedFiles(embedded, tree)
	if err != nil {
		return nil, err
	}
	m := &Manifest{Version: goVersion, Added: added, Hooks: allHooks()}
	m.Hash = m.hash()
	return m, nil
}

// addedFiles reads the tree and the files of rt from fsys.
func addedFiles(fsys fs.FS, tree string) (map[string][]byte, error) {
	added := make(map[string][]byte)
	add := func(name, as string) error {
		if strings.HasSuffix(name, "_test.go") {
			return nil
		}
		if _, dup := added[as]; dup {
			return fmt.Errorf("%s: %s is added twice", name, as)
		}
		data, err := fs.ReadFile(fsys, name)
		added[as] = importInGOROOT(data)
		return err
	}
	err := fs.WalkDir(fsys, tree, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return add(name, strings.TrimPrefix(name, tree+"/"))
	})
	if err != nil {
		return nil, err
	}
	for _, pattern := range []string{"rt/*/*.go", "layout/*.go"} {
		names, err := fs.Glob(fsys, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if path.Base(name) == seamHost {
				continue
			}
			if err := add(name, pathInGOROOT(name)); err != nil {
				return nil, err
			}
		}
	}
	return added, nil
}

// imported matches how packages of rt and layout are imported outside of GOROOT.
var imported = regexp.MustCompile(`"` + regexp.QuoteMeta(here) + `((?:rt|layout)[a-z/]*)"`)

// importInGOROOT returns a file as it is in GOROOT: only the paths by which it imports rt and layout differ.
func importInGOROOT(data []byte) []byte {
	return imported.ReplaceAllFunc(data, func(quoted []byte) []byte {
		return []byte(strconv.Quote(pathInGOROOT(string(imported.FindSubmatch(quoted)[1]))))
	})
}

// AddedPackages returns the import paths of the packages that are added to GOROOT, sorted.
func (m *Manifest) AddedPackages() []string {
	var list []string
	for name := range m.Added {
		if dir := path.Dir(name); strings.HasPrefix(dir, RuntimePkg+"/") {
			list = append(list, dir)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// hash covers every byte that can change what the patched toolchain does.
func (m *Manifest) hash() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(m.Added)) {
		fmt.Fprintf(h, "file %q %d\n%s\n", name, len(m.Added[name]), m.Added[name])
	}
	for _, k := range m.Hooks {
		fmt.Fprintf(h, "hook %q %q %q %d %q %d\n", k.File, k.Decl, k.Anchor, k.Where, k.Lines, k.Part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Files returns the contents of all files that differ from those in root, a
// GOROOT, for programs with these parts: the added ones, which are the same for
// all, and the changed ones. It reads root and writes nothing.
func (m *Manifest) Files(root string, parts Part) (map[string][]byte, error) {
	src := filepath.Join(root, "src")
	for name := range m.Added {
		if _, err := os.Lstat(filepath.Join(src, filepath.FromSlash(name))); err == nil {
			return nil, fmt.Errorf("%s: %s exists in %s already; %s", m.Version, name, src, supportedRange())
		}
	}
	files := maps.Clone(m.Added)
	for _, name := range m.HookedFiles() {
		old, err := os.ReadFile(filepath.Join(src, filepath.FromSlash(name)))
		if err != nil {
			return nil, fmt.Errorf("%s: hooks: %v; %s", m.Version, err, supportedRange())
		}
		data, err := applyHooks(name, old, m.hooksOf(name, parts))
		if err != nil {
			return nil, fmt.Errorf("%s: %v; %s", m.Version, err, supportedRange())
		}
		files[name] = data
	}
	return files, nil
}

// HookedFiles returns the names of the files that hooks change, sorted.
func (m *Manifest) HookedFiles() []string {
	var names []string
	for _, k := range m.Hooks {
		names = append(names, k.File)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// hooksOf returns the hooks in a file that programs with these parts need; there may be none.
func (m *Manifest) hooksOf(file string, parts Part) []Hook {
	var list []Hook
	for _, k := range m.Hooks {
		if k.File == file && (k.Part == Always || k.Part&parts != 0) {
			list = append(list, k)
		}
	}
	return list
}

// ForCompiler reports whether a file, by its path relative to GOROOT/src,
// takes part in the build of the patched compiler.
func ForCompiler(name string) bool {
	return strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, RuntimePkg+"/")
}

// ForProgram reports whether a file, by its path relative to GOROOT/src,
// takes part in the build of an instrumented program.
func ForProgram(name string) bool {
	return !strings.HasPrefix(name, "cmd/")
}
