package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/stemma-go/stemma/internal/goroot"
	"github.com/stemma-go/stemma/internal/progress"
)

// # An instrumented GOROOT
//
// It is a copy of the user's GOROOT with the files of the overlay in place. Its tools are built once more, so that they
// have another version: the go command takes that into the build ID of each package, and so keeps what they make apart
// from what plain Go makes. What toolexec tells compiler and linker is built in: the linker sets a variable of the
// compiler, and the source of package runtime has the options of programs.
//
// Everything is made beside the directory, which then gets its name by a rename.

// markFile is in each GOROOT that stemma has made: what is not there is not stemma's, and stays.
const markFile = "stemma-goroot.json"

// halfFile is in each that is being made, and oldSuffix behind the name of one that makes room for another one.
const (
	halfFile  = "stemma-goroot.half"
	oldSuffix = ".old"
)

// A mark is what that file has.
type mark struct {
	Version string `json:"version"` // of Go, as go version says it
	From    string `json:"from"`    // the GOROOT that it is a copy of
	Compile string `json:"compile"` // what the compiler is told
	Link    string `json:"link"`    // what programs are told
}

// A GOROOT is an instrumented one.
type GOROOT struct {
	Dir     string
	Version string // as go version says it
	Made    bool   // it was not there before
}

// MakeGOROOT makes an instrumented GOROOT in dir, unless the same is there already. It replaces another one, but
// nothing that stemma has not made. NewBuild has checked the options.
func (b *Build) MakeGOROOT(dir string, o Options, stderr io.Writer) (*GOROOT, error) {
	if b.user != "" || len(b.tool.chain) > 0 {
		return nil, errors.New("-overlay and -toolexec are for single builds: give them to the go command in the " +
			"new GOROOT")
	}
	from, err := Find(b.Dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	h := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s", b.Entry.Key, o.ForCompiler(), o.forLink()))
	m := mark{goroot.InstrumentedVersion(from.Version, hex.EncodeToString(h[:6])), from.Root, o.ForCompiler(),
		o.forLink()}
	made := &GOROOT{Dir: dir, Version: m.Version}
	if same, err := checkMark(dir, m); err != nil || same {
		return made, err
	}
	if err := outside(dir, from.Root); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return nil, err
	}
	made.Made = true
	removeHalf(dir)
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+tmpInfix)
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		return nil, fmt.Errorf("%s: nothing can be made in %s: %w; name another directory with -o", dir,
			filepath.Dir(dir), at.Err)
	}
	if err != nil {
		return nil, err
	}
	remove := func() { os.RemoveAll(tmp) }
	defer remove() // there is nothing to remove after the rename
	defer progress.Begin(stderr, "making an instrumented GOROOT").Now(" (a few minutes)").End()
	unlock, err := flock(filepath.Join(tmp, halfFile), syscall.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer unlock()
	err = interruptible(func(ctx context.Context) error { return b.fillGOROOT(ctx, tmp, o, m) }, remove)
	if err != nil {
		return nil, err
	}
	if err := replaceDir(tmp, dir); err != nil {
		return nil, err
	}
	if err := os.Remove(filepath.Join(dir, halfFile)); !errors.Is(err, fs.ErrNotExist) {
		return made, err
	}
	return made, nil // by now it is another process's
}

// removeHalf removes what processes that were killed while they made dir have left beside it: what has the file of one
// that is not ready, which nobody holds, or has made room for another one.
func removeHalf(dir string) {
	isHalf := regexp.MustCompile("^" + regexp.QuoteMeta(filepath.Base(dir)+tmpInfix) + "[0-9]+(" + oldSuffix + ")?$")
	left, _ := entriesNamed(filepath.Dir(dir), func(d fs.DirEntry) bool { return isHalf.MatchString(d.Name()) })
	for _, path := range left {
		file := filepath.Join(path, halfFile)
		if strings.HasSuffix(path, oldSuffix) {
			file = filepath.Join(path, markFile)
		}
		if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if unlock, err := tryLock(file); err == nil {
			_ = os.RemoveAll(path) // else the next one removes it
			unlock()
		}
	}
}

