package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

func TestPlural(t *testing.T) {
	for _, test := range []struct{ have, want string }{
		{plural(0, "context"), "0 contexts"},
		{plural(1, "context"), "1 context"},
		{plural(uint64(1234567), "context"), "1,234,567 contexts"},
		{plural(1, "entry", "entries"), "1 entry"},
		{plural(2, "entry", "entries"), "2 entries"},
		{noun(1, "was", "were") + noun(0, "was", "were"), "waswere"},
	} {
		if test.have != test.want {
			t.Errorf("have %q, want %q", test.have, test.want)
		}
	}
}

// counted is a number in front of a noun in the plural, in a format string.
var counted = regexp.MustCompile(`%[dsv] (?:more |other )?([a-z]+s)\b`)

// TestNoFixedPlurals looks at all format strings of the package: a noun behind a number
// comes from plural, or there will be "1 contexts".
func TestNoFixedPlurals(t *testing.T) {
	others := map[string]bool{"is": true, "was": true, "has": true, "does": true, "needs": true, "ids": true}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
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
}

// TestPlaceholders looks at the value that help shows for each flag: a word in capitals, or
// all that the flag takes.
func TestPlaceholders(t *testing.T) {
	good := regexp.MustCompile(`^(|[A-Z]+|[a-z-]+(\|[a-z-]+)+)$`)
	for _, c := range commands() {
		var out bytes.Buffer
		commandHelp(&out, c)
		_, flags, _ := strings.Cut(out.String(), "\nflags:\n")
		for line := range strings.Lines(flags) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if only := name == "-record" && value == "calls"; strings.HasPrefix(line, "  -") && !only && !good.MatchString(value) {
				t.Errorf("stemma help %s: %s %s: want NAME or this|that", c.name, name, value)
			}
		}
	}
}

// TestHeadings prints a tree of times: its columns are not calls.
func TestHeadings(t *testing.T) {
	tree := &cct.Tree{
		Type:  profile.CPU,
		Funcs: []cct.Func{{Name: "[root]", Pseudo: true}, {Name: "main.main"}},
		Sites: make([]cct.Site, 1),
		Nodes: []cct.Node{{}, {Func: 1, Count: 1_500_000}},
	}
	var out bytes.Buffer
	r := &reporter{w: &out, t: tree, o: &reportOptions{top: -1, depth: -1, min: 1}, totals: tree.Totals()}
	r.tree()
	r.contexts()
	if err := r.groups(); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, "calls") || strings.Count(s, " cpu ") != 3 || !strings.Contains(s, "less than 1% of the time on CPU are left out") {
		t.Error(s)
	}
}

// logfmtLine is a line of slog's text handler.
var logfmtLine = regexp.MustCompile(`^(?:[^\s"=]+=(?:"(?:[^"\\]|\\.)*"|[^\s"=]*)(?: |$))+$`)

// TestLogsStayLogs decodes what slog's handlers write, whole and byte by byte: text
// lines stay lines of keys and values, and JSON stays JSON.
func TestLogsStayLogs(t *testing.T) {
	_, path, id, _ := shop(t)
	set, err := openContexts(path)
	if err != nil {
		t.Fatal(err)
	}
	var text, js bytes.Buffer
	for _, log := range []*slog.Logger{slog.New(slog.NewTextHandler(&text, nil)), slog.New(slog.NewJSONHandler(&js, nil))} {
		for _, msg := range []string{"plain", "ctx=" + id, `a "ctx=` + id + `" b\`, `\" ctx=` + id + ` \\`, id, "x=" + id + "y"} {
			log.Info(msg, "ctx", id, "other", `say "`+id+`"`, "last", id)
		}
	}
	for name, one := range map[string]bool{"whole": false, "bytes": true} {
		decoded := func(log []byte) string {
			var out bytes.Buffer
			r := newReplacer(&out, set, formatLine)
			in := bytes.NewReader(log)
			if one {
				err = r.copy(iotest.OneByteReader(in))
			} else {
				err = r.copy(in)
			}
			if err != nil || strings.Contains(out.String(), id) || !strings.Contains(out.String(), "main.pay") {
				t.Fatalf("%s: %v\n%s", name, err, out.String())
			}
			return out.String()
		}
		for line := range strings.Lines(decoded(text.Bytes())) {
			if !logfmtLine.MatchString(strings.TrimSuffix(line, "\n")) || !strings.Contains(line, fmt.Sprintf(" last=%q\n", shopLine)) {
				t.Errorf("%s: %s", name, line)
			}
		}
		for line := range strings.Lines(decoded(js.Bytes())) {
			var v struct{ Ctx, Last string }
			if err := json.Unmarshal([]byte(line), &v); err != nil || v.Ctx != shopLine || v.Last != shopLine {
				t.Errorf("%s: %v: %s", name, err, line)
			}
		}
	}
}
