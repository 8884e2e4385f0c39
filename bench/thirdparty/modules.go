package main

import (
	"fmt"
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