// checkMark reports whether dir is the GOROOT that m describes. It is an error if something is there that stemma has
// not made.
func checkMark(dir string, m mark) (same bool, err error) {
	data, err := os.ReadFile(filepath.Join(dir, markFile))
	if err == nil {
		var have mark
		return json.Unmarshal(data, &have) == nil && have == m, nil
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return false, fmt.Errorf("%s: not a directory; name one with -o that is empty or not there yet", dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return false, fmt.Errorf("%s: there are files, and stemma goroot did not make them (no %s); name a directory "+
		"with -o that is empty or not there yet", dir, markFile)
}

// replaceDir gives the directory from the name of dir, which may be there. Another process may do the same.
func replaceDir(from, dir string) error {
	if err := os.Chmod(from, 0o755&^umask()); err != nil {
		return err
	}
	old := from + oldSuffix
	for try := 0; ; try++ {
		if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		err := os.Rename(from, dir)
		if err == nil {
			return os.RemoveAll(old)
		}
		if try == 100 || !errors.Is(err, fs.ErrExist) {
			return errors.Join(err, os.Rename(old, dir))
		}
		if err := os.RemoveAll(old); err != nil { // the other one has taken the name: it makes room as well
			return err
		}
	}
}

// outside reports an error if dir lies in a GOROOT: it would be copied into itself, without end.
func outside(dir, goroot string) error {
	goroot, err := filepath.EvalSymlinks(goroot)
	if err != nil {
		return err
	}
	for at := dir; ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at) {
			continue // it will be made
		}
		if err != nil {
			return err
		}
		if rel, err := filepath.Rel(goroot, real); err == nil && filepath.IsLocal(rel) {
			return fmt.Errorf("%s: it lies in the GOROOT that is copied, %s; name a directory elsewhere with -o", dir,
				goroot)
		}
		return nil
	}
}

// fillGOROOT makes the GOROOT in tmp. The mark comes last.
func (b *Build) fillGOROOT(ctx context.Context, tmp string, o Options, m mark) error {
	if err := copyGOROOT(ctx, m.From, tmp); err != nil {
		return err
	}
	if err := b.addSources(tmp, o); err != nil {
		return err
	}
	if err := b.buildTools(ctx, tmp, m); err != nil {
		return err
	}
	if err := nameGOROOT(tmp, m.Version); err != nil {
		return err
	}
	data, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(tmp, markFile), append(data, '\n'), 0o666)
}

// copyGOROOT copies all that is in a GOROOT but its tests of compilers, which are of no use to programs. Files become
// writable by their owner: in the module cache they are not.
func copyGOROOT(ctx context.Context, from, to string) error {
	from, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	var copied atomic.Int64
	defer progress.Step("copying", "files", func() (int64, int64) { return copied.Load(), 0 })()
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		copied.Add(1)
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir() && (rel == "test" || rel == ".git" || rel == filepath.Join("pkg", "obj")):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type()&fs.ModeSymlink != 0: // as distributions have them
			if name, err = filepath.EvalSymlinks(name); err != nil {
				return nil
			}
			if info, err := os.Stat(name); err != nil || info.IsDir() {
				return errors.Join(err, os.CopyFS(target, os.DirFS(name)))
			}
		}
		return copyFile(name, target)
	})
}

// copyFile copies a file with its mode, and lets its owner write to it.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// addSources puts the files of the overlay, and of the compiler, into the GOROOT in dir, and the options of programs
// into package runtime.
func (b *Build) addSources(dir string, o Options) error {
	if err := copyTree(filepath.Join(b.Entry.Dir, "src"), filepath.Join(dir, "src")); err != nil {
		return err
	}
	files, err := readOverlay(b.Entry.Overlay(o.Parts()))
	if err != nil {
		return err
	}
	for at, file := range files.Replace {
		rel, err := filepath.Rel(b.Go.Root, at)
		if err != nil {
			return err
		}
		if err := copyFile(file, filepath.Join(dir, rel)); err != nil {
			return err
		}
	}
	name := filepath.Join(dir, "src", filepath.FromSlash(goroot.OptionsFile))
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if data, err = goroot.WithOptions(data, o.forLink()); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o666)
}

