package doctor

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/goroot"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/internal/safefile"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// Report prints what an issue should say of this machine, to be read and pasted by whoever has one. Paths are
// shortened, and of flags and variables there are only values that are known to tell nothing about the user.
func Report(w io.Writer, version string) {
	s := newShortener()
	line := func(what, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", what, s.shorten(fmt.Sprintf(format, args...)))
	}
	line("stemma", "%s, supports %s", version, goroot.Supported())
	g, err := toolchain.Find("")
	if err != nil {
		line("go", "%v", err)
	} else {
		line("go", "%s %s/%s", g.Version, g.OS, g.Arch)
		line("GOFLAGS", "%s", cmp.Or(safeFlags(g.Flags), "none"))
	}
	line("kernel", "%s %s", runtime.GOOS, firstLine("/proc/sys/kernel/osrelease"))
	line("system", "%s", cmp.Or(strings.Trim(field("/etc/os-release", "PRETTY_NAME="), `"`), "not known"))
	line("CPU", "%s, %s", cmp.Or(field("/proc/cpuinfo", "model name"), runtime.GOARCH),
		humanize.Plural(runtime.NumCPU(), "CPU"))
	line("variables", "%s", cmp.Or(safeVariables(), "none"))
	if g != nil {
		line("compiler", "%s", compilerState(g))
	}
	line("cache", "%s", cacheState())
	line("last error", "%s", cmp.Or(lastError(), "none"))

	var found bytes.Buffer
	Examine(&found, version)
	for l := range strings.Lines(found.String()) {
		if !strings.HasPrefix(l, findingOK) {
			fmt.Fprint(w, s.shorten(l))
		}
	}
}

// compilerState says whether there is a compiler for g.
func compilerState(g *toolchain.Go) string {
	if err := g.Check(); err != nil {
		return err.Error()
	}
	entry, err := toolchain.Locate(g)
	switch {
	case err != nil:
		return err.Error()
	case entry.Exists():
		return "built, " + entry.Key
	}
	return "not built yet, " + entry.Key
}

// cacheState says what is in the cache.
func cacheState() string {
	dir, err := toolchain.CacheDir()
	if err != nil {
		return err.Error()
	}
	entries, _ := fs.Glob(os.DirFS(dir), "*/used") // the name of dir is no pattern
	return fmt.Sprintf("%s, %s · %s", dir, humanize.Plural(len(entries), "compiler"),
		humanize.Bytes(toolchain.DiskUsage(os.DirFS(dir))))
}

// errorFile is the file in the cache that has the last error of stemma.
const errorFile = "last-error"

