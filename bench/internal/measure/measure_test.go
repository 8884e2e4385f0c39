package measure

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/bench/internal/program"
)

func TestParseVariant(t *testing.T) {
	v, err := ParseVariant(" cct  -inlined=off ")
	if err != nil {
		t.Fatal(err)
	}
	if v.Name != "cct -inlined=off" || !slices.Equal(v.Flags, []string{"-engine=cct", "-inlined=off"}) ||
		!v.Instrumented() {
		t.Errorf("got %+v", v)
	}
	if got := v.FileName(); got != "cct_-inlined=off" {
		t.Errorf("file name %q", got)
	}
	for _, s := range []string{"", "  ", "-inlined=off"} {
		if v, err := ParseVariant(s); err == nil {
			t.Errorf("%q is %+v, want an error", s, v)
		}
	}
	if Plain.Instrumented() || PlainAgain.Instrumented() {
		t.Error("plain builds count as instrumented")
	}
}

func TestParseRival(t *testing.T) {
	v, err := ParseVariant("race rounds=2")
	if err != nil || v.Instrumented() || v.Records() || v.Rounds != 2 || !slices.Equal(v.GoFlags, []string{"-race"}) {
		t.Errorf("got %+v, %v", v, err)
	}
	v, err = ParseVariant("sample -every=1ms rounds=3")
	if err != nil || v.Name != "sample -every=1ms" || v.Rounds != 3 || v.Engine() != "sample" {
		t.Errorf("got %+v, %v", v, err)
	}
	if v, err := ParseVariant("pcc"); err != nil || v.Records() || !v.Instrumented() {
		t.Errorf("got %+v, %v", v, err)
	}
	if v, err := ParseVariant("pcc rounds=3 few"); err != nil || v.Name != "pcc" || v.Rounds != 3 || !v.Few {
		t.Errorf("got %+v, %v", v, err)
	}
	if v, err := ParseVariant("race few"); err != nil || v.Name != "race" || v.Rounds != 1 || !v.Few {
		t.Errorf("got %+v, %v", v, err)
	}
	if _, err := ParseVariant("few"); err != nil {
		t.Error("an engine may be called few:", err)
	}
	if _, err := ParseVariant("cct rounds=0"); err == nil {
		t.Error("no error for 0 rounds")
	}
}

func TestParseReport(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Recorded
	}{
		{`{"processes":[{"engine":"cct"}], "totals":{"calls":12,"contexts":3,"functions":2,"truncated":1}, "functions":[]}`,
			Recorded{Engine: "cct", Calls: 12, Contexts: 3, Functions: 2, Truncated: 1}},
		{`{"processes":[{"engine":"sample"}], "metric":"cpu", "totals":{"calls":12,"contexts":3,"functions":2}}`,
			Recorded{Engine: "sample", Contexts: 3, Functions: 2}},
	} {
		if r, err := parseReport([]byte(c.in)); err != nil || r != c.want {
			t.Errorf("got %+v, %v, want %+v", r, err, c.want)
		}
	}
	r, err := parseReport([]byte(`{"processes":[{"engine":"dacce"}], "engine":{"Functions":7,"Pushes":1024,"MeanDepth":2.5,"ReencodeTime":3000,"Truncated":1}}`))
	if err != nil || r.Engine != "dacce" || r.Calls != 0 || r.Functions != 7 || r.Truncated != 1 {
		t.Fatalf("got %+v, %v", r, err)
	}
	if e := r.Encoding; e == nil || e.Pushes != 1024 || e.MeanDepth != 2.5 || e.ReencodeTime != 3000 {
		t.Errorf("encoding %+v", e)
	}
	for _, s := range []string{"", "{}", `{"totals":{"calls":0}}`, `{"totals":3}`} {
		if r, err := parseReport([]byte(s)); err == nil {
			t.Errorf("%q gives %+v, want an error", s, r)
		}
	}
}

func TestDiskUseOfSparseFile(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(1 << 30); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(make([]byte, 4096), 1<<20); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	n, err := DiskUse(dir)
	if err != nil {
		t.Fatal(err)
	}
	if n < 4096 || n > 1<<20 {
		t.Errorf("%d bytes on disk, want some thousands", n)
	}
}

