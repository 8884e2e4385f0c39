package toolchain

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot"
)

// # Builds by other tools
//
// What stemma build gives the go command can be in the environment as well: its two flags in GOFLAGS, and which Go is
// in force, where that is not the first one in PATH. Then whatever runs the go command builds with stemma. What stemma
// build checks before it starts is checked by toolexec, when the go command comes to it.

// A Variable is a variable of the environment.
type Variable struct{ Name, Value string }

// testFlags are in GOFLAGS for go test: it cannot run vet in directories that are in the overlay only, and a result
// from its cache leaves no record.
var testFlags = []arg{{"vet", "off", []string{"-vet=off"}}, {"count", "1", []string{"-count=1"}}}

// CheckEnvironment returns an error if a program cannot be built by an ordinary go command with these options, or if
// GOFLAGS cannot have a flag.
func (o *Options) CheckEnvironment(a *Args) error {
	if o.IsWarm() {
		return errors.New("a file with the call graph must be made for each program, which an ordinary go command " +
			"does not do; use stemma build, or an engine without one (" + engine.Giving(engine.IDs) + " without -warm)")
	}
	if _, ok := a.Flag("o"); ok {
		return errors.New("-o: it names the result of one command; give it to go build")
	}
	return nil
}

// Environment returns the variables that make an ordinary go command build as b does, with the flags of a, which
// NewBuild has had, and what it needs stays when b is closed. An error is that this cannot be.
func (b *Build) Environment(a *Args) ([]Variable, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if isTemporary(self) {
		return nil, fmt.Errorf("%s: go run removes this executable when it ends, and each build needs it; use go "+
			"install or go tool stemma", self)
	}
	flags := b.flags
	if b.tmp != nil {
		file, err := keepOverlay(filepath.Dir(b.Entry.Dir), filepath.Join(b.tmp.Path, "overlay.json"))
		if err != nil {
			return nil, err
		}
		b.tool.user = absolute(filepath.Join(b.Dir, b.user))
		if filepath.IsAbs(b.user) {
			b.tool.user = b.user
		}
		if flags, err = b.tool.flags(file); err != nil {
			return nil, err
		}
	}
	goflags, err := b.goflags(a, flags)
	if err != nil {
		return nil, fmt.Errorf("GOFLAGS: %w", err)
	}
	vars := []Variable{{"GOFLAGS", goflags}}
	if found, err := Find(b.Dir); err != nil || found.Root == b.Go.Root {
		return vars, err
	}
	return append(vars, Variable{"GOROOT", b.Go.Root}, Variable{"GOTOOLCHAIN", "local"},
		Variable{"PATH", filepath.Join(b.Go.Root, "bin") + string(filepath.ListSeparator) + os.Getenv("PATH")}), nil
}

// goflags returns the value of GOFLAGS: the user's own, then those of a, then ours.
func (b *Build) goflags(a *Args, ours []string) (string, error) {
	all, err := a.withGOFLAGS(b.Go.Flags)
	if err != nil {
		return "", err
	}
	for _, name := range []string{"overlay", "toolexec"} {
		all.Remove(name)
	}
	var words []string
	for _, x := range all.args {
		if len(x.words) == 2 {
			x.words = []string{"-" + x.flag + "=" + x.value}
		}
		words = append(words, x.words...)
	}
	words = append(words, ours...)
	for _, x := range testFlags {
		if _, ok := all.Flag(x.flag); !ok {
			words = append(words, x.words...)
		}
	}
	return base.JoinQuoted(words)
}

// isTemporary reports whether an executable is one that go run has made, and will remove.
func isTemporary(exe string) bool {
	for dir := exe; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if strings.HasPrefix(filepath.Base(dir), "go-build") && filepath.Base(filepath.Dir(exe)) == "exe" {
			return true
		}
	}
	return false
}

// overlaysDir is the directory of the cache with merged overlays.
const overlaysDir = "overlays"

// keepOverlay copies a merged overlay to a place where it stays, and returns that.
func keepOverlay(cacheDir, file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(data)
	kept := filepath.Join(cacheDir, overlaysDir, hex.EncodeToString(h[:12])+".json")
	return kept, addFile(kept, string(data))
}

