package toolchain

import (
	"os"
	"path/filepath"
	"testing"
)

// TestWithOverlay looks at the GOROOT that each kind of Go gets.
func TestWithOverlay(t *testing.T) {
	modCache, cache := t.TempDir(), t.TempDir()
	const file = "src/internal/runtime/atomic/atomic.go"
	added := []string{"internal/runtime/stemma", "internal/runtime/stemma/tree"}
	for _, test := range []struct {
		version  string
		cached   bool // the toolchain is in the module cache
		moved    bool
		mirrored bool
	}{
		{"go1.26.8", false, false, false},
		{"go1.26.8", true, true, false},
		{"go1.26.4", false, true, true},
		{"go1.26.4", true, true, true},
	} {
		dir := t.TempDir()
		if test.cached {
			dir = modCache
		}
		root := filepath.Join(dir, test.version)
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"VERSION", file} {
			if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		g := &Go{Version: test.version, Root: root, ModCache: modCache}
		for range 2 { // the second time it is there
			have, err := g.withOverlay(cache, added)
			if err != nil {
				t.Fatal(err)
			}
			if (have.Root != root) != test.moved {
				t.Errorf("%+v: GOROOT is %s", test, have.Root)
			}
			for _, name := range []string{"VERSION", file} {
				if b, err := os.ReadFile(filepath.Join(have.Root, name)); err != nil || string(b) != name {
					t.Errorf("%+v: %s is %q, %v", test, name, b, err)
				}
			}
			for _, pkg := range added {
				known, err := filepath.Glob(filepath.Join(have.Root, "src", pkg, "*.go"))
				if err != nil || (len(known) > 0) != test.mirrored {
					t.Errorf("%+v: package %s has %q", test, pkg, known)
				}
			}
		}
		if own, err := filepath.Glob(filepath.Join(root, "src/internal/runtime/*")); err != nil || len(own) != 1 {
			t.Errorf("%+v: GOROOT itself has %q", test, own)
		}
	}
}
