package toolchain

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// nativeCompiler stands for a compiler: what it makes has the build ID, the options and the sources in it. It logs
// each run.
const nativeCompiler = `#!/bin/sh
for a; do
	case $last in
	-o) out=$a ;;
	-buildid) id=$a ;;
	-asmhdr) hdr=$a ;;
	esac
	last=$a
done
{ echo 'go object'; echo "build id \"$id\""; echo "[$STEMMA_COMPILE]"; cat $last; echo "$id"; } >$out
if [ -n "$hdr" ]; then echo "header of $last" >$hdr; fi
echo "$STEMMA_COMPILE" >>$NATIVE_LOG
`

// A nativeBuild is one build in which the compiler is run for a package.
type nativeBuild struct {
	name    string
	options string   // of the compiler
	pkg     string   // "" for runtime
	source  string   // "" for "package x"
	content string   // hash of what is imported
	flags   string   // more of them
	env     []string // more of it
	chain   []string
	want    string // the options that the compiler gets, "" if it is not run
}

// TestNatives compiles packages for several builds: a native once for all with the same engine, unless something else
// is different.
func TestNatives(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	e := &Entry{filepath.Join(dir, "entry"), "entry"}
	if err := os.Mkdir(e.Dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := makeStore(e.Dir, []string{"internal/abi", "runtime"}); err != nil {
		t.Fatal(err)
	}
	write(t, e.Compiler(), nativeCompiler)
	for i, b := range []nativeBuild{
		{name: "first", options: "engine=a,x=1", want: "engine=a"},
		{name: "other options", options: "engine=a,x=2"},
		{name: "the same once more", options: "engine=a,x=1"},
		{name: "other engine", options: "engine=b,x=1", want: "engine=b"},
		{name: "other source", options: "engine=a,x=2", source: "package y", want: "engine=a"},
		{name: "other import", options: "engine=a,x=2", content: "other", want: "engine=a"},
		{name: "race", options: "engine=a,x=2", flags: "-race", want: "engine=a"},
		{name: "race again", options: "engine=a,x=3", flags: "-race"},
		{name: "how many at once", options: "engine=a,x=3", flags: "-c=4"},
		{name: "other level", options: "engine=a,x=2", env: []string{"GOAMD64=v3"}, want: "engine=a"},
		{name: "other cache", options: "engine=a,x=2", env: []string{"GOCACHE=/x"}},
		{name: "it prints", options: "engine=a,x=1", flags: "-m", want: "engine=a,x=1"},
		{name: "it prints again", options: "engine=a,x=1", flags: "-m", want: "engine=a,x=1"},
		{name: "other package", options: "engine=a,x=1", pkg: "internal/abi", want: "engine=a"},
		{name: "no native", options: "engine=a,x=1", pkg: "fmt", want: "engine=a,x=1"},
		{name: "no native again", options: "engine=a,x=1", pkg: "fmt", want: "engine=a,x=1"},
		{name: "user's tool", options: "engine=a,x=1", chain: []string{"/usr/bin/env"}, want: "engine=a,x=1"},
	} {
		_ = os.Remove(log)
		made := b.run(t, e, i, log)
		ran, _ := os.ReadFile(log)
		if have := strings.TrimSpace(string(ran)); have != b.want {
			t.Errorf("%s: the compiler was run with %q, want %q", b.name, have, b.want)
		}
		id := fmt.Sprintf("action%02d/action%02d", i, i)
		if n := strings.Count(made, id); n != 2 || strings.Count(made, "action") != 4 {
			t.Errorf("%s: have %q, want build ID %s in it", b.name, made, id)
		}
	}
}

// run runs the compiler as the go command does in a build, and returns what it made.
func (b nativeBuild) run(t *testing.T, e *Entry, i int, log string) string {
	t.Helper()
	work := filepath.Join(t.TempDir(), fmt.Sprint("b", i))
	src := filepath.Join(filepath.Dir(e.Dir), "x.go")
	imported := filepath.Join(work, "imported.a")
	write(t, src, firstOf(b.source, "package x"))
	write(t, imported, fmt.Sprintf("go object\nbuild id \"%d/%s\"\n", i, firstOf(b.content, "content")))
	write(t, filepath.Join(work, "importcfg"), "# import config\npackagefile a="+imported+"\n")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	native, _, _ := strings.Cut(b.options, ",")
	tl := &tool{entry: e, forCompile: b.options, forNative: native, chain: b.chain}
	args := append(tl.words(), "/go/compile", "-o", filepath.Join(work, "_pkg_.a"), "-trimpath", work+"=>",
		"-p", firstOf(b.pkg, "runtime"), "-std", "-buildid", fmt.Sprintf("action%02d/action%02d", i, i),
		"-importcfg", filepath.Join(work, "importcfg"), "-asmhdr", filepath.Join(work, "go_asm.h"))
	cmd := exec.Command(self, slices.Concat(args, strings.Fields(b.flags), []string{src})...)
	cmd.Env = slices.Concat(os.Environ(), []string{toolexecEnv + "=1", "NATIVE_LOG=" + log}, b.env)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", b.name, err, out)
	}
	made, err := os.ReadFile(filepath.Join(work, "_pkg_.a"))
	if err != nil {
		t.Fatal(err)
	}
	if hdr, err := os.ReadFile(filepath.Join(work, "go_asm.h")); string(hdr) != "header of "+src+"\n" {
		t.Errorf("%s: header %q, %v", b.name, hdr, err)
	}
	return string(made)
}

// write writes a file that can be run.
func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
}

// TestTrimNatives removes what was used longest ago, and what was left behind, but no lock.
func TestTrimNatives(t *testing.T) {
	store := t.TempDir()
	at := func(name string, ago time.Duration) {
		if err := os.Mkdir(filepath.Join(store, name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(store, name), time.Now(), time.Now().Add(-ago)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range maxNatives + 1 {
		at(fmt.Sprintf("%03d", i), time.Duration(i)*time.Second)
	}
	at("made"+tmpInfix+"1", 0)
	at("left"+tmpInfix+"1", 2*keepAlways)
	write(t, filepath.Join(store, "00.lock"), "")
	if err := trimNatives(store); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"000": true, fmt.Sprint(maxNatives - 2): true, fmt.Sprint(maxNatives): false,
		"made" + tmpInfix + "1": true, "left" + tmpInfix + "1": false, "00.lock": true,
	} {
		if _, err := os.Stat(filepath.Join(store, name)); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", name, err, want)
		}
	}
}
