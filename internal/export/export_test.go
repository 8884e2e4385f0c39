package export_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/export"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/level"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func shapes(t *testing.T) *profile.Profile {
	t.Helper()
	r, err := record.Open(recordtest.Shapes().FS())
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Merge(r.Profile)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func write(t *testing.T, format string) []byte {
	t.Helper()
	p := shapes(t)
	var b bytes.Buffer
	if err := export.Write(&b, format, p, cct.New(p)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGolden compares each format with testdata/shapes.FORMAT; pprof's as the
// text that its own library makes of it.
func TestGolden(t *testing.T) {
	for _, format := range export.Formats() {
		have := write(t, format)
		if format == "pprof" || format == "pgo" {
			p, err := pprof.ParseData(have)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.CheckValid(); err != nil {
				t.Error(err)
			}
			have = []byte(p.String())
		}
		path := filepath.Join("testdata", "shapes."+format)
		if *update {
			if err := os.WriteFile(path, have, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(have, want) {
			t.Errorf("%s differs; run with -update and look at the difference. have:\n%s", path, have)
		}
	}
}

// TestTotals checks that every format carries all calls.
func TestTotals(t *testing.T) {
	const want = 67
	p, err := pprof.ParseData(write(t, "pprof"))
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, s := range p.Sample {
		sum += s.Value[0]
	}
	if sum != want {
		t.Errorf("pprof: %d calls, want %d", sum, want)
	}
	var file struct{ Profiles []struct{ Weights []int64 } }
	if err := json.Unmarshal(write(t, "speedscope"), &file); err != nil {
		t.Fatal(err)
	}
	sum = 0
	for _, w := range file.Profiles[0].Weights {
		sum += w
	}
	if sum != want {
		t.Errorf("speedscope: %d calls, want %d", sum, want)
	}
	if !strings.Contains(string(write(t, "callgrind")), "\nsummary: 67\n") {
		t.Error("callgrind: the summary is not 67 calls")
	}
}

// TestPprofTool shows an inlined function in the ways of go tool pprof, with the program
// that was profiled at hand, and the whole name of what pprof could take for C++.
func TestPprofTool(t *testing.T) {
	level.NeedMore(t) // the go command compiles pprof
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	source, err := filepath.Abs("export.go")
	if err != nil {
		t.Fatal(err)
	}
	d := recordtest.New(1, exe)
	f := d.Func(recordtest.Func{Name: "main.outer", Line: 20, Files: []string{source},
		Inlined: []recordtest.Inlined{{Callee: "main.inlined", Line: 22, Counter: 2, CalleeFile: 1, CalleeLine: 30}}})
	n := d.Node(recordtest.Root, layout.RootMain, f)
	d.Count(0, n, 0, 5)
	d.Count(0, n, 1, 7)
	typed := d.Func(recordtest.Func{Name: "new(map[string]int)", Line: 1, Files: []string{source}})
	d.Count(0, d.Node(recordtest.Root, layout.RootMain, typed), 0, 3)
	p, err := record.Open(d.FS())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "p.pb.gz")
	var b bytes.Buffer
	if err := export.Write(&b, "pprof", p.Profile, cct.New(p.Profile)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	for view, want := range map[string]string{
		"-top":                  `(?s)File: export\.test.*7 .*7 .*main\.inlined \(inline\)`,
		"-traces":               `(?s)7 +main\.inlined \(inline\)\n +main\.outer`,
		"-top -trim=false":      `3 .*new\(map\[.*\]int\)\n`,
		"-list=main.inlined":    `(?s)main\.inlined in .*export\.go.*7 +7 .* 30:`,
		"-weblist=main.inlined": `(?s)main\.inlined.*export\.go.*<span class=line> *30</span>`,
	} {
		out := filepath.Join(dir, "out")
		args := slices.Concat([]string{"tool", "pprof"}, strings.Fields(view), []string{"-output=" + out, file})
		cmd := exec.Command("go", args...)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", view, err, said)
			continue
		}
		have, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if !regexp.MustCompile(want).Match(have) {
			t.Errorf("%s: nothing matches %s in\n%s", view, want, have)
		}
	}
}

func TestUnknownFormat(t *testing.T) {
	err := export.Write(new(bytes.Buffer), "dot", nil, nil)
	if err == nil || !strings.Contains(err.Error(), `"dot" (want callgrind, folded, pgo, pprof, speedscope)`) {
		t.Errorf("have error %v", err)
	}
}