// withoutOurs takes out of a what an earlier stemma env has put into GOFLAGS, and puts back what was the user's. It
// reports whether there was something.
func (a *Args) withoutOurs() (found bool) {
	ours := make(map[string]string) // overlays, and the user's that they were merged with
	var kept []arg
	for _, x := range a.args {
		t, err := ownTool(x)
		switch {
		case err != nil:
			kept = append(kept, x)
		case len(t.chain) > 0:
			if chain, err := base.JoinQuoted(t.chain); err == nil {
				kept = append(kept, arg{x.flag, chain, []string{"-toolexec=" + chain}})
			}
		}
		if err == nil {
			ours[t.overlay] = ""
			ours[filepath.Join(filepath.Dir(filepath.Dir(t.overlay)), overlaysDir)] = t.user
			found = true
		}
	}
	a.args = nil
	for _, x := range kept {
		user, ok := ours[x.value]
		if !ok && found {
			user, ok = ours[filepath.Dir(x.value)]
		}
		switch {
		case x.flag != "overlay" || !ok:
			a.args = append(a.args, x)
		case user != "":
			a.args = append(a.args, arg{x.flag, user, []string{"-overlay=" + user}})
		}
	}
	return found
}

// ownTool returns the call of toolexec that a flag asks for. It is an error if the flag asks for something else.
func ownTool(x arg) (*tool, error) {
	if x.flag != "toolexec" {
		return nil, errors.New("another flag")
	}
	words, err := base.SplitQuoted(x.value)
	if err != nil {
		return nil, err
	}
	if len(words) < 3 || words[1] != "toolexec" || !strings.HasPrefix(words[2], "-entry=") {
		return nil, errors.New("not stemma's")
	}
	return newTool(append(slices.Clone(words[2:]), "tool"))
}

// hideOurs makes g, and all that this process starts, see GOFLAGS without what an earlier stemma env has put into it.
func hideOurs(g *Go) error {
	goflags, err := (&Args{}).withGOFLAGS(g.Flags)
	if err != nil {
		return err
	}
	goflags.withoutOurs()
	var words []string
	for _, x := range goflags.args {
		words = append(words, x.words...)
	}
	if g.Flags, err = base.JoinQuoted(words); err != nil {
		return err
	}
	// An empty variable would let the value of go env -w through.
	return os.Setenv("GOFLAGS", g.Flags+" ")
}

// # What toolexec checks

// check reports why a tool cannot do what it is asked for with stemma. It also keeps the entry in the cache: no stemma
// build says that it is in use.
func (t *tool) check(name string) error {
	if name != "compile" && name != "link" {
		return nil
	}
	if _, err := os.Stat(t.entry.Compiler()); err != nil {
		return fmt.Errorf("the compiler is gone from the cache (%w); run stemma env again", err)
	}
	if name == "compile" && !t.costs { // before the compiler says that it does not know it
		if err := t.checkTarget(os.Getenv("GOOS"), os.Getenv("GOARCH")); err != nil {
			return err
		}
	}
	if isVersionQuery(t.args) {
		t.entry.touch()
		return nil
	}
	args, err := expandResponse(t.args[1:])
	if err != nil {
		return nil // it is looked at where it can be read
	}
	if err := checkTool(args); err != nil {
		return err
	}
	if name != "compile" {
		return nil
	}
	return t.checkRuntime(args)
}

// checkTool returns an error if there is a flag that cannot work. These are as the go command passes them on.
func checkTool(args []string) error {
	a := new(Args)
	for _, word := range args {
		if name, ok := flagName(word); ok {
			_, value, given := strings.Cut(word, "=")
			if !given {
				value = "true"
			}
			a.args = append(a.args, arg{flag: name, value: value})
		}
	}
	return a.check()
}

// checkTarget reports a platform that the options are not there for.
func (t *tool) checkTarget(goos, goarch string) error {
	if goos == "" || goarch == "" {
		return nil // the go command sets them
	}
	if err := goroot.CheckPlatform(goos, goarch); err != nil {
		return err
	}
	if t.targets != "" && !slices.Contains(strings.Split(t.targets, ","), goarch) {
		return fmt.Errorf("%s/%s: the engine or a metric is not there for it yet; see 'stemma help build'", goos,
			goarch)
	}
	return nil
}

// checkRuntime reports that package runtime is compiled without the overlay.
func (t *tool) checkRuntime(args []string) error {
	if i := slices.Index(args, "-p"); t.overlay == "" || i < 0 || i+1 == len(args) || args[i+1] != "runtime" {
		return nil
	}
	for _, file := range args {
		if strings.HasPrefix(file, filepath.Dir(t.overlay)) {
			return nil
		}
	}
	return errors.New("another -overlay has the place of stemma's; put it into GOFLAGS before stemma env is run, or " +
		"give it to stemma env")
}
