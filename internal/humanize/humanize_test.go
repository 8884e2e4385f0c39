package humanize

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"report", "replay", "run", "decode"}
	for have, want := range map[string]string{
		"reprot": "report", "repotr": "report", "replya": "replay", "decod": "decode", "rnu": "run", "runn": "run",
		"report": "", "x": "", "": "", "nothing": "", "ru": "",
	} {
		if got := Nearest(have, names); got != want {
			t.Errorf("%q: have %q, want %q", have, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for _, test := range []struct{ have, want string }{
		{Plural(0, "context"), "0 contexts"},
		{Plural(1, "context"), "1 context"},
		{Plural(uint64(1234567), "context"), "1,234,567 contexts"},
		{Plural(1, "entry", "entries"), "1 entry"},
		{Plural(2, "entry", "entries"), "2 entries"},
		{Noun(1, "was", "were") + Noun(0, "was", "were"), "waswere"},
	} {
		if test.have != test.want {
			t.Errorf("have %q, want %q", test.have, test.want)
		}
	}
}

// counted is a number in front of a noun in the plural, in a format string.
var counted = regexp.MustCompile(`%[dsv] (?:more |other )?([a-z]+s)\b`)

// TestNoFixedPlurals looks at all format strings of the packages that print for people, which
// import this one: a noun behind a number comes from Plural, or there will be "1 contexts".
func TestNoFixedPlurals(t *testing.T) {
	others := map[string]bool{"is": true, "was": true, "has": true, "does": true, "needs": true, "matches": true,
		"ids": true}
	files, err := filepath.Glob("../*/*.go")
	deeper, err2 := filepath.Glob("../*/*/*.go")
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	files = append(files, deeper...)
	looked := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(f.Imports,
			func(i *ast.ImportSpec) bool { return strings.HasSuffix(i.Path.Value, `/internal/humanize"`) }) {
			continue
		}
		looked++
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, _ := strconv.Unquote(lit.Value)
				for _, m := range counted.FindAllStringSubmatch(s, -1) {
					if !others[m[1]] {
						t.Errorf("%v: %q: use plural for %q", fset.Position(lit.Pos()), s, m[0])
					}
				}
			}
			return true
		})
	}
	if looked < 20 {
		t.Errorf("%d files import package humanize, want more", looked)
	}
}
