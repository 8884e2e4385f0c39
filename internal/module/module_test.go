package module

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// TestParse reads a file with each form of each definition.
func TestParse(t *testing.T) {
	m, err := Parse("dir/io.module", []byte(`# a comment
metric written bytes   // behind a definition

	add result 0 of (*os.File).Write , os.(*File).WriteString
add	len(arg p)  of  example.com/gopkg.in/yaml%2ev3.(*Decoder[...]).Decode
metric calls_of kinds
count example.com/a//b.F
count (main.T).String, main.T.Get*, lib.Map[...]
add len ( result n ) of main.(**).f
add arg 12 of main.x
`))
	if err != nil {
		t.Fatal(err)
	}
	if want := []Metric{{"written", "bytes"}, {"calls_of", "kinds"}}; !slices.Equal(m.Metrics, want) {
		t.Errorf("metrics %v, want %v", m.Metrics, want)
	}
	if have, want := m.Told(), "written:bytes+calls_of:kinds"; have != want {
		t.Errorf("the runtime is told %s, want %s", have, want)
	}
	want := []Rule{
		{4, 0, layout.ModuleResult, "0", "os.(*File).Write"},
		{4, 0, layout.ModuleResult, "0", "os.(*File).WriteString"},
		{5, 0, layout.ModuleLenArg, "p", "example.com/gopkg.in/yaml.v3.(*Decoder).Decode"},
		{7, 1, layout.ModuleCount, "-", "example.com/a//b.F"},
		{8, 1, layout.ModuleCount, "-", "main.T.String"},
		{8, 1, layout.ModuleCount, "-", "main.T.Get*"},
		{8, 1, layout.ModuleCount, "-", "lib.Map"},
		{9, 1, layout.ModuleLenResult, "n", "main.(**).f"},
		{10, 1, layout.ModuleArg, "12", "main.x"},
	}
	if !slices.Equal(m.Rules, want) {
		t.Errorf("rules\n%v\nwant\n%v", m.Rules, want)
	}
	text, err := base64.RawURLEncoding.DecodeString(m.Encode())
	if lines := strings.Split(string(text), "\n"); err != nil || len(lines) != 10 || lines[0] != "io.module" ||
		lines[3] != "5 0 len-arg p example.com/gopkg.in/yaml.v3.(*Decoder).Decode" {
		t.Errorf("the compiler is told %q, %v", lines, err)
	}
	var none Module
	if none.Encode() != "" || none.Told() != "" {
		t.Error("no module is told")
	}
}

// TestParseErrors reads files that say nothing that can be done. Each error has the file, the line if it is of one, and
// what to do.
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "f: no metric; begin with",
		"\x00\x01":                          "f: not a text",
		strings.Repeat("#", maxSize+1):      "f: 32769 bytes;",
		"metric a b":                        "f: nothing adds to metric a; write",
		"\ncount main.f":                    "f:2: no metric to add to; write",
		"metric a":                          "f:1: metric a: want its name and its unit",
		"metric a b c":                      "f:1: metric a b c: want",
		"metric a-b c":                      `f:1: metric a-b: "a-b" is no name; a name has`,
		"metric a b+":                       `f:1: metric a: "b+" is no unit; a unit has`,
		"metric calls n":                    "f:1: metric calls: stemma has this name itself; choose",
		"metric a b\ncount m.f\nmetric a b": "f:3: metric a is there twice;",
		"metric a b\ntotal m.f":             "f:2: total: no such definition (have",
		"metric a b\ncount":                 "f:2: no function; write",
		"metric a b\ncount m.f,,m.g":        "f:2: no function between",
		"metric a b\ncount f":               "f:2: f: not a function; write",
		"metric a b\ncount m.F[int]":        "f:2: m.F[int]: a rule is of all instances",
		"metric a b\ncount m.f[, m.g":       "f:2: m.f[, m.g: a rule is of all instances",
		"metric a b\ncount m.f()":           "f:2: m.f(): not a function;",
		"metric a b\ncount m.f m.g":         "f:2: m.f m.g: not a function;",
		"metric a b\ncount m.(T).f":         "f:2: m.(T).f: not a function;",
		"metric a b\ncount runtime.GC":      "f:2: runtime.GC: a function of the runtime",
		"metric a b\nadd m.f":               "f:2: add m.f: no function;",
		"metric a b\nadd result of m.f":     "f:2: add result: no such value (have",
		"metric a b\nadd result0 of m.f":    "f:2: add result0: no such value",
		"metric a b\nadd len(arg 0 of m.f":  "f:2: add len(arg 0: no such value",
		"metric a b\nadd arg 0) of m.f":     "f:2: add arg 0): no such value",
		"metric a b\nadd cap(arg 0) of m.f": "f:2: add cap(arg 0): no such value",
		"metric a b\nadd arg -1 of m.f":     "f:2: add arg -1: no such value",
	} {
		if _, err := Parse("f", []byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text[:min(len(text), 50)], err, want)
		}
	}
	many := ""
	for i := range layout.MaxMetrics + 1 {
		many += "metric m" + strings.Repeat("x", i%60) + strings.Repeat("y", i/60) + " n\ncount m.f\n"
	}
	if _, err := Parse("f", []byte(many)); err == nil || !strings.Contains(err.Error(), "one too many; a program may") {
		t.Errorf("too many metrics: %v", err)
	}
}

// TestMatch compares names with patterns, and patterns with the packages that can have what they match.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, pkg, name string
		match, may, exact  bool
	}{
		{"os.(*File).Write", "os", "os.(*File).Write", true, true, true},
		{"os.(*File).Write", "os", "os.(*File).WriteString", false, true, true},
		{"os.(*File).Write*", "os", "os.(*File).WriteString", true, true, false},
		{"os.(**).Write", "os", "os.(*File).Write", true, true, false},
		{"os.(**).Write", "os", "os.File.Write", false, true, false},
		{"os.*", "os", "os.Open", true, true, false},
		{"os.*", "os", "os.File.Write", false, true, false},
		{"os.*", "os", "os.(*File).Write", false, true, false},
		{"*.Open", "os", "os.Open", true, true, false},
		{"*.Open", "a/os", "a/os.Open", false, true, false},
		{"a/*.Open", "a/os", "a/os.Open", true, true, false},
		{"a/*.Open", "a/os/b", "a/os/b.Open", false, true, false},
		{"a/b*c.Open", "a/bc", "a/bc.Open", true, true, false},
		{"a/b*c.Open", "a/c", "a/c.Open", false, false, false},
		{"a/b.Open", "a", "a.Open", false, false, true},
		{"a/b.Open", "a/b/c", "a/b/c.Open", false, false, true},
		{"main.f**g", "main", "main.fg", true, true, false},
		{"main.f*", "main", "main.f.func1", false, true, false},
		{"gopkg.in/yaml.v3.F", "gopkg.in/yaml.v3", "gopkg.in/yaml.v3.F", true, true, true},
	} {
		r := Rule{Pattern: c.pattern}
		if layout.MatchFunc(c.pattern, c.name) != c.match || r.MayMatch(c.pkg) != c.may || r.IsExact() != c.exact {
			t.Errorf("%s with %s of package %s: %v, %v, exact %v, want %v, %v, %v", c.pattern, c.name, c.pkg,
				layout.MatchFunc(c.pattern, c.name), r.MayMatch(c.pkg), r.IsExact(), c.match, c.may, c.exact)
		}
	}
}
