package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mentioned are tests as documents name them: `tree.TestRandom`, and with the command that runs
// them, `go test -run TestRepeat ./internal/testing/e2e/sampling`. Behind a slash is one of the test's cases.
var (
	mentioned = regexp.MustCompile("`([a-z][a-z0-9/]*)\\.((?:Test|Fuzz|Benchmark)[A-Za-z0-9]+)(?:/([^`]+))?`")
	commanded = regexp.MustCompile("-run ((?:Test|Fuzz)[A-Za-z0-9]+) (\\./[a-z0-9/]*|\\.)`")
)

// TestDocuments looks for the tests that documents name, which stand for what they say.
func TestDocuments(t *testing.T) {
	tests, total := testFuncs(t), 0
	for file, text := range documents(t) {
		found := 0
		check := func(dir, name string) {
			found++
			for _, have := range tests[name] {
				if have == dir || strings.HasSuffix(have, "/"+dir) {
					return
				}
			}
			t.Errorf("%s names %s in %s; it is in %q", file, name, dir, tests[name])
		}
		for _, m := range mentioned.FindAllStringSubmatch(text, -1) {
			if m[1] == "stemma" {
				m[1] = "."
			}
			check(m[1], m[2])
			if m[3] != "" && !hasCase(t, tests[m[2]], m[1], m[3]) {
				t.Errorf("%s names %s: no source of the test has that case", file, m[0])
			}
		}
		for _, m := range commanded.FindAllStringSubmatch(text, -1) {
			check(filepath.Clean(m[2]), m[1])
		}
		total += found
	}
	if total < 250 {
		t.Errorf("only %d tests found", total)
	}
}

// hasCase reports whether a file of a test's folder has the name of a case in quotes, with blanks or without.
func hasCase(t *testing.T, dirs []string, dir, name string) bool {
	for _, have := range dirs {
		if have != dir && !strings.HasSuffix(have, "/"+dir) {
			continue
		}
		files, err := filepath.Glob("../" + have + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(src), `"`+name+`"`) ||
				strings.Contains(string(src), `"`+strings.ReplaceAll(name, "_", " ")+`"`) {
				return true
			}
		}
	}
	return false
}

// testFuncs returns the directories in which there are tests of each name.
func testFuncs(t *testing.T) map[string][]string {
	list := make(map[string][]string)
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)[A-Za-z0-9]+)\(`)
	err := filepath.WalkDir("..", func(file string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel("..", filepath.Dir(file))
		for _, m := range declared.FindAllStringSubmatch(string(src), -1) {
			list[m[1]] = append(list[m[1]], filepath.ToSlash(dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// documents returns the texts of what people read, by names relative to the module.
func documents(t *testing.T) map[string]string {
	files, err := filepath.Glob("../docs/*/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("docs: %d files, %v", len(files), err)
	}
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
		"profile/FORMAT.md", "bench/RESULTS.md", "bench/METHOD.md", "bench/PAPERS.md"} {
		files = append(files, filepath.Join("..", name))
	}
	texts := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.ToSlash(file)[len("../"):]] = string(text)
	}
	return texts
}

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	word    = regexp.MustCompile(`[^\s|]*[\pL\pN][^\s|]*`)
	number  = regexp.MustCompile(`\d[\d.,]*`)
	link    = regexp.MustCompile(`\]\(([^)#:]*)(?:#([^)]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noSlug  = regexp.MustCompile(`[^\pL\pN -]`)
)

// maxInternals is how many bytes a page about a mechanism may have.
const maxInternals = 11 << 10

// TestDocumentSizes holds the README to what is read in five minutes, each page of docs to one question, and each page
// of internals to one mechanism.
func TestDocumentSizes(t *testing.T) {
	for file, text := range documents(t) {
		words, numbers := 700, -1
		switch {
		case file == "README.md":
			words, numbers = 900, 60
		case strings.HasPrefix(file, "docs/internals/"):
			if len(text) > maxInternals {
				t.Errorf("%s: %d bytes, want at most %d; is it about two mechanisms?", file, len(text), maxInternals)
			}
			continue
		case !strings.HasPrefix(file, "docs/"):
			continue
		}
		text = fenced.ReplaceAllString(text, "")
		if n := len(word.FindAllString(text, -1)); n > words {
			t.Errorf("%s: %d words outside of code, want at most %d; move what few need to a page in docs", file, n,
				words)
		}
		if n := len(number.FindAllString(text, -1)); numbers >= 0 && n > numbers {
			t.Errorf("%s: %d numbers outside of code, want at most %d; move figures to bench/RESULTS.md", file, n,
				numbers)
		}
	}
}

// TestDocumentLinks looks for the files and headings that documents link to.
func TestDocumentLinks(t *testing.T) {
	for file, text := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			target := filepath.Join("..", filepath.Dir(file), m[1])
			if m[1] == "" {
				target = filepath.Join("..", file)
			}
			dest, err := os.ReadFile(target)
			if info, statErr := os.Stat(target); statErr != nil {
				t.Errorf("%s: link to %s: %v", file, m[1], statErr)
			} else if m[2] != "" && (info.IsDir() || err != nil || !hasHeading(string(dest), m[2])) {
				t.Errorf("%s: link to %s#%s: no such heading", file, m[1], m[2])
			}
		}
	}
}

// hasHeading reports whether a heading has the anchor, as GitHub makes it.
func hasHeading(text, anchor string) bool {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		slug := strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		if slug == anchor {
			return true
		}
	}
	return false
}
