package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/goroot"
	"github.com/stemma-go/stemma/internal/progress"
)

// nativeFile is the file of the patched compiler that lists the native
// packages. It is generated, because the list belongs to a GOROOT.
const nativeFile = "cmd/compile/internal/ssagen/stemma_native.go"

// alsoNative are packages that package runtime does not import, but that run
// below it or inside it.
var alsoNative = []string{"runtime/cgo", "runtime/race", "runtime/msan", "runtime/asan"}

// Prepare returns the cache entry for g, and builds it first if it is not
// there. What takes time is told on stderr. The Go that comes with it is g as the
// build must see it.
// It may be called by several processes at once; one builds, and the others wait.
func Prepare(g *Go, stderr io.Writer) (*Entry, *Go, error) {
	e, g, m, err := locate(g)
	if err != nil {
		return nil, nil, err
	}
	over := func() {}
	waiting := func() {
		over = progress.Begin(stderr, "waiting for another stemma, which is building the compiler for %s",
			g.Version).Now("").End
	}
	defer func() { over() }()
	if err := checkOwned(filepath.Dir(e.Dir)); err != nil {
		return nil, nil, err
	}
	for used := false; !used; used = e.use() { // false if it was removed just now
		err = e.make(waiting, func(ctx context.Context, tmp string) error {
			over()
			defer progress.Begin(stderr, "building the compiler for %s", g.Version).Now(" (once, about a minute)").End()
			return fillEntry(ctx, e, g, m, tmp)
		})
		if err != nil {
			return nil, nil, err
		}
	}
	if err := e.settle(); err != nil {
		return nil, nil, err
	}
	return e, g, checkOwned(e.Compiler())
}

// Locate returns the cache entry for g, which need not exist.
// It is for telling where the compiler is, or would be; it writes nothing but, for
// a toolchain in the module cache, a link.
func Locate(g *Go) (*Entry, error) {
	e, _, _, err := locate(g)
	return e, err
}

// locate returns the entry, the Go that a build must use, and the manifest that
// says what stemma changes in it. An error names the release, or the hook that
// did not match.
func locate(g *Go) (*Entry, *Go, *goroot.Manifest, error) {
	m, err := goroot.NewManifest(g.Version)
	if err != nil {
		return nil, nil, nil, err
	}
	dir, err := CacheDir()
	if err != nil {
		return nil, nil, nil, err
	}
	if g, err = g.withOverlay(dir, m.AddedPackages()); err != nil {
		return nil, nil, nil, err
	}
	e, err := entryOf(dir, g, m)
	return e, g, m, err
}

