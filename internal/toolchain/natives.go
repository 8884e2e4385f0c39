package toolchain

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// # Natives are compiled once for each engine
//
// The go command compiles all packages anew for each combination of options, because these are in the compiler's
// version. But natives depend on the engine alone, and package runtime takes longer than everything else in a small
// program. So what the compiler made of a native is kept in the entry, under a hash over all that it was made from, and
// builds with other options take it from there. The compiler is told nothing of the other options when it compiles a
// native, so that nothing can depend on them.
//
// What was made for one build differs from what would be made for another in the build ID alone, which the go command
// chooses, and which is put in.

const (
	nativeDir  = "natives"     // of an entry: what was made, a directory for each key, and locks
	nativeName = "natives.txt" // of an entry: the import paths of natives, one a line
)

// maxNatives is how many packages are kept. A GOROOT has about fifty natives, and an engine needs each.
const maxNatives = 600

// errNotKept reports that a compilation must be done as any other.
var errNotKept = errors.New("not kept")

// A native is one compilation of a native package.
type native struct {
	store string // the directory of all that is kept
	key   string
	id    string            // the build ID
	makes map[string]string // the files that it makes, by their names in the store
}

// newNative returns the compilation that the arguments of the compiler ask for. The error is errNotKept if the package
// is no native, or if there is a flag that might do more than change what is made.
func newNative(e *Entry, args, env []string) (*native, error) {
	args, err := expandResponse(args)
	if err != nil {
		return nil, err
	}
	c, err := parseCompile(args)
	if err != nil {
		return nil, err
	}
	list, err := os.ReadFile(filepath.Join(e.Dir, nativeName))
	if err != nil || !slices.Contains(strings.Split(string(list), "\n"), c.value["p"]) {
		return nil, errNotKept
	}
	n := &native{store: filepath.Join(e.Dir, nativeDir), id: c.value["buildid"],
		makes: map[string]string{"pkg.a": c.value["o"]}}
	if file := c.value["asmhdr"]; file != "" {
		n.makes["asm.h"] = file
	}
	h := sha256.New()
	if err := c.hash(h, env); err != nil {
		return nil, err
	}
	n.key = hex.EncodeToString(h.Sum(nil))[:32]
	return n, nil
}

// A compileLine is a parsed command line of the compiler.
type compileLine struct {
	flags []string          // as given, without those that change nothing
	value map[string]string // of flags
	files []string          // the sources
}

// compileValues are the flags of the compiler that have a value, in an argument of its own, and compileSwitches those
// that have none. With other flags it may print something, or make something else.
var (
	compileValues   = wordSet("o trimpath p buildid goversion symabis importcfg asmhdr D installsuffix")
	compileSwitches = wordSet(`std + complete nolocalimports pack race shared dynlink N l dwarf=false`)
)

// parseCompile parses the arguments of the compiler.
func parseCompile(args []string) (*compileLine, error) {
	c := &compileLine{value: make(map[string]string)}
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		name := strings.TrimPrefix(args[0], "-")
		switch {
		case strings.HasPrefix(name, "c="): // how many functions are compiled at once
		case compileSwitches[name] || strings.HasPrefix(name, "lang="):
			c.flags = append(c.flags, name)
		case compileValues[name] && len(args) > 1:
			args = args[1:]
			c.value[name] = args[0]
		default:
			return nil, errNotKept
		}
		args = args[1:]
	}
	c.files = args
	if c.value["o"] == "" || c.value["buildid"] == "" || c.value["importcfg"] == "" {
		return nil, errNotKept
	}
	return c, nil
}

// unread are the variables of the go command that the compiler does not read.
var unread = wordSet(`GOBIN GOCACHE GOENV GOFLAGS GOMAXPROCS GOMODCACHE GOPATH GOPROXY GOSUMDB GOTELEMETRY GOTMPDIR
	GOTOOLCHAIN GOVERSION GOWORK GO111MODULE`)

// hash writes all that can change what is made to h: arguments, the contents of files, the environment. Where the go
// command has its files for the time of the build makes no difference.
func (c *compileLine) hash(h hash.Hash, env []string) error {
	work := filepath.Dir(c.value["o"])
	if !filepath.IsAbs(work) {
		return errNotKept
	}
	hide := func(s string) string { return strings.ReplaceAll(s, work, "$WORK") }
	for _, v := range slices.Sorted(slices.Values(env)) {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "GOSSA") || name == "GOCOMPILEDEBUG" {
			return errNotKept // the compiler prints something
		}
		if strings.HasPrefix(name, "GO") && !unread[name] || name == CompileEnv {
			fmt.Fprintf(h, "env %q\n", v)
		}
	}
	fmt.Fprintf(h, "flags %q\n", c.flags)
	for _, name := range slices.Sorted(maps.Keys(c.value)) {
		if name != "buildid" {
			fmt.Fprintf(h, "flag %s %q\n", name, hide(c.value[name]))
		}
	}
	if err := hashImports(h, c.value["importcfg"]); err != nil {
		return err
	}
	files := c.files
	if file := c.value["symabis"]; file != "" {
		files = append(slices.Clone(files), file)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil || !filepath.IsAbs(file) {
			return errNotKept
		}
		fmt.Fprintf(h, "file %q %x\n", hide(file), sha256.Sum256(data))
	}
	return nil
}