// NoteError keeps the error of a command for [Report]: the name of the command, and what it said. Nothing happens if
// there is no cache, or it cannot be written. Paths are shortened when it is shown.
func NoteError(command string, err error, now time.Time) {
	dir, cacheErr := toolchain.CacheDir()
	if cacheErr != nil || toolchain.CheckCache(dir) != nil {
		return
	}
	if info, statErr := os.Stat(dir); statErr != nil || !info.IsDir() {
		return
	}
	text := fmt.Sprintf("%s: stemma %s: %v\n", now.UTC().Format(time.DateTime), command, err)
	_ = safefile.Write(filepath.Join(dir, errorFile), safefile.Private, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// lastError returns what NoteError has kept, "" if there is nothing.
func lastError() string {
	dir, err := toolchain.CacheDir()
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(dir, errorFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// safeFlag are flags of the go command whose values say nothing about the user.
var safeFlag = []string{"a", "asan", "buildmode", "buildvcs", "compiler", "count", "cover", "covermode", "cpu",
	"linkshared", "mod", "modcacherw", "msan", "p", "race", "short", "timeout", "trimpath", "v", "x"}

// safeFlags returns GOFLAGS without the values of other flags.
func safeFlags(flags string) string {
	var list []string
	for _, f := range strings.Fields(flags) {
		if !strings.HasPrefix(f, "-") {
			continue // the rest of a value in quotes
		}
		name, _, hasValue := strings.Cut(f, "=")
		if hasValue && !slices.Contains(safeFlag, strings.TrimLeft(name, "-")) {
			f = name + "=…"
		}
		list = append(list, f)
	}
	return strings.Join(list, " ")
}

// safeVariables returns the variables that are set, of stemma's and some of Go's. Those of Go that could have anything
// in them, and those that name files, are without their values.
func safeVariables() string {
	var list []string
	add := func(name string, shown bool) {
		value, ok := os.LookupEnv(name)
		switch {
		case !ok:
			return
		case !shown:
			value = "…"
		}
		list = append(list, name+"="+value)
	}
	for _, v := range base.Variables {
		if strings.HasPrefix(v.Name, "STEMMA_") && v.Reader != base.Within {
			add(v.Name, v.Values != "DIRECTORY" && v.Values != "COMMAND")
		}
	}
	for _, name := range []string{"CGO_ENABLED", "GO111MODULE", "GO" + strings.ToUpper(runtime.GOARCH), "GODEBUG",
		"GOEXPERIMENT", "GOGC",
		"GOMAXPROCS", "GOMEMLIMIT"} {
		add(name, true)
	}
	for _, name := range []string{"CC", "GOFIPS140", "GOROOT", "GOTOOLCHAIN", "GOWORK"} {
		add(name, name == "GOTOOLCHAIN" && !strings.Contains(os.Getenv(name), "/"))
	}
	return strings.Join(list, " ")
}

// firstLine returns the first line of a file, "" if it cannot be read.
func firstLine(file string) string {
	text, _ := os.ReadFile(file)
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}

// field returns what stands behind a word at the beginning of a line, and behind a colon.
func field(file, word string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for in := bufio.NewScanner(f); in.Scan(); {
		if rest, ok := strings.CutPrefix(in.Text(), word); ok {
			return strings.TrimLeft(rest, "\t :")
		}
	}
	return ""
}

// A shortener takes out of texts where the user keeps things.
type shortener struct{ known [][2]string } // a directory, and what stands for it; longer ones first

func newShortener() *shortener {
	s := new(shortener)
	add := func(name string, dir string, err error) {
		if err == nil && filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
			s.known = append(s.known, [2]string{filepath.Clean(dir), name})
		}
	}
	if g, err := toolchain.Find(""); err == nil {
		add("$GOROOT", g.Root, nil)
		add("$GOMODCACHE", g.ModCache, nil)
		add("$GOCACHE", g.Cache, nil)
	}
	cache, err := toolchain.CacheDir()
	add("$CACHE", cache, err)
	home, err := os.UserHomeDir()
	add("~", home, err)
	add("$TMPDIR", os.TempDir(), nil)
	wd, err := os.Getwd()
	add(".", wd, err)
	slices.SortStableFunc(s.known, func(a, b [2]string) int { return cmp.Compare(len(b[0]), len(a[0])) })
	return s
}

// path matches absolute paths of two or more elements, and what is below the directories that have names.
var path = regexp.MustCompile(`(^|[\s"'=:,(\[])((?:~|\.|\$[A-Z]+)?(?:/[^\s"':,;()\[\]]+)+)`)

// system are directories whose files have the same names everywhere.
var system = regexp.MustCompile(`^/(dev|proc|sys|usr)(/|$)`)

// homes are directories whose last element is the name of a person.
var homes = regexp.MustCompile(`^/(home|Users)/[^/]+/?$`)

// shorten replaces directories by the names of what they are, and leaves of paths below them the last element.
func (s *shortener) shorten(text string) string {
	for _, k := range s.known {
		if path.FindString(k[0]) != k[0] { // a directory with spaces in its name, or brackets
			text = strings.ReplaceAll(text, k[0], k[1])
		}
	}
	return path.ReplaceAllStringFunc(text, func(m string) string {
		parts := path.FindStringSubmatch(m)
		before, name := parts[1], parts[2]
		for _, k := range s.known {
			for _, dir := range k {
				if rest, ok := strings.CutPrefix(name, dir); ok && (rest == "" || rest[0] == '/') {
					return before + k[1] + last(rest)
				}
			}
		}
		if homes.MatchString(name) {
			return before + "…"
		}
		if system.MatchString(name) || !strings.HasPrefix(name, "/") || strings.Count(name, "/") < 2 {
			return m
		}
		return before + "…/" + filepath.Base(name)
	})
}

// last returns the last element of a path, behind "…" if others are left out.
func last(rest string) string {
	rest = strings.TrimRight(rest, "/")
	switch i := strings.LastIndexByte(rest, '/'); {
	case i < 0:
		return ""
	case i == 0:
		return rest
	default:
		return "/…" + rest[i:]
	}
}
