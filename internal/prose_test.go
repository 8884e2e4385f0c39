package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A tell is a phrase that shows that a text was not written to be read, with what to write instead.
type tell struct {
	phrase  *regexp.Regexp
	except  *regexp.Regexp // what is fine, with the word before it
	instead string
}

var (
	quantified = regexp.MustCompile(`(?i)^(all|any|both|each|few|first|half|last|many|most|none|one|second|some|two)\b`)
	moment     = regexp.MustCompile(`(?i)^(and|before|by|even|just|only|since|until)\b`)
)

// tells has only phrases that no good sentence needs: what is right in some sentences is left to those who read them.
var tells = []tell{
	phrase(`tells? (whether|if)`, `"reports whether"`),
	phrase(`tells (what|when|where|which|who|why|how)`, `"is", "returns", "shows", or the verb of what it does`),
	phrase(`(say|says|said|saying) so`, `"reports it"`),
	phrase(`by (itself|themselves)`, `"alone", "on its own"`),
	phrase(`all the same`, `"anyway", "still"`),
	phrase(`in (the )?place of`, `"instead of"`),
	phrase(`some (\d+|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|forty|fifty)`, `"about"`),
	phrase(`many times (its|their)`, `"much more"`),
	phrase(`as far as (could|can) be`, `what was tried`),
	phrase(`what \w+( \w+){0,3} (does|do) not \w+ are`, `a subject before what is said of it`),
	phrase(`which no (\w+ )+may meet`, `what happens if it does`),
	phrase(`on a quiet day`, `the method, in bench/METHOD.md`),
	phrase(`where the loop itself`, `one figure`),
	phrase(`called most`, `"most-called"`),
	phrase(`below which most`, `"that lead to most of"`),
	phrase(`(has|have) left (its|their) \w+ some time ago`, `"left its cell some time ago"`),
	phrase(`it is for engine`, `"this needs -engine=…"`),
	{regexp.MustCompile(`(?i)(\w+[,;]?\s+)?\bof (which|whom)\b`), quantified, `"whose", or a sentence of its own`},
	{regexp.MustCompile("(?i)\\btoo([.,;:)\"'`\\\\]|\\s*$)"), nil, `"also" before the verb, or "as well"`},
	{regexp.MustCompile(`(?i)(\w+\s+)?\bthen[.;)]`), moment, `"then" at the beginning`},
	{regexp.MustCompile(`(?m)^#+ Ask$`), nil, `what the section does, such as "Query the record"`},
}

// phrase returns a tell of some words, which may be on two lines.
func phrase(words, instead string) tell {
	return tell{regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(words, " ", `\s+`) + `\b`), nil, instead}
}

// told returns the tells in a text, each with its line, the first being line 1.
func told(text string) (list []found) {
	for _, p := range tells {
		for _, at := range p.phrase.FindAllStringIndex(text, -1) {
			if have := text[at[0]:at[1]]; p.except == nil || !p.except.MatchString(have) {
				list = append(list, found{1 + strings.Count(text[:at[1]], "\n"), have, p.instead})
			}
		}
	}
	return list
}

type found struct {
	line          int
	text, instead string
}

// TestProse looks for tells in what people read: documents, and what programs print.
func TestProse(t *testing.T) {
	report := func(file string, first int, text string) {
		for _, f := range told(text) {
			t.Errorf("%s:%d: %q; write %s", file, first+f.line-1, f.text, f.instead)
		}
	}
	for file, text := range documents(t) {
		if file == "bench/RESULTS.md" || file == "bench/PAPERS.md" {
			continue // tables, with notes of the day on which they were made
		}
		// Code keeps its lines, so that those of the text do not move.
		report(file, 1, fenced.ReplaceAllStringFunc(text, func(code string) string {
			return strings.Repeat("\n", strings.Count(code, "\n"))
		}))
	}
	texts := 0
	eachSource(t, func(file string, src []byte) {
		if strings.HasSuffix(file, ".js") {
			report(file, 1, string(src))
			return
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range f.Comments {
			report(file, fset.Position(c.Pos()).Line, commentLines(c))
		}
		if strings.HasSuffix(file, "_test.go") {
			return // messages of tests, and what they compare with
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
				texts++
				report(file, fset.Position(s.Pos()).Line, s.Value)
			}
			return true
		})
	})
	if texts < 1000 {
		t.Errorf("%d strings found, want more", texts)
	}
}

// eachSource visits the sources of this module and of bench: Go, and the scripts of pages.
func eachSource(t *testing.T, visit func(file string, src []byte)) {
	t.Helper()
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == ".git"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, ".js"):
			return nil
		}
		src, err := os.ReadFile(file)
		if err == nil {
			visit(filepath.ToSlash(file)[len("../"):], src)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// commentLines returns the text of a comment, with its line breaks.
func commentLines(c *ast.CommentGroup) string {
	var lines []string
	for _, part := range c.List {
		lines = append(lines, strings.TrimPrefix(part.Text, "//"))
	}
	return strings.Join(lines, "\n")
}

// TestTells has sentences with tells, and what they become.
func TestTells(t *testing.T) {
	for _, test := range []struct {
		text string
		want int
	}{
		{"Full tells whether recursion was recorded.", 1},
		{"Full tells\nwhether recursion was recorded.", 1},
		{"Full reports whether recursion was recorded.", 0},
		{"It says so, by itself, all the same.", 3},
		{"It reports it alone, anyway.", 0},
		{"two CPUs, of which some five are used, too.", 3},
		{"about five CPUs, which are used as well", 0},
		{"It exits too early, and then for some time.", 0},
		{"The file is written then.", 1},
		{"Then the file is written, as it was until then.", 0},
		{"goroutines, each of which starts the next, and a list whose last entry is zero", 0},
		{"In the place of a call; in place of calls.", 2},
		{"# Count\n\n## Ask\n\n## Ask again\n", 1},
		{"It is for engine cct.", 1},
		{"This needs `-engine=cct`.", 0},
	} {
		if have := told(test.text); len(have) != test.want {
			t.Errorf("%q: %d tells, want %d: %v", test.text, len(have), test.want, have)
		}
	}
}

// TestWordings has sentences as they were written here once. Each has a tell.
func TestWordings(t *testing.T) {
	for _, text := range []string{
		"What every call does not find are calls that the wrapper of a method has inlined.",
		"It is right, as far as could be tried.",
		"Two more of runtime, which no stop of the world may meet, are left out.",
		"A program took twice as long as on a quiet day.",
		"0.1 to 1.1 ns more, where the loop itself takes 3.5 ns as others use the machine",
		"This tells what is noise.",
		"The functions that are called most come first; then the call paths below which most calls are.",
		"A preempted goroutine has left its cell some time ago; then its innermost frame's node is looked up.",
		"They are left out, as they take many times their time.",
	} {
		if len(told(text)) == 0 {
			t.Errorf("no tell in %q", text)
		}
	}
}
