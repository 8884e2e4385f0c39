package main

import (
	"fmt"
	"strings"
)

// exceptions maps packages and package.Test to the reason why they need not
// pass when they are instrumented.
type exceptions map[string]string

// parseExceptions reads lines "NAME = REASON". Empty lines and lines that
// begin with # are comments.
func parseExceptions(text string) (exceptions, error) {
	known := make(exceptions)
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