func TestTail(t *testing.T) {
	got := tail([]byte(strings.Repeat("a\n", 20) + "last\n"))
	if strings.Count(got, "\n") != 8 || !strings.HasSuffix(got, "\n\tlast") {
		t.Errorf("got %q", got)
	}
}

func TestExcerpt(t *testing.T) {
	got := excerpt([]byte("fatal\nwhy\n"+strings.Repeat("a\n", 20)+"last\n"), 2, 1)
	if want := "\n\tfatal\n\twhy\n\t...\n\tlast"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := excerpt([]byte("one\ntwo"), 2, 1); got != "\n\tone\n\ttwo" {
		t.Errorf("got %q", got)
	}
}

func TestCommandTellsWhatWasPrinted(t *testing.T) {
	err := (&Command{Env: []string{"WHY=no reason"}, Args: []string{"sh", "-c", "echo $WHY; exit 3"}}).Run()
	if err == nil || !strings.Contains(err.Error(), "exit status 3\n\tno reason") {
		t.Errorf("got %v", err)
	}
}

// TestCompileOnce looks for ccache under the name of gcc, first in PATH.
func TestCompileOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CC", "")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	t.Setenv("PATH", dir)
	if env, err := compileOnce(); env != nil || err != nil {
		t.Errorf("without ccache: %q, %v", env, err)
	}
	ccache := filepath.Join(dir, "ccache")
	if err := os.WriteFile(ccache, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time the link is there
		env, err := compileOnce()
		if err != nil || len(env) == 0 {
			t.Fatalf("%q, %v", env, err)
		}
		first, rest, _ := strings.Cut(strings.TrimPrefix(env[0], "PATH="), string(filepath.ListSeparator))
		if to, err := os.Readlink(filepath.Join(first, "gcc")); to != ccache || rest != dir || err != nil {
			t.Errorf("%s: gcc is %q, %v", env[0], to, err)
		}
	}
	t.Setenv("CC", "clang")
	if env, err := compileOnce(); env != nil || err != nil {
		t.Errorf("with CC: %q, %v", env, err)
	}
}

// TestBuildAll builds each program once for the same flags, whatever environment its runs have, and says for each
// variant what went wrong.
func TestBuildAll(t *testing.T) {
	dir := t.TempDir()
	b := &Bench{Stemma: filepath.Join(dir, "stemma"), Work: dir}
	script := `#!/bin/sh
echo "$2" >>` + dir + `/log
case $2 in *bad) echo no such engine; exit 1;; esac
mkdir -p "$(dirname "$4")" && echo binary >"$4"
`
	if err := os.WriteFile(b.Stemma, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	variant := func(name, engine string, env ...string) Variant {
		return Variant{Name: name, Flags: []string{"-engine=" + engine}, Env: env}
	}
	p := &program.Program{Name: "prog", Dir: dir, Package: "."}
	list := []Variant{variant("a", "cct"), variant("b", "bad"), variant("c", "dacce")}
	bins, errs := b.BuildAll(p, list, func(string) {})
	if errs[0] != nil || errs[2] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), "no such engine") {
		t.Fatalf("errors %v", errs)
	}
	if bins[0].Path == bins[2].Path || bins[1] != nil || bins[0].Size != int64(len("binary\n")) {
		t.Errorf("binaries %+v", bins)
	}
	for _, v := range []Variant{variant("a", "cct", "X=1"), variant("c", "lucce")} {
		bin, err := b.Build(p, v)
		if err != nil || !slices.Equal(bin.Variant.Env, v.Env) {
			t.Errorf("have %+v, %v", bin, err)
		}
	}
	if _, err := b.Build(&program.Program{Name: "prog", Dir: dir, Package: "."}, list[0]); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	have := strings.Fields(string(log))
	slices.Sort(have)
	want := []string{"-engine=bad", "-engine=cct", "-engine=cct", "-engine=dacce", "-engine=lucce"}
	if !slices.Equal(have, want) { // cct for another program as well; lucce although it has a name that was there
		t.Errorf("built %v, want %v", have, want)
	}
}
