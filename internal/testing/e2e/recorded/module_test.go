package recorded

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// wantSum is what the program prints of a metric.
var wantSum = regexp.MustCompile(`(?m)^//want:sum (\S+) (\d+)$`)

// TestModule builds a user's program, in a directory of its own, with a file of definitions: what functions add that
// know nothing of it is what the program says, however they are called, and however they end.
func TestModule(t *testing.T) {
	e2e.NeedFull(t)
	dir := filepath.Join("testdata", "module")
	file, err := filepath.Abs(filepath.Join(dir, "worker.module"))
	if err != nil {
		t.Fatal(err)
	}
	exe := e2e.BuildDir(t, dir, "-module="+file)
	checkOthers(t, e2e.BuildDir(t, dir), exe)
	plain := e2e.BuildDir(t, dir, "-module="+file, "-gcflags=-N") // all deferred calls are made by the runtime
	for _, run := range []struct {
		name, exe string
		procs     int
	}{{"procs=1", exe, 1}, {"procs=4", exe, 4}, {"N", plain, 2}} {
		t.Run(run.name, func(t *testing.T) {
			r := e2e.Run(t, run.exe, fmt.Sprint("GOMAXPROCS=", run.procs))
			if r.Err != nil {
				t.Fatalf("%v\n%s", r.Err, e2e.Tail(r.Stderr))
			}
			sums := wantSum.FindAllStringSubmatch(r.Stdout, -1)
			if len(sums) < 20 {
				t.Fatalf("the program printed %d sums:\n%s", len(sums), e2e.Tail(r.Stdout))
			}
			sums = append(sums, []string{"", "bytes_written", fmt.Sprint(len(r.Stdout) + len(r.Stderr))},
				[]string{"", "downs", "0"}, []string{"", "unused", "0"})
			rec, err := record.Open(os.DirFS(r.Dir))
			if err != nil {
				t.Fatal(err)
			}
			checkModuleSums(t, rec.Profile, sums)
			checkModuleReaders(t, r.Dir, rec.Profile)
		})
	}
}

// namedByModule matches functions of packages with functions that the file names, and whatever is inlined there.
var namedByModule = regexp.MustCompile(`^(main|os)\.|worker/lib\.|stemma(Module|Add|Metric)`)

// checkOthers compares the size of each function that has nothing to do with the file, with and without it.
func checkOthers(t *testing.T, without, with string) {
	t.Helper()
	plain, compared := sizesOf(t, without), 0
	for name, size := range sizesOf(t, with) {
		if namedByModule.MatchString(name) {
			continue
		}
		if compared++; plain[name] != size {
			t.Errorf("%s: %d bytes, %d without the module", name, size, plain[name])
		}
	}
	if compared < 1000 {
		t.Errorf("%d functions compared, want more", compared)
	}
}

// sizesOf returns the size of each function of a program.
func sizesOf(t *testing.T, exe string) map[string]uint64 {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	sizes := make(map[string]uint64)
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			sizes[s.Name] += s.Size
		}
	}
	return sizes
}

// checkModuleSums compares the sums of a profile. One number was negative.
func checkModuleSums(t *testing.T, p *profile.Profile, sums [][]string) {
	t.Helper()
	for _, m := range sums {
		want, err := strconv.ParseUint(m[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if c := p.Column(m[1]); c == nil {
			t.Errorf("no metric %s", m[1])
		} else if have := p.Total(c.Metric); have != want {
			t.Errorf("%s: %d, want %d", m[1], have, want)
		}
	}
	lost := p.Lost()
	if len(lost) != 1 || lost[0].Kind != profile.LossNegative || lost[0].Count != 1 {
		t.Errorf("lost %v, want one negative number", lost)
	}
}

// checkModuleReaders looks at what the commands say of the record.
func checkModuleReaders(t *testing.T, live string, p *profile.Profile) {
	dir := t.TempDir()
	const written = 4 * 1000 * 999 / 2
	for _, c := range []struct {
		args string
		want string
	}{
		{"seal -o prog.stemma " + live, ``},
		{"report -metric=written prog.stemma", `(?m) main.write$`},
		{"report -metric=small_calls -contexts prog.stemma", `(?m)^ +4,000 .*  main.small\n +main.starts.func1 main.go:`},
		{"report -metric=padding -contexts prog.stemma", `(?m)^ +3 .*  main.text.size\n +main.methods main.go:`},
		{"report -metric=bytes_written -func=WriteString$ prog.stemma", `100 +called from io.WriteString`},
		{"info prog.stemma", `written \(bytes\)`},
		{"diff -metric=written prog.stemma prog.stemma", `.`},
		{"export -format=pprof -o prog.pb.gz prog.stemma", ``},
	} {
		cmd := exec.Command(e2e.Tool(t), strings.Fields(c.args)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil || !regexp.MustCompile(c.want).Match(out) {
			t.Errorf("stemma %s: %v, want %s:\n%s", c.args, err, c.want, e2e.Tail(string(out)))
		}
	}
	checkPprof(t, filepath.Join(dir, "prog.pb.gz"), written)
	checkPage(t, p, written)
}
