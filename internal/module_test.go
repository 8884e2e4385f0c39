package internal_test

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// usersModule requires old versions of what stemma's commands could want newer ones of, and packages of these modules.
const usersModule = `module example.com/user

go 1.26.0

require (
	golang.org/x/mod v0.1.0
	golang.org/x/sync v0.1.0
	golang.org/x/sys v0.1.0
	golang.org/x/term v0.1.0
	golang.org/x/text v0.3.0
)
`

// TestUsersModule tidies a user's module that imports the packages of this one. That adds what it asks for, and raises
// no version of anything else.
func TestUsersModule(t *testing.T) {
	proxy, cache := t.TempDir(), t.TempDir()
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", cache).Run() }) // the go command makes it read-only
	const version = "v0.0.1"
	publish(t, proxy, module, version, func(add func(name, text string)) { addSources(t, add) })
	var imports []string
	for line := range strings.Lines(usersModule) {
		if name, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && strings.HasPrefix(line, "\tgolang.org/") {
			publish(t, proxy, name, v, func(add func(name, text string)) {
				add("go.mod", "module "+name+"\n\ngo 1.17\n")
				add("p/p.go", "package p\n")
			})
			imports = append(imports, name+"/p")
		}
	}
	download, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		packages []string
		added    []string
	}{
		{[]string{"", "/profile", "/stemmatest", "/stemmapprof"}, nil},
		{[]string{"", "/stemmahttp"}, []string{"github.com/google/pprof"}},
	} {
		dir := t.TempDir()
		source := "package main\n\nimport (\n"
		for _, p := range imports {
			source += fmt.Sprintf("\t_ %q\n", p)
		}
		for _, p := range c.packages {
			source += fmt.Sprintf("\t_ %q\n", module+p)
		}
		write(t, filepath.Join(dir, "main.go"), source+")\n\nfunc main() {}\n")
		write(t, filepath.Join(dir, "go.mod"), usersModule+"\nrequire "+module+" "+version+"\n")
		cmd := exec.Command("go", "mod", "tidy")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOSUMDB=off", "GOWORK=off", "GOMODCACHE="+cache,
			"GOPROXY=file://"+proxy+",file://"+filepath.Join(strings.TrimSpace(string(download)), "cache", "download"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		have, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		rest := string(have)
		for _, name := range c.added {
			_, rest = cutLine(rest, name)
		}
		own, rest := cutLine(rest, module)
		if own == "" || bare(rest) != bare(usersModule) {
			t.Errorf("with %q go.mod has become\n%s", c.packages, have)
		}
	}
}

// bare returns a go.mod without spaces, and without a list in which nothing is left.
func bare(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), " require ( )", "")
}

// cutLine takes the line away that requires a module.
func cutLine(text, name string) (line, rest string) {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimPrefix(strings.TrimSpace(l), "require "), name+" ") {
			line = l
		} else {
			rest += l
		}
	}
	return line, rest
}

// publish puts a module into a directory that is a proxy.
func publish(t *testing.T, proxy, name, version string, files func(add func(name, text string))) {
	t.Helper()
	dir := filepath.Join(proxy, filepath.FromSlash(name), "@v")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	files(func(file, text string) {
		if file == "go.mod" {
			write(t, filepath.Join(dir, version+".mod"), text)
		}
		w, err := z.Create(name + "@" + version + "/" + file)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, version+".info"), fmt.Sprintf("{%q:%q}", "Version", version))
	write(t, filepath.Join(dir, "list"), version+"\n")
}

// addSources adds the files of this module that the go command looks at.
func addSources(t *testing.T, add func(name, text string)) {
	t.Helper()
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != ".." && (strings.HasPrefix(name, ".") || name == "testdata" || isModule(file)):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") && name != "go.mod":
			return nil
		}
		text, err := os.ReadFile(file)
		add(strings.TrimPrefix(filepath.ToSlash(file), "../"), string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isModule reports whether a folder is a module of its own.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
