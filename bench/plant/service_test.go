package main

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestChanges makes each change and parses what comes of it.
func TestChanges(t *testing.T) {
	if len(regressions) != 10 || len(innocent) != 10 {
		t.Errorf("%d changes make the service slower and %d do not, want 10 of each", len(regressions), len(innocent))
	}
	for _, c := range append(regressions, innocent...) {
		all, err := files(c.edits)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for name, text := range all {
			if !strings.HasSuffix(name, ".go") {
				continue
			}
			if _, err := parser.ParseFile(token.NewFileSet(), name, text, 0); err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		if c.at != "" && !strings.Contains(all["shop/"+c.file], c.at) {
			t.Errorf("%s: no %q in %s", c.name, c.at, c.file)
		}
	}
}
