package main

import (
	_ "embed"
	"regexp"
	"strings"
)

// An edit replaces a text of a file, which must be there, or adds a file.
type edit struct{ file, old, new string }

// A change is one that makes the service slower, or an innocent one. Of the first kind, an annotation must be in file,
// on a line with the text at.
type change struct {
	name  string
	edits []edit
	file  string
	at    string
}

//go:embed changes.txt
var changesText string

// regressions make the service slower; innocent changes do the same work by other code, or less.
var regressions, innocent = changes()

var editForm = regexp.MustCompile(`(?s)<<<< (\S+)\n(.*?)\n====\n(.*?)\n>>>>\n`)

// changes reads changes.txt.
func changes() (slower, innocent []change) {
	for _, part := range strings.Split(changesText, "\n#### ")[1:] {
		head, body, _ := strings.Cut(part, "\n")
		kind, name, _ := strings.Cut(head, ": ")
		if kind == "marked" {
			last := &slower[len(slower)-1]
			last.file, last.at, _ = strings.Cut(name, ": ")
			last.edits = edits(body)
			continue
		}
		if c := (change{name: name, edits: edits(body)}); kind == "slower" {
			slower = append(slower, c)
		} else {
			innocent = append(innocent, c)
		}
	}
	return slower, innocent
}

func edits(text string) (list []edit) {
	for _, m := range editForm.FindAllStringSubmatch(text, -1) {
		list = append(list, edit{m[1], m[2], m[3]})
	}
	return list
}
