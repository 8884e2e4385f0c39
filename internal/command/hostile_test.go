package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// What a profile may call a function, a file or anything else, to be more than a name.
const evil = "\x1b]0;x\a\r\n\",\\\u202e;\xff </script>"

// plainText fails the test if text has what moves a cursor or hides; lines may end.
func plainText(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			t.Errorf("%s: %q at offset %d", what, text[i:min(len(text), i+20)], i)
			return
		}
	}
}

// No command lets what a profile says do anything but stand there.
func TestHostileNames(t *testing.T) {
	text, err := os.ReadFile("../../profile/testdata/shapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	seal := func(name string, change func(p *profile.Profile)) string {
		p, err := profile.ParseText(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		change(p)
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	notes := func(p *profile.Profile) *profile.Process {
		p.Processes[0].Notes, p.Processes[0].Losses = []string{"a"}, []profile.Loss{{Kind: "b", Count: 1}}
		return &p.Processes[0]
	}
	good := seal("good.stemma", func(p *profile.Profile) { notes(p) })
	bad := seal("bad.stemma", func(p *profile.Profile) {
		for i, s := range p.Strings {
			if i > 0 {
				p.Strings[i] = strings.Replace(s, "main.", "main."+evil, 1)
			}
		}
		proc := notes(p)
		proc.Args = []string{"/bin/" + evil, evil}
		proc.GoVersion, proc.Engine, proc.Notes[0], proc.Losses[0].Kind = evil, evil, evil, evil
	})
	for _, args := range []string{"report", "report -contexts", "report -tree", "report -func=.", "report -json",
		"info",
		"export -format=folded", "export -format=callgrind", "export -format=speedscope", "similarity"} {
		run := func(file string) (string, string) {
			words := append(strings.Fields(args), file)
			if args == "similarity" {
				words = append(words, good)
			}
			out, errs, code := mainOf(t, "", words...)
			if code != 0 {
				t.Fatalf("%s: %s", args, errs)
			}
			return out, errs
		}
		want, _ := run(good)
		have, errs := run(bad)
		plainText(t, args, have+errs)
		if strings.Contains(args, "json") || strings.Contains(args, "speedscope") {
			if !json.Valid([]byte(have)) {
				t.Errorf("%s: no JSON", args)
			}
		} else if args != "similarity" && strings.Count(have, "\n") != strings.Count(want, "\n") {
			t.Errorf("%s: other lines than with good names:\n%s", args, have)
		}
		if args == "export -format=folded" {
			for line := range strings.Lines(have) {
				if strings.Count(line, ";") > 12 || !regexp.MustCompile(`^\[.* \d+\n$`).MatchString(line) {
					t.Errorf("folded: %q", line)
				}
			}
		}
	}
}

// Decoded logs stay what they were: lines of JSON, or of keys and values.
func TestHostileLogs(t *testing.T) {
	_, path, id, _ := recordtest.ShopOf(t, "main."+evil, "/src/"+evil+`".go`)
	forms(t, path, func(t *testing.T, path string) {
		for _, format := range []string{"line", "short"} {
			log := `{"msg":"paid","ctx":"` + id + `","n":1}` + "\n" +
				`msg=paid ctx=` + id + " n=1\n" +
				`msg="paid \"at\" ` + id + `" n=1` + "\n" +
				"paid at " + id + "\n"
			out, errs, code := mainOf(t, log, "decode", "-format="+format, path)
			lines := strings.Split(out, "\n")
			if code != 0 || len(lines) != 5 {
				t.Fatalf("%d lines: %s%s", len(lines)-1, out, errs)
			}
			plainText(t, "log", out)
			var line struct {
				Ctx string
				N   int
			}
			if err := json.Unmarshal([]byte(lines[0]), &line); err != nil || line.N != 1 ||
				!strings.Contains(line.Ctx, `main.\x1b]0;x`) {
				t.Errorf("%v: %s", err, lines[0])
			}
			pair := `[a-z]+=(?:[^ "=]+|"(?:[^"\\]|\\["\\])*")`
			for _, l := range lines[1:3] {
				if !regexp.MustCompile(`^` + pair + `(?: ` + pair + `)+$`).MatchString(l) {
					t.Errorf("no keys and values: %s", l)
				}
			}
		}
	})
}
