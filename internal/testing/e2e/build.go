package e2e

import (
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// How it works.
//
// Programs are built into a directory of the user's cache that all packages of
// tests, and all their runs, have in common. The go command looks at what is there
// and links only if something has changed, so that a second build takes a tenth of
// the first. A lock keeps two packages from building one program at once. A test
// runs a hard link, which stays as it is whatever is built later.

// workDir holds links to stemma and the built programs.
var workDir string

// Main is the TestMain of packages that build programs.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "stemma-e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	workDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// here is the directory of this file, wherever tests run.
var here = sync.OnceValue(func() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
})

// Program returns the directory of a program.
func Program(name string) string { return filepath.Join(here(), "testdata", "programs", name) }

// NeedBuilds skips tests that build programs.
func NeedBuilds(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds instrumented programs; run without -short")
	}
}

// tool is stemma itself.
var tool = sync.OnceValues(func() (string, error) {
	if err := noteSources(); err != nil {
		return "", err
	}
	return shared("stemma", func(exe string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-o", exe, "./cmd/stemma")
		cmd.Dir = filepath.Join(here(), "..", "..", "..")
		return cmd
	})
})

// Tool returns the stemma command, built of this source.
func Tool(t *testing.T) string {
	t.Helper()
	NeedBuilds(t)
	exe, err := tool()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// Build builds a program of testdata/programs with stemma and these flags, and returns
// the executable. With -short it skips the test.
func Build(t *testing.T, name string, flags ...string) string {
	t.Helper()
	return BuildDir(t, Program(name), flags...)
}

// BuildDir builds the program in a directory, as Build does.
func BuildDir(t *testing.T, dir string, flags ...string) string {
	t.Helper()
	stemma := Tool(t)
	flags = shareable(flags, Full())
	if err := checkLibrary(flags...); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	needTarget(t, dir, flags)
	// The name of the program is part of its record's.
	name := filepath.Join(shortHash(dir, flags), filepath.Base(dir))
	exe, err := shared(name, func(exe string) *exec.Cmd {
		cmd := exec.Command(stemma, append(append([]string{"build", "-o", exe}, flags...), ".")...)
		cmd.Dir, cmd.Env = dir, TargetEnv(dir, flags...)
		return cmd
	})
	if err != nil && *arch != "" && strings.Contains(err.Error(), "is not there for") {
		t.Skipf("-arch=%s: %v", *arch, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// shareable returns the flags of a build for which others have compiled the standard library already, unless all
// combinations are to be tried: with one metric that changes compiled code, or is sampled, it has all that change code.
func shareable(flags []string, full bool) []string {
	flags = slices.Clone(flags)
	for i, f := range flags {
		asked, ok := strings.CutPrefix(f, "-metrics=")
		if !ok || full || !slices.ContainsFunc(engine.AskedMetrics(asked), needsLibrary) {
			continue
		}
		for _, m := range engine.Metrics {
			if m.Code && !slices.Contains(strings.Split(asked, ","), m.Name) {
				flags[i] += "," + m.Name
			}
		}
	}
	return flags
}

// libraries are the standard libraries, as library tells them apart, that are compiled without -more: each takes longer
// than most tests, and all of them together most of the time that the tests take.
var libraries = []string{
	library("-engine=cct"),
	library("-metrics=calls,alloc,wait,ops"), // all that change compiled code
	library("-engine=dacce", "-verify"),      // each context is compared with a stack
}

// moreLibraries are those that are compiled without -full.
var moreLibraries = append(slices.Clone(libraries),
	library("-engine=sample"),
	library("-verify"),
	library("-engine=dacce"),
	library("-engine=lucce", "-verify"),
	library("-engine=dacce", "-verify", "-events=alloc,go,panic"),
)

// library returns what tells apart the standard libraries of builds with these flags: what the compiler is told, and
// which parts the runtime has. It ends at what is no flag.
func library(flags ...string) string {
	o := engine.DefaultOptions
	for _, f := range flags {
		name, isFlag := strings.CutPrefix(f, "-")
		if !isFlag {
			break
		}
		name, value, given := strings.Cut(strings.TrimPrefix(name, "-"), "=")
		known := engine.FlagNamed(name)
		if known == nil {
			continue
		}
		switch in := known.In(&o).(type) {
		case *string:
			*in = value
		case *bool:
			*in = !given || value == "on"
		}
	}
	return o.Parts().String() + " " + o.ForCompiler()
}

// checkLibrary reports a build that would have one more library compiled.
func checkLibrary(flags ...string) error {
	l := library(flags...)
	switch {
	case Full() || slices.Contains(libraries, l) || More() && slices.Contains(moreLibraries, l):
		return nil
	case slices.Contains(moreLibraries, l):
		return fmt.Errorf("%s: the standard library would be compiled once more; do it with -more only (NeedMore, or "+
			"[more] in a script), or with flags that other tests have (e2e.libraries)", strings.Join(flags, " "))
	}
	return fmt.Errorf("%s: the standard library would be compiled once more; do it with -full only (NeedFull, or "+
		"[full] in a script), or with flags that other tests have (e2e.moreLibraries)", strings.Join(flags, " "))
}

// needsLibrary reports whether a metric has a standard library compiled that builds without it do not have.
func needsLibrary(m engine.Metric) bool { return m.Code || m.Sampled }

// Plain builds a program of testdata/programs without stemma, and returns the executable.
func Plain(t *testing.T, name string) string {
	t.Helper()
	NeedBuilds(t)
	exe, err := shared(filepath.Join(shortHash(Program(name), nil)+"-plain", name), func(exe string) *exec.Cmd {
		cmd := exec.Command("go", "build", "-o", exe, ".")
		cmd.Dir, cmd.Env = Program(name), TargetEnv(Program(name))
		return cmd
	})
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// noteSources opens all files of the module, so that the go command knows that the results of
// tests depend on them. It would else take them from its cache when the compiler, the
// runtime, the tool or a program has changed: of those, the test binary has nothing in it.
func noteSources() error {
	root := filepath.Join(here(), "..", "..", "..")
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if file != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bench") {
				return filepath.SkipDir
			}
			return nil
		}
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

// shortHash names a build.
func shortHash(dir string, flags []string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%q", dir, flags)
	io.WriteString(h, *arch)
	return fmt.Sprintf("%x", h.Sum(nil)[:6])
}

// shared makes an executable in the shared directory, unless this process has it, and
// returns a link to it.
func shared(name string, build func(exe string) *exec.Cmd) (string, error) {
	link := filepath.Join(workDir, name)
	if _, err := os.Stat(link); err == nil {
		return link, nil
	}
	dir, err := sharedDir()
	if err != nil {
		return "", err
	}
	exe := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(exe), 0o777); err != nil {
		return "", err
	}
	unlock, err := lock(exe + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	cmd := build(exe)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o777); err != nil {
		return "", err
	}
	// A build may leave files beside the program that it must find there.
	for _, suffix := range []string{toolchain.WarmSuffix, ""} {
		if err := linkOrCopy(exe+suffix, link+suffix); err != nil && (suffix == "" || !os.IsNotExist(err)) {
			return "", err
		}
	}
	return link, nil
}

// keepBuilds is for how long a build that no test has used stays.
const keepBuilds = 3 * 24 * time.Hour

// sharedDir returns the directory of this source's builds, without those that have
// been of no use for long.
var sharedDir = sync.OnceValues(func() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	all := filepath.Join(cache, "stemma-e2e")
	dir := filepath.Join(all, shortHash(here(), nil))
	locks, err := filepath.Glob(filepath.Join(all, "*", "*", "*.lock"))
	if err != nil {
		return "", err
	}
	for _, l := range locks {
		if info, err := os.Stat(l); err == nil && time.Since(info.ModTime()) > keepBuilds {
			os.RemoveAll(filepath.Dir(l))
		}
	}
	return dir, os.MkdirAll(dir, 0o777)
})

// lock waits until no other process has the lock. The file's time is that of its last use.
func lock(file string) (unlock func(), err error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, err
	}
	now := time.Now()
	os.Chtimes(file, now, now)
	return func() { f.Close() }, nil
}

// linkOrCopy gives a file another name, which it keeps when the first one is another's.
func linkOrCopy(old, new string) error {
	if err := os.Link(old, new); err == nil || os.IsNotExist(err) {
		return err
	}
	from, err := os.Open(old)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(new, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o777)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}
