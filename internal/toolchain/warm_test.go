package toolchain

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

func TestProgramName(t *testing.T) {
	for path, want := range map[string]string{
		"example.org/srv": "srv", "example.org/srv/v2": "srv", "example.org/srv/v1": "v1",
		"example.org/srv/v10": "srv", "v2": "v2", "srv": "srv",
	} {
		if have := programName(path); have != want {
			t.Errorf("%s: have %s, want %s", path, have, want)
		}
	}
}

// The code of pcce is that of dacce, so that packages are compiled once for both.
func TestWarmOptions(t *testing.T) {
	static, dacce := DefaultOptions, DefaultOptions
	static.Engine, dacce.Engine = "pcce", "dacce"
	if have, want := static.ForCompiler(), dacce.ForCompiler(); have != want {
		t.Errorf("compiler: have %s, want %s", have, want)
	}
	if have := static.ForRuntime(); !strings.Contains(have, fmt.Sprint(",flags=", layout.HdrFlagStatic)) ||
		!strings.Contains(have, ",warm=on") {
		t.Errorf("runtime: have %s", have)
	}
	if have := dacce.ForRuntime(); strings.Contains(have, "warm") {
		t.Errorf("runtime: have %s", have)
	}
	if dacce.Warm = WarmStatic; !strings.Contains(dacce.ForRuntime(), ",warm=on") {
		t.Errorf("runtime: have %s", dacce.ForRuntime())
	}
}

// A stemma that was built with an older Go knows less of the language than the sources may use.
func TestCheckReader(t *testing.T) {
	for _, tt := range []struct {
		engine, warm, goVersion, own string
		fails                        bool
	}{
		{"pcce", "", "go1.27.4", "go1.26.8", true},
		{"pcce", "", "go1.27rc1 X:nodwarf5", "go1.26.8", true},
		{"dacce", WarmStatic, "go1.27.4", "go1.26.8", true},
		{"dacce", "", "go1.27.4", "go1.26.8", false},
		{"dacce", "run.stemma", "go1.27.4", "go1.26.8", false},
		{"cct", "", "go1.27.4", "go1.26.8", false},
		{"pcce", "", "go1.26.11", "go1.26.8", false}, // the language is that of the minor release
		{"pcce", "", "go1.26.8", "go1.27.4", false},
		{"pcce", "", "go1.27.4", "devel go1.28-abcdef", false},
	} {
		o := DefaultOptions
		o.Engine, o.Warm = tt.engine, tt.warm
		err := o.checkReader(tt.goVersion, tt.own)
		if (err != nil) != tt.fails {
			t.Errorf("%+v: have error %v", tt, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "with go1.26.8 ") ||
			!strings.Contains(err.Error(), "(GOTOOLCHAIN=go1.27")) {
			t.Errorf("%+v: have error %v, want both releases in it", tt, err)
		}
	}
}

// A program is where go build puts it.
func TestExecutables(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/srv/v2\n\ngo 1.26\n", "main.go": "package main\n\nfunc main() {}\n",
		"cmd/other/main.go": "package main\n\nfunc main() {}\n", "lib/lib.go": "package lib\n", "bin/keep": "",
		"cgo/b.go": "package main\n\nimport \"C\"\n\nfunc main() {}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	b := &Build{Dir: dir, Go: new(Go)}
	for _, tt := range []struct{ out, pkgs, want string }{
		{"", ".", "srv"},
		{"", "main.go", "main"},
		{"", "./cmd/other", "other"},
		{"", "./...", ""}, // thrown away
		{"", ". ./lib", ""},
		{"", "./lib", ""},
		{"", "cgo/b.go", "b"},
		{"x", "./cmd/other", "x"},
		{"x", "./lib", ""},
		{"bin", "./...", "bin/cgo bin/other bin/srv"},
		{"new/", "./cmd/other", "new/other"},
		{os.DevNull, ".", ""},
	} {
		a := new(Args)
		if tt.out != "" {
			a.args = []arg{{"o", tt.out, []string{"-o", tt.out}}}
		}
		have, err := b.Executables(a, strings.Fields(tt.pkgs))
		slices.Sort(have)
		for i, name := range have {
			have[i], _ = filepath.Rel(dir, name)
		}
		if err != nil || strings.Join(have, " ") != tt.want {
			t.Errorf("-o %q %s: have %v, error %v, want %s", tt.out, tt.pkgs, have, err, tt.want)
		}
		again, err := (&Build{Dir: dir, Go: &Go{Flags: "-o=" + tt.out}}).Executables(new(Args), strings.Fields(tt.pkgs))
		if err != nil || len(again) != len(have) {
			t.Errorf("GOFLAGS=-o=%s %s: have %v, %v, want %v", tt.out, tt.pkgs, again, err, have)
		}
	}
}

// Where the call graph is made, in the directory of a package, files that the command line names are found as well.
func TestWarmBuildFlags(t *testing.T) {
	dir := t.TempDir()
	b := &Build{Dir: dir, Go: &Go{Flags: "-trimpath -mod=mod"}}
	for _, tt := range []struct {
		args    string
		want    string
		trimmed bool
	}{
		{"-tags=a -overlay=o.json -modfile /m.mod -pgo=p",
			"-tags=a -overlay=DIR/o.json -modfile=/m.mod -pgo=DIR/p", true},
		{"-pgo auto -trimpath=false", "-pgo auto", false},
		{"-trimpath=0 -trimpath -n -v -modfile=", "-modfile=", true},
	} {
		a, err := ParseArgs("build", strings.Fields(tt.args), ownFlags{})
		if err != nil {
			t.Fatal(err)
		}
		w := b.warmBuild(Options{}, a)
		have := strings.ReplaceAll(strings.Join(w.flags, " "), dir, "DIR")
		if have != tt.want || w.trimmed != tt.trimmed {
			t.Errorf("%s: have %s, trimmed %t; want %s, %t", tt.args, have, w.trimmed, tt.want, tt.trimmed)
		}
	}
	b.Go.Flags = ""
	if a, err := ParseArgs("build", []string{"-v"}, ownFlags{}); err != nil || b.warmBuild(Options{}, a).trimmed {
		t.Errorf("without -trimpath: trimmed, %v", err)
	}
}

// Nothing was built with -n.
func TestMakesWarm(t *testing.T) {
	o := DefaultOptions
	o.Engine = "pcce"
	for args, want := range map[string]bool{"-v": true, "-n": false, "-n=false": true, "-buildmode=plugin": false} {
		a, err := ParseArgs("build", []string{args}, ownFlags{})
		if err != nil || (&Build{Go: new(Go)}).MakesWarm(&o, a) != want {
			t.Errorf("%s: have %t, want %t, %v", args, !want, want, err)
		}
		if inEnv := (&Build{Go: &Go{Flags: args}}); inEnv.MakesWarm(&o, new(Args)) != want {
			t.Errorf("GOFLAGS=%s: have %t, want %t", args, !want, want)
		}
	}
}

func TestRunWarmUsage(t *testing.T) {
	for _, args := range []string{"", "static /go false x p.test", "static /go false 9 p.test",
		"static /go false 0 notabsolute.test"} {
		if err := RunWarm(strings.Fields(args)); err == nil || !strings.HasPrefix(err.Error(), "warmexec: ") {
			t.Errorf("%q: have error %v", args, err)
		}
	}
}
