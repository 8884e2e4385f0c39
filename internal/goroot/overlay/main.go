// Overlay writes what stemma adds to and changes in GOROOT into a copy of it, for other tools.
// The directory is laid out as GOROOT is. The names of the added files go to standard
// output.
//
//	go run ./internal/goroot/overlay DIR
package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/goroot"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/goroot/overlay DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	out, err := exec.Command("go", "env", "GOVERSION", "GOROOT").Output()
	if err != nil {
		return err
	}
	version, root, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	m, err := goroot.NewManifest(version)
	if err != nil {
		return err
	}
	files, err := m.Files(root, goroot.Contexts|goroot.Sampling)
	if err != nil {
		return err
	}
	// In a build package toolchain makes this list.
	files["cmd/compile/internal/ssagen/stemma_native.go"] = []byte("package ssagen\n\nvar stemmaNative " +
		"map[string]bool\n")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, "src", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o666); err != nil {
			return err
		}
		if m.Added[name] != nil {
			fmt.Println(name)
		}
	}
	return nil
}
