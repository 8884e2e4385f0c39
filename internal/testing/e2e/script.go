package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/stemma-go/stemma/internal/testing/pty"
	"github.com/stemma-go/stemma/internal/toolchain"
)

// Scripts.
//
// A script is a text with files in it (txtar). Its lines are commands; each script runs in a directory of its own,
// where its files are. A line ends at a #. Words are separated by spaces; quotes (') keep a word together and what is
// in it as it is, and two of them stand for one. $NAME stands for a variable. A condition in brackets before a command
// is one of short, more, full and exec:PROGRAM; ! in front of its name means not. A ! before a command says that it
// must fail. The commands are in commands.

// Scripts runs the scripts in testdata/script or a directory below it. Those that begin
// with "[short] skip" build programs, and with them the patched compiler if it is not in
// the cache.
func Scripts(t *testing.T, below string) {
	exe, err := tool()
	if err != nil {
		t.Fatal(err)
	}
	env, err := scriptEnv(filepath.Dir(exe))
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, scriptTarget(t)...)
	files, err := filepath.Glob(filepath.Join(here(), "..", "..", "..", "testdata", "script", below, "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			text, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			newScript(t, text, env).run(string(text.Comment))
		})
	}
}

// scriptEnv gives scripts the caches of the user, so that they build only once, and stemma
// as a user would have it: it runs itself by its own path.
func scriptEnv(bin string) ([]string, error) {
	out, err := exec.Command("go", "env", "GOROOT", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOVERSION").Output()
	if err != nil {
		return nil, err
	}
	goEnv := strings.Split(strings.TrimSpace(string(out)), "\n")
	cache, err := toolchain.CacheDir()
	if err != nil {
		return nil, err
	}
	return []string{
		"PATH=" + bin + ":" + filepath.Join(goEnv[0], "bin") + ":" + os.Getenv("PATH"),
		"GOROOT=" + goEnv[0], "GOCACHE=" + goEnv[1], "GOMODCACHE=" + goEnv[2], "GOPROXY=" + goEnv[3],
		"GOVERSION=" + goEnv[4],
		"GOTOOLCHAIN=local", "GOENV=off", "HOME=/no-home",
		"STEMMA_ROOT=" + filepath.Join(here(), "..", "..", ".."), // for programs that import package stemma
		"STEMMA_BIN=" + bin, "STEMMA_CACHE=" + cache,
	}, nil
}

// A script is one that runs. Its log is printed when it fails.
type script struct {
	t              *testing.T
	ctx            context.Context
	dir            string
	env            []string
	log            bytes.Buffer
	stdin          string
	keyboard       string // what is typed on a terminal
	stdout, stderr string // of the last program, and terminal what it wrote there
	terminal       string
	behind         map[string]*running
}

// A running program is one that the script does not wait for yet.
type running struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	fails          bool // it must fail
	done           chan error
}

