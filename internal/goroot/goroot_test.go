package goroot

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Every hook for every release finds its place in the GOROOT at hand.
func TestHooksMatch(t *testing.T) {
	out, err := exec.Command("go", "env", "GOVERSION", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	version, root, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if _, err := CheckVersion(version); err != nil {
		t.Skipf("%v; run it with GOTOOLCHAIN=%s", err, releases[len(releases)-1].newest)
	}
	m, err := NewManifest(version)
	if err != nil {
		t.Fatal(err)
	}
	for _, parts := range Parts {
		files, err := m.Files(root, parts)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range m.HookedFiles() {
			if len(files[name]) == 0 {
				t.Errorf("%s: hooks, but no file for %v", name, parts)
			}
		}
	}
	t.Logf("%s: %d hooks in %d files, %d files added", version, len(m.Hooks), len(m.HookedFiles()), len(m.Added))
}

func TestHooksAreExplained(t *testing.T) {
	for _, k := range allHooks() {
		if k.Why == "" {
			t.Errorf("hook %s in %s has no Why", k.name(), k.File)
		}
	}
}

func TestManifestAdds(t *testing.T) {
	m, err := NewManifest("go1.26.8")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, pattern := range []string{"rt/*/*.go", "layout/*.go"} {
		match, err := filepath.Glob(pattern)
		if err != nil || len(match) == 0 {
			t.Fatalf("%s: no files: %v", pattern, err)
		}
		files = append(files, match...)
	}
	for _, file := range files {
		name := path.Join(RuntimePkg, strings.TrimPrefix(filepath.ToSlash(file), "rt/"))
		have, added := m.Added[name]
		if want := !strings.HasSuffix(file, "_test.go") && filepath.Base(file) != seamHost; added != want {
			t.Errorf("%s: have added = %v, want %v", name, added, want)
		}
		data, err := os.ReadFile(file)
		want := strings.ReplaceAll(strings.ReplaceAll(string(data), `"`+here+"rt", `"`+RuntimePkg), `"`+here+"layout",
			`"`+RuntimePkg+"/layout")
		if err != nil || added && string(have) != want {
			t.Errorf("%s is not %s byte for byte, but for paths of imports (%v)", name, file, err)
		}
		if added && strings.Contains(string(have), here) {
			t.Errorf("%s imports a package that is not in GOROOT", name)
		}
	}
	if _, ok := m.Added[RuntimePkg+"/memory/env_goroot.go"]; !ok {
		t.Error("the seam is missing")
	}
	for _, pkg := range []string{RuntimePkg + "/layout", RuntimePkg + "/tree"} {
		if !slices.Contains(m.AddedPackages(), pkg) {
			t.Errorf("%s is not among the packages that are added: %q", pkg, m.AddedPackages())
		}
	}
}

// The messages say which Go, which file, which anchor, and what is supported.
func TestManifestFilesErrors(t *testing.T) {
	root := t.TempDir()
	writeFile(t, root, "src/runtime/proc.go", "package runtime\n\nfunc goexit0(gp *g) {\n}\n")
	hook := Hook{File: "runtime/proc.go", Decl: "func goexit0", Anchor: "gdestroy(gp)", Lines: []string{"a()"}}
	m := &Manifest{Version: "go1.26.9", Hooks: []Hook{hook}}
	_, err := m.Files(root, Contexts)
	const want = `go1.26.9: hook goexit0: anchor "gdestroy(gp)" matched 0 times in runtime/proc.go, want 1; stemma supports go1.26.0 to go1.26.11 and go1.27.0 to go1.27.4`
	if err == nil || err.Error() != want {
		t.Errorf("have error %v\nwant %s", err, want)
	}

	m = &Manifest{Version: "go1.26.9", Added: map[string][]byte{"runtime/proc.go": nil}}
	if _, err := m.Files(root, Contexts); err == nil || !strings.Contains(err.Error(), "runtime/proc.go exists") {
		t.Errorf("a file that is there: have error %v", err)
	}

	m = &Manifest{Version: "go1.26.9", Hooks: []Hook{{File: "runtime/none.go"}}}
	if _, err := m.Files(root, Contexts); err == nil || !strings.Contains(err.Error(), "none.go") {
		t.Errorf("a hook in no file: have error %v", err)
	}
}

// A program gets the hooks of its parts, and those that all programs need.
func TestManifestParts(t *testing.T) {
	root := t.TempDir()
	writeFile(t, root, "src/a.go", "package a\n\nfunc f() {\n\tg()\n}\n")
	hook := func(p Part) Hook {
		return Hook{File: "a.go", Decl: "func f", Anchor: "g()", Lines: []string{fmt.Sprintf("h%d()", p)}, Part: p}
	}
	m := &Manifest{Version: "go1.26.9", Added: map[string][]byte{},
		Hooks: []Hook{hook(Always), hook(Contexts), hook(Sampling)}}
	for parts, want := range map[Part]string{
		Contexts: "h0(); h1(); g()", Sampling: "h0(); h2(); g()", Contexts | Sampling: "h0(); h1(); h2(); g()",
	} {
		files, err := m.Files(root, parts)
		if have := string(files["a.go"]); err != nil || !strings.Contains(have, "\t"+want+"\n") {
			t.Errorf("%v: have %s %v, want %s", parts, have, err, want)
		}
	}
}

func TestManifestHash(t *testing.T) {
	base := Manifest{Added: map[string][]byte{"a.go": []byte("x")}, Hooks: []Hook{{File: "b.go", Lines: []string{"y"}}}}
	seen := map[string]bool{base.hash(): true}
	for _, m := range []Manifest{
		{Added: map[string][]byte{"a.go": []byte("z")}, Hooks: base.Hooks},
		{Added: map[string][]byte{"c.go": []byte("x")}, Hooks: base.Hooks},
		{Added: base.Added, Hooks: []Hook{{File: "b.go", Lines: []string{"z"}}}},
		{Added: base.Added, Hooks: []Hook{{File: "b.go", Where: After, Lines: []string{"y"}}}},
		{Added: base.Added, Hooks: []Hook{{File: "b.go", Lines: []string{"y"}, Part: Sampling}}},
		{Added: base.Added},
	} {
		if h := m.hash(); seen[h] {
			t.Errorf("%+v has the hash of another manifest", m)
		} else {
			seen[h] = true
		}
	}
}
