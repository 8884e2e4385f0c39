package toolchain

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// CompileEnv is the environment variable in which the patched compiler finds
// its options; without it, it compiles as the plain one does.
const CompileEnv = "STEMMA_COMPILE"

// A tool is one call that the go command makes through -toolexec.
type tool struct {
	compiler   string   // the patched compiler
	id         string   // hash of the cache entry
	forCompile string   // Options.ForCompiler
	forLink    string   // Options.ForRuntime
	chain      []string // the user's own -toolexec, which runs inside ours
	args       []string // the tool and its arguments
}

// words returns the command line that newTool parses, without the tool.
func (t *tool) words() []string {
	w := []string{"-compiler=" + t.compiler, "-id=" + t.id, "-compile=" + t.forCompile, "-link=" + t.forLink,
		fmt.Sprintf("-chain=%d", len(t.chain))}
	return append(w, t.chain...)
}

// newTool parses the arguments of the hidden command toolexec.
func newTool(args []string) (*tool, error) {
	t := new(tool)
	fs := flag.NewFlagSet("toolexec", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&t.compiler, "compiler", "", "")
	fs.StringVar(&t.id, "id", "", "")
	fs.StringVar(&t.forCompile, "compile", "", "")
	fs.StringVar(&t.forLink, "link", "", "")
	n := fs.Int("chain", 0, "")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if *n < 0 || fs.NArg() <= *n {
		return nil, errors.New("toolexec: no tool; this command is for the go command's -toolexec")
	}
	t.chain, t.args = fs.Args()[:*n], fs.Args()[*n:]
	return t, nil
}

// Toolexec runs one tool in the place of the go command's own, and replaces
// this process by it where that is possible. It is called with the arguments
// that follow "stemma toolexec".
func Toolexec(args []string, stdout, stderr io.Writer) error {
	t, err := newTool(args)
	if err != nil {
		return err
	}
	suffix, env := "", os.Environ()
	switch filepath.Base(t.args[0]) {
	case "compile":
		// The go command takes the whole line of a released compiler's
		// version into the build ID of each package, so that plain and
		// instrumented ones never mix in its cache.
		suffix = " stemma=" + t.id + "," + t.forCompile
		t.args[0] = t.compiler
		env = append(env, CompileEnv+"="+t.forCompile)
	case "link":
		suffix = " stemma=" + t.forLink
		if len(t.args) > 1 && !isVersionQuery(t.args) {
			t.args = append([]string{t.args[0], "-X=runtime.stemmaOptions=" + t.forLink}, t.args[1:]...)
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

func isVersionQuery(args []string) bool { return len(args) == 2 && args[1] == "-V=full" }

// printVersion runs a tool with -V=full and prints its answer with a suffix.
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
