package main

import (
	"bytes"
	"fmt"
	gobuild "go/build"
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// A testCase is a file of Go's tests that is to be run.
type testCase struct {
	name   string // below the directory
	dir    string
	action string
	flags  []string // of the go command
	more   []string // files beside it that belong to it
	args   []string // of the program
	env    []string // of both
	single bool     // each file is a package
}

// actions are those of tests that run a program.
var actions = []string{"run", "buildrun", "rundir", "buildrundir", "runindir", "errorcheckandrundir", "runoutput"}

// withValues are words of a test's first line whose value is the next word.
var withValues = []string{"-t", "-goexperiment", "-godebug", "-gcflags", "-gomodversion"}

// findCases returns the tests in dir that run programs, by name.
func findCases(dir string) (cases []*testCase, err error) {
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasSuffix(d.Name(), ".dir") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(file) != ".go" {
			return nil
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, file)
		c := parseCase(name, dir, src)
		if c == nil {
			return nil
		}
		if c.action == "run" || c.action == "runoutput" || c.action == "buildrun" {
			if ok, err := gobuild.Default.MatchFile(filepath.Dir(file), filepath.Base(file)); err != nil || !ok {
				return err
			}
		}
		cases = append(cases, c)
		return nil
	})
	if err == nil && len(cases) == 0 {
		err = fmt.Errorf("%s: no tests that run", dir)
	}
	return cases, err
}

// parseCase reads the first line of a test, "// run -gcflags=-l arg", and returns nil if it runs nothing.
func parseCase(name, dir string, src []byte) *testCase {
	line := ""
	for l := range bytes.Lines(src) { // build constraints may stand before
		l = bytes.TrimSpace(l)
		if rest, ok := bytes.CutPrefix(l, []byte("//")); ok && !bytes.HasPrefix(l, []byte("//go:build")) {
			line = string(rest)
			break
		} else if len(l) > 0 && !ok {
			return nil
		}
	}
	words := split(line)
	if len(words) == 0 || !slices.Contains(actions, words[0]) {
		return nil
	}
	c := &testCase{name: name, dir: dir, action: words[0]}
	for words = words[1:]; len(words) > 0; words = words[1:] {
		switch w := words[0]; {
		case w == "-s":
			c.single = true
		case w == "-0" || w == "-1":
		case slices.Contains(withValues, w) && len(words) > 1:
			words = words[1:]
			switch w {
			case "-goexperiment":
				c.env = append(c.env, "GOEXPERIMENT="+words[0])
			case "-godebug":
				c.env = append(c.env, "GODEBUG="+words[0])
			case "-gcflags":
				c.flags = append(c.flags, "-gcflags="+words[0])
			}
		case strings.HasPrefix(w, "-"):
			if strings.Contains(c.action, "dir") && c.action != "runindir" {
				w = "-gcflags=all=" + w
			}
			c.flags = append(c.flags, w)
		case strings.HasSuffix(w, ".go") && len(c.args) == 0: // as go run has it
			c.more = append(c.more, filepath.Base(w))
		default:
			c.args = append(c.args, w)
		}
	}
	return c
}

// split divides a line into words, which may have quotes.
func split(line string) (words []string) {
	for _, m := range regexp.MustCompile(`(?:[^\s"']|"[^"]*"|'[^']*')+`).FindAllString(line, -1) {
		words = append(words, strings.NewReplacer(`"`, "", `'`, "").Replace(m))
	}
	return words
}

// setUp makes what is built in the empty directory work, and returns where the go command runs and what it builds.
func (c *testCase) setUp(work string) (dir string, pkg []string, err error) {
	file := filepath.Join(c.dir, c.name)
	switch c.action {
	case "run", "buildrun":
		files := []string{file}
		for _, name := range c.more {
			files = append(files, filepath.Join(filepath.Dir(file), name))
		}
		return work, files, nil
	case "runoutput":
		cmd := exec.Command("go", append([]string{"run", filepath.Base(file)}, c.more...)...)
		cmd.Dir = filepath.Dir(file)
		out, err := cmd.Output()
		if err != nil {
			return "", nil, fmt.Errorf("go run: %w", err)
		}
		generated := filepath.Join(work, "generated.go")
		return work, []string{generated}, os.WriteFile(generated, out, 0o666)
	}
	from := strings.TrimSuffix(file, ".go") + ".dir"
	if c.action == "runindir" {
		if err := os.CopyFS(work, os.DirFS(from)); err != nil {
			return "", nil, err
		}
		return work, []string{"."}, writeModule(work, filepath.Base(from))
	}
	return work, []string{"."}, c.makeModule(from, work)
}

var (
	packagePattern  = regexp.MustCompile(`(?m)^package (\w+)`)
	relativePattern = regexp.MustCompile(`(?m)^(\s*(?:import\s*)?(?:[\w.]+\s+)?)"\.\.?/([\w./]+)"`)
)

// writeModule makes dir a module of this release's language.
func writeModule(dir, name string) error {
	language := strings.TrimPrefix(version.Lang(runtime.Version()), "go")
	return os.WriteFile(filepath.Join(dir, "go.mod"), fmt.Appendf(nil, "module %s\ngo %s\n", name, language), 0o666)
}

// makeModule makes a module of the files in from, whose packages import each other by "./name": main in dir, each other
// in a directory of its own. A package has the name of its first file, as the tests import it.
func (c *testCase) makeModule(from, dir string) error {
	if err := writeModule(dir, "test"); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(from, "*.go"))
	if err != nil {
		return err
	}
	home := map[string]string{} // of a package, by its name
	for i, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		m := packagePattern.FindSubmatch(src)
		if m == nil {
			return fmt.Errorf("%s: no package", file)
		}
		name := string(m[1])
		if home[name] == "" || c.single {
			home[name] = strings.TrimSuffix(filepath.Base(file), ".go")
		}
		to := filepath.Join(dir, home[name])
		if name == "main" || i == len(files)-1 {
			to = dir
		}
		if err := os.MkdirAll(to, 0o777); err != nil {
			return err
		}
		src = relativePattern.ReplaceAll(src, []byte(`$1"test/$2"`))
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), src, 0o666); err != nil {
			return err
		}
	}
	return nil
}
