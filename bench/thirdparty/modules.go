package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A module is a line of modules.txt.
type module struct {
	path, version string
	packages      []string
	flags         []string // of go test
	env           []string
	verify        bool // its contexts are compared by -verify
}

// name tells a module from others, and from itself in another environment.
func (m *module) name() string { return strings.Join(append([]string{m.path}, m.env...), " ") }

// parseModules reads modules.txt.
func parseModules(text string) (list []*module, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line, _, _ = strings.Cut(line, "#")
		words := fields(line)
		if len(words) == 0 {
			continue
		}
		if len(words) < 2 || !strings.HasPrefix(words[1], "v") {
			return nil, fmt.Errorf("modules.txt:%d: have %q, want MODULE VERSION [PACKAGE...] [-FLAG...] "+
				"[NAME=VALUE...] [+verify]", n, strings.TrimSpace(line))
		}
		m := &module{path: words[0], version: words[1]}
		for _, w := range words[2:] {
			switch {
			case w == verifyMark:
				m.verify = true
			case w[0] == '-':
				m.flags = append(m.flags, w)
			case w[0] == '.':
				m.packages = append(m.packages, w)
			case strings.Contains(w, "="):
				m.env = append(m.env, w)
			default:
				return nil, fmt.Errorf("modules.txt:%d: have %q, want a package that begins with ., a flag, "+
					"NAME=VALUE or +verify", n, w)
			}
		}
		if m.packages == nil {
			m.packages = []string{"."}
		}
		list = append(list, m)
	}
	return list, nil
}

// fields splits a line at spaces that are not between quotes.
func fields(line string) []string {
	quoted := false
	words := strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '\t' || r == '\n')
	})
	for i, w := range words {
		words[i] = strings.Trim(w, `"`)
	}
	return words
}

// fetch makes a copy of the module in dir that may be changed, since its tests may write
// there, and its go.sum may lack what they need.
func (m *module) fetch(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	cmd := exec.Command("go", "mod", "download", "-json", m.path+"@"+m.version)
	cmd.Dir = filepath.Dir(dir) // outside of any module
	out, err := cmd.Output()
	var info struct{ Dir, Error string }
	if e := json.Unmarshal(out, &info); e != nil || info.Dir == "" {
		return fmt.Errorf("go mod download %s@%s: %v %s", m.path, m.version, err, info.Error)
	}
	if err := os.CopyFS(dir, os.DirFS(info.Dir)); err != nil {
		return err
	}
	if err := makeWritable(dir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return nil
	}
	if err := inModule(dir, "go", "mod", "init", m.path); err != nil {
		return err
	}
	return inModule(dir, "go", "mod", "tidy")
}

// makeWritable lets the owner write to all that was copied from the module cache.
func makeWritable(dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()|0o200)
	})
}

func inModule(dir string, args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
