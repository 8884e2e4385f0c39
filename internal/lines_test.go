package internal_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// maxColumns is how long a line may be; a tab counts as tabColumns.
const (
	maxColumns = 120
	tabColumns = 4
)

// TestLines looks for lines that are too long. Those of raw strings cannot be broken. Programs for tests
// are left out: contexts stand in their comments, and their lines are counted.
func TestLines(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == ".git" || name == "testdata" || name == "programs") {
			return filepath.SkipDir
		}
		switch filepath.Ext(file) {
		case ".go", ".s", ".js", ".css":
		default:
			return nil
		}
		files++
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		raw := map[int]bool{}
		if filepath.Ext(file) == ".go" {
			raw = rawStrings(src)
		}
		for i, line := range bytes.Split(src, []byte("\n")) {
			columns := utf8.RuneCount(line) + (tabColumns-1)*bytes.Count(line, []byte("\t"))
			if columns > maxColumns && !raw[i+1] {
				t.Errorf("%s:%d: %d columns, want at most %d; break the line", file, i+1, columns, maxColumns)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 300 {
		t.Errorf("%d files, want more", files)
	}
}

// rawStrings returns the lines that have a part of a raw string.
func rawStrings(src []byte) map[int]bool {
	fset, lines := token.NewFileSet(), map[int]bool{}
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok == token.STRING && lit[0] == '`' {
			first := file.Line(pos)
			for i := range strings.Count(lit, "\n") + 1 {
				lines[first+i] = true
			}
		}
	}
}
