package toolchain

import (
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
)

// ownFlags stands for the flags of a stemma command: -engine takes a value,
// -verify does not.
type ownFlags map[string]string

func (f ownFlags) Has(name string) (takesValue, ok bool) {
	return name == "engine", name == "engine" || name == "verify"
}

func (f ownFlags) Set(name, value string) error {
	if value == "bad" {
		return errors.New("want something else")
	}
	f[name] = value
	return nil
}

func TestParseArgs(t *testing.T) {
	for _, tt := range []struct{ verb, args, words, rest, own string }{
		{"build", "", "", "", ""},
		{"build", "-race ./...", "-race", "./...", ""},
		{"build", "-o x -race p -engine=cct", "-o x -race", "p -engine=cct", ""},
		{"build", "-engine cct -o x p", "-o x", "p", "engine=cct"},
		{"build", "--engine=cct --tags=a,b p", "--tags=a,b", "p", "engine=cct"},
		{"build", "-tags -engine p", "-tags -engine", "p", ""},
		{"build", "-verify -ldflags=-s p", "-ldflags=-s", "p", "verify=true"},
		{"build", "-- -p", "", "-- -p", ""},
		{"run", "-tags a ./cmd -engine=x -o y", "-tags a", "./cmd -engine=x -o y", ""},
		{"run", "a.go b.go", "", "a.go b.go", ""},
		{"test", "./... -run X -engine=cct -v", "./... -run X -v", "", "engine=cct"},
		{"test", "-engine=cct p -test.run X -args -engine=y", "p -test.run X", "-args -engine=y", "engine=cct"},
		{"test", "p -- -engine=y", "p", "-- -engine=y", ""},
		{"test", "p -custom -engine=cct", "p -custom", "", "engine=cct"},
		{"test", "- p", "- p", "", ""},
	} {
		own := ownFlags{}
		a, err := ParseArgs(tt.verb, strings.Fields(tt.args), own)
		if err != nil {
			t.Errorf("%s %s: %v", tt.verb, tt.args, err)
			continue
		}
		var set []string
		for name, value := range own {
			set = append(set, name+"="+value)
		}
		for _, c := range []struct {
			what, want string
			have       []string
		}{{"words", tt.words, a.Words()}, {"rest", tt.rest, a.Rest()}, {"own flags", tt.own, set}} {
			if !slices.Equal(c.have, strings.Fields(c.want)) {
				t.Errorf("%s %s: have %s %q, want %q", tt.verb, tt.args, c.what, c.have, c.want)
			}
		}
	}
}

func TestParseArgsErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-o":          "flag needs an argument: -o",
		"-engine":     "flag needs an argument: -engine",
		"-engine=bad": `invalid value "bad" for flag -engine: want something else`,
	} {
		if _, err := ParseArgs("build", strings.Fields(args), ownFlags{}); err == nil || err.Error() != want {
			t.Errorf("%s: have error %v, want %s", args, err, want)
		}
	}
	for _, args := range []string{"-h", "-race --help p"} {
		if _, err := ParseArgs("build", strings.Fields(args), ownFlags{}); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("%s: have error %v, want flag.ErrHelp", args, err)
		}
	}
}

func TestArgsFlag(t *testing.T) {
	a, err := ParseArgs("test", strings.Fields("-o x -test.count=2 p -o=y -race"), ownFlags{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"o": "y", "count": "2", "race": "true"} {
		if have, ok := a.Flag(name); !ok || have != want {
			t.Errorf("-%s: have %q, %v, want %q", name, have, ok, want)
		}
	}
	if _, ok := a.Flag("v"); ok {
		t.Error("-v is there")
	}
	a.Remove("o")
	if have, want := strings.Join(a.Words(), " "), "-test.count=2 p -race"; have != want {
		t.Errorf("without -o: have %q, want %q", have, want)
	}
}

// The command line and GOFLAGS are checked alike, and the command line wins.
func TestArgsCheck(t *testing.T) {
	for _, tt := range []struct{ goflags, args, want string }{
		{"", "-race -trimpath -cover -mod=vendor -tags x -ldflags -s -buildmode=pie", ""},
		{"", "-buildmode=plugin", ""},
		{"", "-buildmode plugin -compiler=gc", ""},
		{"", "-msan", "-msan: "},
		{"-asan", "", "-asan: "},
		{"-asan", "-asan=false", ""},
		{"", "-linkshared", "-linkshared: "},
		{"", "-buildmode=c-shared", "-buildmode=c-shared: "},
		{"-buildmode=c-archive", "", "-buildmode=c-archive: "},
		{"-buildmode=c-archive", "-buildmode=exe", ""},
		{"", "-buildmode shared", "-buildmode=shared: "},
		{"", "-compiler=gccgo", "-compiler=gccgo: "},
		{"race", "", "GOFLAGS: not a flag"},
		{"'-ldflags=-s", "", "GOFLAGS: unterminated"},
		{"'-ldflags=-s -w' -race", "", ""},
	} {
		a, err := ParseArgs("build", strings.Fields(tt.args), ownFlags{})
		if err != nil {
			t.Fatal(err)
		}
		all, err := a.withGOFLAGS(tt.goflags)
		if err == nil {
			err = all.check()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("GOFLAGS=%s %s: have error %v, want %q", tt.goflags, tt.args, err, tt.want)
		}
	}
}

// TestCheckRace refuses all-new-edges with the race detector.
func TestCheckRace(t *testing.T) {
	for _, tt := range []struct {
		engine, weights, args string
		ok                    bool
	}{
		{"acct", "all-new-edges", "-race", false},
		{"cct+acct", "all-new-edges", "-race=T", false},
		{"acct", "all-new-edges", "-race -race=false", true},
		{"acct", "last-edge", "-race", true},
		{"cct", "all-new-edges", "-race", true},
	} {
		a, err := ParseArgs("build", strings.Fields(tt.args), ownFlags{})
		if err != nil {
			t.Fatal(err)
		}
		o := DefaultOptions
		o.Engine, o.Acct.Weights = tt.engine, tt.weights
		if err := o.checkRace(a); (err == nil) != tt.ok {
			t.Errorf("%+v: error %v", tt, err)
		}
	}
}

func TestQuoted(t *testing.T) {
	for _, words := range [][]string{
		{"a", "b"}, {"/a b/stemma", "toolexec"}, {"it's"}, {`say "x"`}, {""}, {"-x=1", "two words"},
	} {
		s, err := base.JoinQuoted(words)
		if err != nil {
			t.Errorf("%q: %v", words, err)
			continue
		}
		if have, err := base.SplitQuoted(s); err != nil || !slices.Equal(have, words) {
			t.Errorf("%q: became %s, and that %q (%v)", words, s, have, err)
		}
	}
	if _, err := base.JoinQuoted([]string{`it's "x"`}); err == nil {
		t.Error("a word with both quotes: no error")
	}
}
