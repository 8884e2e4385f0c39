package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	block = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

	// asCommand is a line that a shell would run, with what stands before it there.
	asCommand = regexp.MustCompile(`(?m)^(\$ |[A-Z_]+=\S* |sudo )*` +
		`(\./\w+|(stemma(-fleet|-mcp)?|go|cd|cp|curl|docker|git|make|mkdir|benchstat|eval|export|tail) .*)$`)

	// unrun is behind the mark of commands that e2e/documents.TestCommands does not run: why, and what does.
	unrun  = regexp.MustCompile(`^(?:sh|console) unrun: (\w+( \S+)+)$`)
	proves = regexp.MustCompile(`\b(Test\w+|\w+\.txtar)\b`)
)

// languages are the marks of blocks that are no commands. text is for what looks like commands, and is forms of these.
var languages = map[string]bool{"": true, "text": true, "go": true, "json": true, "yaml": true, "sql": true,
	"dockerfile": true}

// unproven returns what is wrong with the blocks of a document. Commands in a document that TestCommands reads
// are run, and those in others say why they are not. known reports whether there is a test, or a script, of a name.
func unproven(text string, read bool, known func(name string) bool) (list []string) {
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		mark, first := m[1], strings.SplitN(m[2], "\n", 2)[0]
		why := unrun.FindStringSubmatch(mark)
		switch {
		case why != nil:
			for _, name := range proves.FindAllString(why[1], -1) {
				if !known(name) {
					list = append(list, first+": no "+name)
				}
			}
		case mark == "sh" || mark == "console":
			if !read {
				list = append(list, first+": nothing runs it; write why, as "+mark+" unrun: needs a network")
			}
			if mark == "console" && !strings.Contains("\n"+m[2], "\n$ ") {
				list = append(list, first+`: a console without a line that begins with "$ "`)
			}
		case !languages[mark]:
			list = append(list, first+": mark "+mark+"; commands have sh or console")
		case mark == "" && asCommand.MatchString(m[2]):
			list = append(list, first+": nothing runs it; mark the block sh, or sh unrun: with the reason")
		}
	}
	return list
}

// TestCommandsAreRun looks for commands in documents that CI does not run, and that do not say why. Those marked sh and
// console are run by e2e/documents.TestCommands.
func TestCommandsAreRun(t *testing.T) {
	tests, blocks := testFuncs(t), 0
	known := func(name string) bool {
		if strings.HasPrefix(name, "Test") {
			return tests[name] != nil
		}
		found, err := filepath.Glob("../testdata/script/*/" + name)
		more, _ := filepath.Glob("../testdata/script/" + name)
		return err == nil && len(found)+len(more) > 0
	}
	list := documents(t)
	example, err := os.ReadFile("../examples/README.md")
	if err != nil {
		t.Fatal(err)
	}
	list["examples/README.md"] = string(example)
	for file, text := range list {
		blocks += len(block.FindAllString(text, -1))
		for _, wrong := range unproven(text, file == "README.md" || strings.HasPrefix(file, "docs/"), known) {
			t.Errorf("%s: %s", file, wrong)
		}
	}
	if blocks < 150 {
		t.Errorf("%d blocks found, want more", blocks)
	}
}

// TestUnproven takes blocks that nobody runs.
func TestUnproven(t *testing.T) {
	fences := func(mark, text string) string { return "a\n```" + mark + "\n" + text + "\n```\n" }
	known := func(name string) bool { return name == "TestA" || name == "a.txtar" }
	for _, tt := range []struct {
		mark, text string
		read       bool
		wrong      int
	}{
		{"", "stemma report", true, 1},
		{"", "# a comment\nGOFLAGS=x go build .", true, 1},
		{"", "$ stemma report\nx", true, 1},
		{"", "record a.stemma · sealed just now", true, 0},
		{"text", "stemma report [flags]", true, 0},
		{"bash", "ls", true, 1},
		{"sh", "ls", true, 0},
		{"sh", "ls", false, 1},
		{"console", "ls", true, 1},
		{"sh unrun", "ls", true, 1},
		{"sh unrun: why", "ls", true, 1},
		{"sh unrun: needs a network", "ls", false, 0},
		{"sh unrun: needs time; TestA runs it, and a.txtar", "ls", true, 0},
		{"sh unrun: needs time; TestB runs it", "ls", true, 1},
		{"console unrun: needs time; b.txtar runs it", "$ ls", true, 1},
		{"go", "go func() {}()", true, 0},
	} {
		text := fences("go", "x") + fences(tt.mark, tt.text) + "b\n"
		if have := unproven(text, tt.read, known); len(have) != tt.wrong {
			t.Errorf("%q, %q, read: %t: have %q, want %d", tt.mark, tt.text, tt.read, have, tt.wrong)
		}
	}
}