// fillEntry makes the contents of entry e in the directory tmp.
// There are overlays for the compiler and for programs with each combination of
// parts, because they get different files. That of the compiler is needed only
// here: the list of natives, which is one of its files, depends on what package
// runtime imports with one of the others in place.
func fillEntry(ctx context.Context, e *Entry, g *Go, m *goroot.Manifest, tmp string) error {
	all := goroot.Contexts | goroot.Sampling
	files, err := m.Files(g.Root, all)
	if err != nil {
		return err
	}
	var others []string
	if g.Foreign != "" {
		others = []string{g.Foreign}
	}
	shorter, err := goroot.OwnArchs(g.Root, others...)
	if err != nil {
		return fmt.Errorf("patched compiler for %s: %w", g.Version, err)
	}
	maps.Copy(files, shorter)
	if err := writeFiles(filepath.Join(tmp, "src"), files); err != nil {
		return err
	}
	// The go command is run on the files while they are in tmp, but the
	// overlays that stay speak of the place where they will be.
	program := filepath.Join(tmp, "program.json")
	if err := overlayOf(g.Root, filepath.Join(tmp, "src"), files, goroot.ForProgram).write(program); err != nil {
		return err
	}
	natives, err := nativeList(ctx, g, program)
	if err != nil {
		return err
	}
	if files[nativeFile], err = nativeSource(natives); err != nil {
		return err
	}
	if err := writeFiles(filepath.Join(tmp, "src"), map[string][]byte{nativeFile: files[nativeFile]}); err != nil {
		return err
	}
	if err := makeStore(tmp, natives); err != nil {
		return err
	}
	compiler := filepath.Join(tmp, "compiler.json")
	if err := overlayOf(g.Root, filepath.Join(tmp, "src"), files, goroot.ForCompiler).write(compiler); err != nil {
		return err
	}
	exe := filepath.Join(tmp, "compile")
	if err := buildCompiler(ctx, g, compiler, exe); err != nil {
		return err
	}
	if err := os.Chmod(exe, 0o755&^umask()); err != nil { // see checkOwned
		return err
	}
	for _, file := range []string{program, compiler} {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	for _, parts := range goroot.Parts {
		if err := fillProgram(e, g, m, files, parts, tmp); err != nil {
			return err
		}
	}
	return nil
}

// fillProgram writes the overlay for programs with these parts, and those of its
// files that are not the same in all, which is what is in the directory src.
func fillProgram(e *Entry, g *Go, m *goroot.Manifest, all map[string][]byte, parts goroot.Part, tmp string) error {
	files, err := m.Files(g.Root, parts)
	if err != nil {
		return err
	}
	o := overlayOf(g.Root, filepath.Join(e.Dir, "src"), files, goroot.ForProgram)
	for name, data := range files {
		if bytes.Equal(data, all[name]) {
			delete(files, name)
		}
	}
	for from, to := range overlayOf(g.Root, filepath.Join(e.Dir, parts.String()), files, goroot.ForProgram).Replace {
		o.Replace[from] = to
	}
	if err := writeFiles(filepath.Join(tmp, parts.String()), files); err != nil {
		return err
	}
	return o.write((&Entry{Dir: tmp}).Overlay(parts))
}

// overlayOf maps the selected files from their places in GOROOT to those below dir.
func overlayOf(root, dir string, files map[string][]byte, selected func(string) bool) overlay {
	o := overlay{make(map[string]string)}
	for name := range files {
		if selected(name) {
			rel := filepath.FromSlash(name)
			o.Replace[filepath.Join(root, "src", rel)] = filepath.Join(dir, rel)
		}
	}
	return o
}

// writeFiles writes files, by their slash-separated names, below dir.
func writeFiles(dir string, files map[string][]byte) error {
	for name, data := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// nativeList returns the import paths of the natives: package runtime, with the overlay in place,
// and all that it imports.
// The runtime cannot be instrumented, since what counts is part of it; nor can what
// it imports, which runs on its stacks and under its locks.
func nativeList(ctx context.Context, g *Go, overlayFile string) ([]string, error) {
	out, err := output(ctx, g.hermetic("list", "-overlay="+overlayFile, "-deps", "runtime"))
	if err != nil {
		return nil, err
	}
	pkgs := append(strings.Fields(string(out)), alsoNative...)
	slices.Sort(pkgs)
	return slices.Compact(pkgs), nil
}

// nativeSource generates nativeFile.
func nativeSource(natives []string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("// Code generated by stemma; DO NOT EDIT.\n\npackage ssagen\n\n")
	b.WriteString("// stemmaNative holds the import paths of the packages that are not instrumented.\n")
	b.WriteString("var stemmaNative = map[string]bool{\n")
	for _, p := range natives {
		fmt.Fprintf(&b, "%q: true,\n", p)
	}
	b.WriteString("}\n")
	return format.Source(b.Bytes())
}

// makeStore makes the place in dir, which is to become an entry, where natives are kept.
func makeStore(dir string, natives []string) error {
	list := strings.Join(natives, "\n") + "\n"
	return errors.Join(os.WriteFile(filepath.Join(dir, nativeName), []byte(list), 0o644),
		os.Mkdir(filepath.Join(dir, nativeDir), 0o755))
}

// buildCompiler builds cmd/compile with an overlay.
// The go command's own cache makes a second build, after a change of the manifest,
// a matter of seconds. It also makes the first one shorter: std is what any build of the user has
// left there, which it would not be with -trimpath, or with the profile that cmd/compile has for
// -pgo. That profile saves the compiler no time that could be measured (bench/RESULTS.md, "Building").
func buildCompiler(ctx context.Context, g *Go, overlayFile, exe string) error {
	counted, err := countingTools()
	if err != nil {
		return err
	}
	cmd := g.hermetic("build", "-toolexec="+counted, "-pgo=off", "-overlay="+overlayFile, "-o", exe, "cmd/compile")
	defer Follow(cmd, "")()
	if _, err := output(ctx, cmd); err != nil {
		return fmt.Errorf("patched compiler for %s: %w", g.Version, err)
	}
	return nil
}

// countingTools returns the -toolexec of a plain build that is followed.
func countingTools() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return base.JoinQuoted([]string{self, "toolexec", "-plain"})
}

// output runs a command and returns its standard output; an error carries what
// it wrote to standard error. When ctx ends the command is asked to end, so that the go
// command stops its own children and cleans up.
func output(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(os.Interrupt) })
	defer stop()
	if err := cmd.Wait(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", cmd.Args[1], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}
