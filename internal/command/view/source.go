package view

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stemma-go/stemma/internal/safefile"
)

// A record names files, and may have been made by somebody else, on purpose. So a file of source is opened below the
// module that it is part of, whatever links there are: a link does not lead out of it. In a page in a file, which
// somebody else is going to have, are those of the module of the working directory, of Go itself, and of the module
// cache, which are no secret.

// Why a file is not in a page.
var (
	errNotOurs = errors.New("it is not in the page: its module is not that of the working directory")
	errHidden  = errors.New("it is not in the page: it is hidden")
)

// openSource opens a file of source that a record names.
func openSource(name string) (io.ReadCloser, error) {
	f, _, err := openBelow(name)
	return f, err
}

// openPublic opens a file of source whose text may go into a page in a file.
func openPublic(name string) (io.ReadCloser, error) {
	f, root, err := openBelow(name)
	if err != nil {
		return nil, err
	}
	switch {
	case !isPublic(root):
		err = errNotOurs
	case isHidden(root, name):
		err = errHidden
	default:
		return f, nil
	}
	f.Close()
	return nil, fmt.Errorf("%s: %w", name, err)
}

// isHidden reports whether a file is hidden in the directory of its module.
func isHidden(root, name string) bool {
	rel, err := filepath.Rel(root, filepath.Clean(name))
	return err != nil || strings.HasPrefix(rel, ".") || strings.Contains(rel, string(filepath.Separator)+".")
}

// openBelow opens a regular file in the directory that its module begins in. A record may name a pipe or a device,
// which must not be waited for.
func openBelow(name string) (f *os.File, root string, err error) {
	if !filepath.IsAbs(name) {
		return nil, "", fmt.Errorf("%s: the record does not say where it is", name)
	}
	name = filepath.Clean(name)
	root = moduleOf(filepath.Dir(name))
	rel, err := filepath.Rel(root, name)
	if err != nil {
		return nil, "", err
	}
	d, err := safefile.OpenDir(root)
	if err != nil {
		return nil, "", err
	}
	defer d.Close()
	f, err = d.OpenRegular(rel)
	return f, root, err
}

// moduleOf returns the directory in which the module begins that a directory is part of, or the directory itself if
// there is none.
func moduleOf(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if info, err := os.Lstat(filepath.Join(at, "go.mod")); err == nil && info.Mode().IsRegular() {
			return at
		}
		if strings.Contains(filepath.Base(at), "@") || filepath.Dir(at) == at {
			break
		}
	}
	return dir
}

// isPublic reports whether what is in a module may be in a page that is sent on. It is the place that counts, not the
// links that lead there.
func isPublic(root string) bool {
	here, err := os.Getwd()
	root, err2 := filepath.EvalSymlinks(root)
	if err != nil || err2 != nil {
		return false
	}
	if isSame(root, moduleOf(here)) || inWorkspace(root, here) {
		return true
	}
	for _, dir := range moduleCaches() {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if rel, err := filepath.Rel(dir, root); err == nil && filepath.IsLocal(rel) && strings.Contains(rel, "@") {
			return true
		}
	}
	return isGo(root)
}

// isSame reports whether two paths are of one directory.
func isSame(a, b string) bool {
	one, err := os.Stat(a)
	two, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(one, two)
}

// inWorkspace reports whether a module lies in the workspace of a directory.
func inWorkspace(root, here string) bool {
	for at := here; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.work")); err == nil {
			at, err := filepath.EvalSymlinks(at)
			rel, err2 := filepath.Rel(at, root)
			return err == nil && err2 == nil && filepath.IsLocal(rel)
		}
	}
	return false
}

// moduleCaches returns where the go command keeps modules.
func moduleCaches() (list []string) {
	if dir := os.Getenv("GOMODCACHE"); dir != "" {
		return []string{dir}
	}
	path := os.Getenv("GOPATH")
	if home, err := os.UserHomeDir(); path == "" && err == nil {
		path = filepath.Join(home, "go")
	}
	for _, dir := range filepath.SplitList(path) {
		list = append(list, filepath.Join(dir, "pkg", "mod"))
	}
	return list
}

// isGo reports whether a directory is src or src/cmd of a Go tree, by what it says itself.
func isGo(root string) bool {
	f, err := os.Open(filepath.Join(root, "go.mod"))
	if err != nil {
		return false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if words := strings.Fields(s.Text()); len(words) == 2 && words[0] == "module" {
			return words[1] == "std" || words[1] == "cmd"
		}
	}
	return false
}