// copyTree copies the files below from to their places below to.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		return copyFile(name, filepath.Join(to, rel))
	})
}

// buildTools builds the go command and the tools of the GOROOT in dir, from the sources of the user's Go. These are
// plain programs. Of them only the compiler has files of stemma, which the entry has.
func (b *Build) buildTools(ctx context.Context, dir string, m mark) error {
	tools := filepath.Join(dir, "pkg", "tool", b.Go.HostOS+"_"+b.Go.HostArch)
	entries, err := os.ReadDir(tools)
	if err != nil {
		return err
	}
	var plain []string
	for _, e := range entries {
		_, err := os.Stat(filepath.Join(b.Go.Root, "src", "cmd", e.Name()))
		if err == nil && e.Name() != "compile" {
			plain = append(plain, "cmd/"+e.Name())
		}
	}
	sources := filepath.Join(b.Entry.Dir, "src")
	files, err := sourceNames(sources)
	if err != nil {
		return err
	}
	compiler := filepath.Join(dir, "compiler.json")
	if err := overlayOf(b.Go.Root, sources, files, goroot.ForCompiler).write(compiler); err != nil {
		return err
	}
	counted, err := countingTools()
	if err != nil {
		return err
	}
	version := "-X=runtime.buildVersion=" + m.Version + " -X=internal/buildcfg.Version=" + m.Version
	for _, x := range []struct {
		what  string
		flags []string
	}{
		{"the compiler", []string{"-overlay=" + compiler, "-ldflags=" + version + " -X=" + goroot.CompilerOptions +
			"=" + m.Compile, "-o", tools + "/", "cmd/compile"}},
		{"the tools", append([]string{"-ldflags=" + version, "-o", tools + "/"}, plain...)},
		{"the go command", []string{"-ldflags=" + version, "-o", filepath.Join(dir, "bin") + "/", "cmd/go"}},
	} {
		cmd := b.Go.hermetic("build", append([]string{"-toolexec=" + counted, "-trimpath"}, x.flags...)...)
		over := Follow(cmd, "building "+x.what)
		_, err := output(ctx, cmd)
		over()
		if err != nil {
			return fmt.Errorf("%s of %s: %w", x.what, m.Version, err)
		}
	}
	return os.Remove(compiler)
}

// sourceNames returns the files below dir, by their slash-separated names.
func sourceNames(dir string) (map[string][]byte, error) {
	names := make(map[string][]byte)
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names[name] = nil
		}
		return err
	})
	return names, err
}

// nameGOROOT writes the version to where tools read it. The go command of this GOROOT stays with it: another Go, which
// go.mod may ask for, would not be instrumented.
func nameGOROOT(dir, version string) error {
	for _, x := range []struct {
		name   string
		change func(lines []string) []string
	}{
		{"VERSION", func(lines []string) []string { return append([]string{version}, lines[1:]...) }},
		{filepath.Join("src", "internal", "buildcfg", "zbootstrap.go"), func(lines []string) []string {
			for i, line := range lines {
				if strings.HasPrefix(line, "const version = ") {
					lines[i] = fmt.Sprintf("const version = %q", version)
				}
			}
			return lines
		}},
		{"go.env", func(lines []string) []string {
			lines = slices.DeleteFunc(lines, func(s string) bool { return strings.HasPrefix(s, "GOTOOLCHAIN=") })
			return append(lines, "GOTOOLCHAIN=local", "")
		}},
	} {
		file := filepath.Join(dir, x.name)
		data, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		lines := x.change(strings.Split(string(data), "\n"))
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
			return err
		}
	}
	return nil
}
