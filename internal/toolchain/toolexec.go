package toolchain

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/stemma-go/stemma/internal/goroot"
)

// CompileEnv is the environment variable in which the patched compiler finds
// its options; without it, it compiles as the plain one does.
const CompileEnv = "STEMMA_COMPILE"

// A tool is one call that the go command makes through -toolexec.
type tool struct {
	entry      *Entry
	overlay    string   // of the files that are ours
	user       string   // the user's own overlay, if it is merged with ours for more than one build
	targets    string   // GOARCHs that the options are there for, with commas between them; "" is not known
	forCompile string   // Options.ForCompiler
	forNative  string   // Options.ForNatives
	forLink    string   // Options.forLink
	symbols    bool     // Options.Symbols
	plain      bool     // tools run as they are, and are counted
	costs      bool     // of a build for costs: the compiler alone is another one, for any machine
	chain      []string // the user's own -toolexec, which runs inside ours
	args       []string // the tool and its arguments
}

// words returns the command line that newTool parses, without the tool.
func (t *tool) words() []string {
	w := []string{"-entry=" + t.entry.Dir, "-overlay=" + t.overlay, "-compile=" + t.forCompile,
		"-native=" + t.forNative, "-link=" + t.forLink}
	if t.user != "" {
		w = append(w, "-user="+t.user)
	}
	if t.symbols {
		w = append(w, "-symbols")
	}
	if t.costs {
		w = append(w, "-costs")
	}
	w = append(w, "-targets="+t.targets)
	if len(t.chain) > 0 {
		w = append(w, fmt.Sprintf("-chain=%d", len(t.chain)))
	}
	return append(w, t.chain...)
}

// newTool parses the arguments of the hidden command toolexec.
// It is the inverse of words. An error is a mistake of whoever typed the command.
func newTool(args []string) (*tool, error) {
	t := new(tool)
	fs := flag.NewFlagSet("toolexec", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	dir := fs.String("entry", "", "")
	fs.StringVar(&t.overlay, "overlay", "", "")
	fs.StringVar(&t.user, "user", "", "")
	fs.StringVar(&t.targets, "targets", "", "")
	fs.StringVar(&t.forCompile, "compile", "", "")
	fs.StringVar(&t.forNative, "native", "", "")
	fs.StringVar(&t.forLink, "link", "", "")
	fs.BoolVar(&t.symbols, "symbols", false, "")
	fs.BoolVar(&t.plain, "plain", false, "")
	fs.BoolVar(&t.costs, "costs", false, "")
	n := fs.Int("chain", 0, "")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if *n < 0 || fs.NArg() <= *n {
		return nil, errors.New("toolexec: no tool; this command is for the go command's -toolexec")
	}
	t.entry = &Entry{*dir, filepath.Base(*dir)}
	t.chain, t.args = fs.Args()[:*n], fs.Args()[*n:]
	return t, nil
}

// Toolexec runs one tool instead of the go command's own, and replaces
// this process by it where that is possible. It is called with the arguments
// that follow "stemma toolexec".
// Of the tools, only compile is another one; link gets one more flag, and cover
// other names of files, and leaves out packages of ours. All others run as they are. What an option changes must
// be in the answer to -V=full, or the go command would reuse what was built
// without it.
func Toolexec(args []string, stdout, stderr io.Writer) error {
	t, err := newTool(args)
	if err != nil {
		return err
	}
	suffix, env := "", os.Environ()
	name := filepath.Base(t.args[0])
	if name == "compile" && !isVersionQuery(t.args) {
		countCompiled(t.args)
	}
	if t.plain || t.costs && name != "compile" {
		name = "" // as other tools
	}
	if err := t.check(name); err != nil {
		return err
	}
	switch name {
	case "compile":
		// The go command takes the whole line of a released compiler's
		// version into the build ID of each package, so that plain and
		// instrumented ones never mix in its cache.
		suffix = " stemma=" + t.entry.Key + "," + t.forCompile
		t.args[0] = t.entry.Compiler()
		t.uncoverOurs()
		if t.compileNative(env) {
			return nil
		}
		env = append(env, CompileEnv+"="+t.forCompile)
	case "link":
		suffix = " stemma=" + t.forLink
		if !isVersionQuery(t.args) {
			if t.symbols {
				t.args = slices.DeleteFunc(t.args, func(s string) bool { return s == "-s" })
			}
			t.args = slices.Insert(t.args, 1, "-X=runtime.stemmaOptions="+t.forLink)
		}
	case "cover":
		if err := t.resolveOverlay(); err != nil {
			return err
		}
		if err := t.leaveOurs(); err != nil {
			return err
		}
	}
	argv := append(t.chain, t.args...)
	if suffix != "" && isVersionQuery(t.args) {
		return printVersion(argv, env, suffix, stdout, stderr)
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, argv, env))
}

