package suite

import (
	"fmt"
	"strings"
)

// Exceptions maps packages and package.Test to the reason why they need not
// pass when they are instrumented.
type Exceptions map[string]string

// ParseExceptions reads lines "NAME = REASON". Empty lines and lines that
// begin with # are comments.
func ParseExceptions(text string) (Exceptions, error) {
	known := make(Exceptions)
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, reason, ok := strings.Cut(line, " = ")
		name, reason = strings.TrimSpace(name), strings.TrimSpace(reason)
		if !ok || name == "" || reason == "" {
			return nil, fmt.Errorf("exceptions.txt:%d: have %q, want NAME = REASON", n, line)
		}
		if known[name] != "" {
			return nil, fmt.Errorf("exceptions.txt:%d: %s is there twice", n, name)
		}
		known[name] = reason
	}
	return known, nil
}