func newScript(t *testing.T, text *txtar.Archive, env []string) *script {
	work := t.TempDir()
	tmp := filepath.Join(work, ".tmp")
	s := &script{t: t, dir: work, behind: make(map[string]*running)}
	s.env = append(slices.Clone(env), "WORK="+work, "TMPDIR="+tmp)
	if err := os.Mkdir(tmp, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, f := range text.Files {
		file := filepath.Join(work, f.Name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	if end, ok := t.Deadline(); ok { // what it waits for is said before the test is ended
		ctx, cancel = context.WithDeadline(ctx, end.Add(-15*time.Second))
	}
	s.ctx = ctx
	t.Cleanup(func() {
		cancel()
		for _, r := range s.behind {
			<-r.done
		}
		if t.Failed() {
			t.Logf("%s", &s.log)
		}
	})
	return s
}

// errSkip ends a script.
var errSkip = errors.New("skip")

// run runs all lines.
func (s *script) run(text string) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		fmt.Fprintf(&s.log, "%s\n", line)
		err := s.line(line)
		if errors.Is(err, errSkip) {
			s.t.Skip(err)
		}
		if err != nil {
			s.t.Fatalf("line %d: %s: %v", n, line, err)
		}
	}
}

// line runs one line.
func (s *script) line(line string) error {
	words, err := s.words(line)
	if err != nil {
		return err
	}
	for len(words) > 0 && strings.HasPrefix(words[0], "[") {
		if ok, err := s.holds(strings.Trim(words[0], "[]")); err != nil || !ok {
			return err
		}
		words = words[1:]
	}
	if len(words) == 0 {
		return nil
	}
	fails := words[0] == "!"
	if fails {
		words = words[1:]
	}
	command := commands[words[0]]
	if command == nil {
		return fmt.Errorf("no such command")
	}
	return command(s, fails, words[1:])
}

// words returns the words of a line, with the variables filled in.
func (s *script) words(line string) (words []string, err error) {
	var word strings.Builder
	inWord, quoted := false, false
	plain := func(text string) { word.WriteString(os.Expand(text, s.get)) }
	from := 0
	for i := 0; i <= len(line); i++ {
		end := i == len(line)
		switch {
		case quoted && end:
			return nil, errors.New("a quote is not closed")
		case quoted && line[i] == '\'' && i+1 < len(line) && line[i+1] == '\'':
			word.WriteString(line[from : i+1])
			i++
			from = i + 1
		case quoted && line[i] == '\'':
			word.WriteString(line[from:i])
			quoted, from = false, i+1
		case quoted:
		case end || line[i] == ' ' || line[i] == '\t' || line[i] == '#' && !inWord:
			if inWord {
				plain(line[from:i])
				words = append(words, word.String())
			}
			word.Reset()
			if inWord, from = false, i+1; !end && line[i] == '#' {
				return words, nil
			}
		case line[i] == '\'':
			if inWord {
				plain(line[from:i])
			}
			inWord, quoted, from = true, true, i+1
		case !inWord:
			inWord, from = true, i
		}
	}
	return words, nil
}

// holds reports whether a condition is met.
func (s *script) holds(cond string) (bool, error) {
	name, not := strings.CutPrefix(cond, "!")
	prog, isExec := strings.CutPrefix(name, "exec:")
	switch {
	case isExec:
		_, err := exec.LookPath(prog)
		return (err == nil) != not, nil
	case name == "short":
		return testing.Short() != not, nil
	case name == "more":
		return More() != not, nil
	case name == "full":
		return Full() != not, nil
	}
	return false, fmt.Errorf("unknown condition %q", cond)
}

func (s *script) get(name string) string {
	value := ""
	for _, v := range s.env {
		if n, val, _ := strings.Cut(v, "="); n == name {
			value = val
		}
	}
	return value
}

// path returns a path of the script's.
func (s *script) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.dir, name)
}

// read returns a file, or what the last program wrote.
func (s *script) read(name string) (string, error) {
	switch name {
	case "stdout":
		return s.stdout, nil
	case "stderr":
		return s.stderr, nil
	}
	b, err := os.ReadFile(s.path(name))
	return string(b), err
}

// commands are what a line may begin with. Those of programs and of patterns may have a ! before them.
var commands map[string]func(s *script, fails bool, args []string) error

func init() {
	commands = map[string]func(s *script, fails bool, args []string) error{
		"exec": (*script).exec, "wait": (*script).wait, "exists": (*script).exists, "env": (*script).setenv,
		"stdout": func(s *script, not bool, args []string) error { return match(s.stdout, not, args) },
		"stderr": func(s *script, not bool, args []string) error { return match(s.stderr, not, args) },
		"ttyout": func(s *script, not bool, args []string) error { return match(s.terminal, not, args) },
		"grep":   (*script).grep, "cmp": (*script).cmp, "cp": (*script).cp,
		"stdin": func(s *script, _ bool, args []string) (err error) { s.stdin, err = s.read(args[0]); return err },
		"ttyin": func(s *script, _ bool, args []string) (err error) { s.keyboard, err = s.read(args[0]); return err },
		"skip": func(s *script, _ bool, args []string) error {
			return fmt.Errorf("%w: %s", errSkip, strings.Join(args, " "))
		},
		"cd":    func(s *script, _ bool, args []string) error { s.dir = s.path(args[0]); return nil },
		"rm":    each(os.RemoveAll),
		"mkdir": each(func(path string) error { return os.MkdirAll(path, 0o777) }),
		"chmod": (*script).chmod,
	}
}

// each makes a command of what is to be done with each file.
func each(do func(path string) error) func(s *script, _ bool, args []string) error {
	return func(s *script, _ bool, args []string) error {
		for _, name := range args {
			if err := do(s.path(name)); err != nil {
				return err
			}
		}
		return nil
	}
}

// exec runs a program to its end, or with a last word &NAME& until the script waits for it.
func (s *script) exec(fails bool, args []string) error {
	name, ok := args[len(args)-1], false
	if name, ok = strings.CutPrefix(name, "&"); ok {
		args = args[:len(args)-1]
	}
	if len(args) > 2 && args[0] == "stemma" && slices.Contains([]string{"build", "run", "test"}, args[1]) && !fails {
		if err := checkLibrary(args[2:]...); err != nil {
			return err
		}
	}
	r := &running{fails: fails, done: make(chan error, 1)}
	r.cmd = exec.CommandContext(s.ctx, s.lookup(args[0]), args[1:]...)
	r.cmd.Args[0] = args[0]
	r.cmd.Dir, r.cmd.Env = s.dir, append(slices.Clone(s.env), "PWD="+s.dir)
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = strings.NewReader(s.stdin), &r.stdout, &r.stderr
	r.cmd.WaitDelay = 10 * time.Second
	closeTerminal := s.openTerminal(r.cmd)
	s.stdin, s.keyboard = "", ""
	err := r.cmd.Start()
	if err != nil {
		closeTerminal()
		return err
	}
	go func() { r.done <- r.cmd.Wait() }()
	if ok {
		s.behind[strings.TrimSuffix(name, "&")] = r
		return nil
	}
	err = s.ended(r)
	s.terminal = closeTerminal()
	return err
}