// hashImports writes what a package imports to h: of each package the hash that the go command has put into it.
func hashImports(h hash.Hash, importcfg string) error {
	data, err := os.ReadFile(importcfg)
	if err != nil {
		return errNotKept
	}
	for line := range strings.Lines(string(data)) {
		pkg, file, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok || !strings.HasPrefix(pkg, "packagefile ") {
			fmt.Fprintf(h, "import %q\n", line)
			continue
		}
		id, err := fileBuildID(file)
		if err != nil {
			return errNotKept
		}
		content := id[strings.LastIndexByte(id, '/')+1:]
		fmt.Fprintf(h, "import %q %q\n", pkg, content)
	}
	return nil
}

// fileBuildID returns the build ID of a compiled package in a file.
func fileBuildID(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 1024)
	n, err := f.Read(head)
	if err != nil {
		return "", err
	}
	return buildID(head[:n])
}

// buildID returns the build ID in the header of a compiled package.
func buildID(data []byte) (string, error) {
	_, rest, found := bytes.Cut(data[:min(len(data), 1024)], []byte("\nbuild id \""))
	id, _, ended := bytes.Cut(rest, []byte(`"`))
	if !found || !ended || len(id) == 0 {
		return "", errNotKept
	}
	return string(id), nil
}

// expandResponse returns arguments that are in a file, if args is the name of one.
func expandResponse(args []string) ([]string, error) {
	if len(args) != 1 || !strings.HasPrefix(args[0], "@") {
		return args, nil
	}
	data, err := os.ReadFile(args[0][1:])
	if err != nil || bytes.ContainsAny(data, `\"'`) {
		return nil, errNotKept
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), nil
}

// run makes the files: it takes them from the store, or else runs the compiler and keeps them there. Of several
// processes one compiles, and the others wait. After an error the compiler must be run once more, and prints what is
// wrong.
func (n *native) run(argv, env []string) error {
	unlock, err := lock(filepath.Join(n.store, n.key[:2]+".lock"), func() {})
	if err != nil {
		return err
	}
	defer unlock()
	if n.take() == nil {
		return nil
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		return errNotKept
	}
	_ = n.keep() // the next build compiles again
	return nil
}

// take makes the files from those in the store.
func (n *native) take() error {
	dir := filepath.Join(n.store, n.key)
	for name, file := range n.makes {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if name == "pkg.a" {
			id, err := buildID(data)
			if err != nil || len(id) != len(n.id) {
				return errNotKept
			}
			data = bytes.ReplaceAll(data, []byte(id), []byte(n.id))
		}
		if err := os.WriteFile(file, data, 0o666); err != nil {
			return err
		}
	}
	now := time.Now()
	_ = os.Chtimes(dir, now, now)
	return nil
}

// keep copies the files to the store, where they appear at once.
func (n *native) keep() error {
	tmp, err := os.MkdirTemp(n.store, n.key+tmpInfix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) // there is nothing to remove after the rename
	for name, file := range n.makes {
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(tmp, name), data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	dir := filepath.Join(n.store, n.key)
	if err := errors.Join(os.RemoveAll(dir), os.Rename(tmp, dir)); err != nil {
		return err
	}
	return trimNatives(n.store)
}

// trimNatives removes what was not used for longest, if there is too much, and what killed processes left.
func trimNatives(store string) error {
	names, err := os.ReadDir(store)
	if err != nil {
		return err
	}
	type kept struct {
		dir  string
		used time.Time
	}
	var list []kept
	for _, d := range names {
		info, err := d.Info()
		if err != nil || !d.IsDir() || strings.Contains(d.Name(), tmpInfix) && time.Since(info.ModTime()) < keepAlways {
			continue
		}
		list = append(list, kept{filepath.Join(store, d.Name()), info.ModTime()})
	}
	slices.SortFunc(list, func(a, b kept) int { return cmp.Compare(b.used.UnixNano(), a.used.UnixNano()) })
	for i, k := range list {
		if i >= maxNatives || strings.Contains(filepath.Base(k.dir), tmpInfix) || time.Since(k.used) > keepFor {
			err = errors.Join(err, os.RemoveAll(k.dir))
		}
	}
	return err
}