// compileNative compiles a native, or takes what another build has made of it, and reports whether it did. It does
// nothing if the user has a -toolexec, which is to see each compilation.
func (t *tool) compileNative(env []string) bool {
	if isVersionQuery(t.args) || len(t.chain) > 0 || t.costs {
		return false
	}
	env = append(slices.Clone(env), CompileEnv+"="+t.forNative)
	n, err := newNative(t.entry, t.args[1:], env)
	return err == nil && n.run(t.args, env) == nil
}

// resolveOverlay replaces the names of files of ours by those of the files that
// the overlay has for them: the go command does not for cover.
func (t *tool) resolveOverlay() error {
	o, err := readOverlay(t.overlay)
	if err != nil {
		return err
	}
	for i, a := range t.args {
		if file, ok := o.Replace[a]; ok {
			t.args[i] = file
		}
	}
	return nil
}

// Packages that stemma adds are not covered, whatever -coverpkg says. Their functions run before they are initialised,
// and where they do coverage needs to know a number for the package: Go's list has none.

// leaveOurs makes cover count nothing in a package of ours.
func (t *tool) leaveOurs() error {
	config, mode := slices.Index(t.args, "-pkgcfg")+1, slices.Index(t.args, "-mode")+1
	if config == 0 || mode == 0 || max(config, mode) >= len(t.args) {
		return nil
	}
	data, err := os.ReadFile(t.args[config])
	if err != nil {
		return err
	}
	var pkg struct{ PkgPath string }
	if err := json.Unmarshal(data, &pkg); err != nil {
		return fmt.Errorf("%s: %w", t.args[config], err)
	}
	if isOurs(pkg.PkgPath) {
		t.args[mode] = "regonly" // as the go command has it for the runtime with -race
	}
	return nil
}

// uncoverOurs keeps the compiler from making a package of ours register itself: it has nothing to report.
func (t *tool) uncoverOurs() {
	args, err := expandResponse(t.args[1:])
	if err != nil {
		return
	}
	if p := slices.Index(args, "-p") + 1; p == 0 || p == len(args) || !isOurs(args[p]) {
		return
	}
	covers := func(arg string) bool { return strings.HasPrefix(arg, "-coveragecfg=") }
	t.args = append(t.args[:1], slices.DeleteFunc(slices.Clone(args), covers)...)
}

// isOurs reports whether stemma adds the package with this path.
func isOurs(path string) bool { return strings.HasPrefix(path, goroot.RuntimePkg+"/") }

// isVersionQuery reports whether the go command asks a tool for its version, which
// it makes part of the build IDs.
func isVersionQuery(args []string) bool { return len(args) == 2 && args[1] == "-V=full" }

// printVersion runs a tool with -V=full and prints its answer with a suffix.
// An answer that ends in a build ID, as development versions give it, is taken as
// it is: the gate refuses those.
func printVersion(argv, env []string, suffix string, stdout, stderr io.Writer) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Stderr = env, stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s -V=full: %w", argv[0], err)
	}
	_, err = fmt.Fprintln(stdout, strings.TrimSpace(string(out))+suffix)
	return err
}