// lookup finds a program in the PATH of the script.
func (s *script) lookup(name string) string {
	if strings.Contains(name, "/") {
		return s.path(name)
	}
	for _, dir := range filepath.SplitList(s.get("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	return name
}

// openTerminal gives a program a terminal, if something is to be typed there. The function that it returns ends that,
// and returns what the program wrote.
func (s *script) openTerminal(cmd *exec.Cmd) func() string {
	if s.keyboard == "" {
		return func() string { return "" }
	}
	ptm, pts := pty.Open(s.t)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	cmd.ExtraFiles = []*os.File{pts}
	text := make(chan string, 1)
	go func() {
		_, _ = ptm.WriteString(s.keyboard)
	}()
	go func() {
		b, _ := io.ReadAll(ptm) // it ends with an error when the program has
		text <- string(b)
	}()
	return func() string {
		pts.Close()
		return <-text
	}
}

// ended waits for a program, and takes what it wrote.
func (s *script) ended(r *running) error {
	err := <-r.done
	s.stdout, s.stderr = r.stdout.String(), r.stderr.String()
	for name, text := range map[string]string{"stdout": s.stdout, "stderr": s.stderr} {
		if text != "" {
			fmt.Fprintf(&s.log, "[%s]\n%s", name, text)
		}
	}
	if err != nil {
		fmt.Fprintf(&s.log, "[%v]\n", err)
	}
	var status *exec.ExitError
	switch {
	case s.ctx.Err() != nil:
		return s.ctx.Err()
	case r.fails && err == nil:
		return errors.New("it did not fail")
	case r.fails && errors.As(err, &status):
		return nil
	}
	return err
}

// wait waits for a program that runs.
func (s *script) wait(_ bool, args []string) error {
	r := s.behind[args[0]]
	if r == nil {
		return errors.New("no such program")
	}
	delete(s.behind, args[0])
	return s.ended(r)
}

// match looks for a pattern in a text.
func match(text string, not bool, args []string) error {
	want := -1
	if n, ok := strings.CutPrefix(args[0], "-count="); ok {
		var err error
		if want, err = strconv.Atoi(n); err != nil {
			return err
		}
		args = args[1:]
	}
	re, err := regexp.Compile("(?m)" + args[0])
	if err != nil {
		return err
	}
	found := re.FindAllString(text, -1)
	switch {
	case want >= 0 && len(found) != want:
		return fmt.Errorf("found %d times", len(found))
	case want < 0 && not && len(found) > 0:
		return fmt.Errorf("found %q", found[0])
	case want < 0 && !not && len(found) == 0:
		return errors.New("not found")
	}
	return nil
}

// grep looks for a pattern in a file, which is the last word.
func (s *script) grep(not bool, args []string) error {
	text, err := s.read(args[len(args)-1])
	if err != nil {
		return err
	}
	return match(text, not, args[:len(args)-1])
}

func (s *script) cmp(_ bool, args []string) error {
	a, err := s.read(args[0])
	if err != nil {
		return err
	}
	b, err := s.read(args[1])
	if err == nil && a != b {
		err = fmt.Errorf("they differ:\n%s\nand\n%s", a, b)
	}
	return err
}

func (s *script) cp(_ bool, args []string) error {
	text, err := s.read(args[0])
	if err != nil {
		return err
	}
	to := s.path(args[1])
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		to = filepath.Join(to, filepath.Base(args[0]))
	}
	mode := os.FileMode(0o666)
	if info, err := os.Stat(s.path(args[0])); err == nil {
		mode = info.Mode() & 0o777
	}
	return os.WriteFile(to, []byte(text), mode)
}

func (s *script) exists(not bool, args []string) error {
	for _, name := range args {
		if _, err := os.Stat(s.path(name)); (err == nil) == not {
			return fmt.Errorf("%s: %v", name, err)
		}
	}
	return nil
}

func (s *script) setenv(_ bool, args []string) error {
	s.env = append(s.env, args...)
	return nil
}

func (s *script) chmod(_ bool, args []string) error {
	mode, err := strconv.ParseUint(args[0], 8, 32)
	if err != nil {
		return err
	}
	return each(func(path string) error { return os.Chmod(path, os.FileMode(mode)) })(s, false, args[1:])
}
