package recorded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/page"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// wantMetric is what the program prints of a context: metric, sum, functions.
var wantMetric = regexp.MustCompile(`(?m)^//want:metric (\S+) (\d+) (\S+)$`)

// sumsSaid returns the sums that a program printed, by metric and context, and sumsOf those of a profile.
func sumsSaid(t *testing.T, text string) map[string]uint64 {
	t.Helper()
	sums := make(map[string]uint64)
	for _, m := range wantMetric.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseUint(m[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sums[m[1]+" "+m[3]] += n
	}
	if len(sums) < 10 {
		t.Fatalf("the program printed %d sums:\n%s", len(sums), e2e.Tail(text))
	}
	return sums
}

func sumsOf(t *testing.T, p *profile.Profile) map[string]uint64 {
	t.Helper()
	sums := make(map[string]uint64)
	for _, metric := range []string{"written", "statements", "unused"} {
		tree, err := cct.Of(p, metric)
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range tree.Nodes {
			if n.Count == 0 {
				continue
			}
			path := metric + " "
			for _, f := range slices.Backward(tree.Stack(uint32(i))) {
				path += f.Func + ";"
			}
			sums[strings.TrimSuffix(path, ";")] += n.Count
		}
	}
	return sums
}

// checkSums compares the sums of a profile, and that it says how often a number was negative.
func checkSums(t *testing.T, p *profile.Profile, sums map[string]uint64, negative uint64) {
	t.Helper()
	have := sumsOf(t, p)
	for _, path := range slices.Sorted(maps.Keys(sums)) {
		if have[path] != sums[path] {
			t.Errorf("%s: %d, want %d", path, have[path], sums[path])
		}
		delete(have, path)
	}
	if len(have) > 0 {
		t.Errorf("more: %v", have)
	}
	want := profile.AddLoss(nil, profile.Loss{Kind: profile.LossNegative, Count: negative})
	if lost := p.Lost(); !slices.Equal(lost, want) {
		t.Errorf("lost %v, want %v", lost, want)
	}
}

// TestMetrics builds the module of a user, in a directory of its own, that adds to metrics of its own, in goroutines,
// deferred functions, through interfaces and function values, while the collector runs all the time. The sum of each
// context is what the program says, however it ends.
func TestMetrics(t *testing.T) {
	exe := e2e.BuildDir(t, filepath.Join("testdata", "metrics"))
	for _, procs := range []int{1, 4} {
		for _, end := range []string{"return", "panic", "kill"} {
			t.Run(fmt.Sprintf("procs=%d/%s", procs, end), func(t *testing.T) {
				env := []string{fmt.Sprint("GOMAXPROCS=", procs), "GOGC=1", "TURNS=1000", "END=" + end}
				out, dir := runShop(t, exe, end, env)
				r, err := record.Open(os.DirFS(dir))
				if err != nil {
					t.Fatal(err)
				}
				checkSums(t, r.Profile, sumsSaid(t, out), 1000)
			})
		}
	}
	t.Run("readers", func(t *testing.T) { checkReaders(t, exe) })
}

// runShop runs the program until it ends, or is ready to be killed. It returns what it printed, and its live directory.
func runShop(t *testing.T, exe, end string, env []string) (out, dir string) {
	t.Helper()
	if end != "kill" {
		r := e2e.Run(t, exe, env...)
		if failed := r.Err != nil; failed != (end == "panic") {
			t.Fatalf("%v\n%s", r.Err, e2e.Tail(r.Stderr))
		}
		return r.Stdout, r.Dir
	}
	records := t.TempDir()
	cmd := e2e.Command(t, records, exe, env...)
	out, _ = e2e.Ready(t, cmd)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	return out, e2e.LiveDir(records, cmd)
}

// checkReaders looks at what the commands say of records with metrics of the program's own: of one, of two processes
// together, and of what has grown.
func checkReaders(t *testing.T, exe string) {
	dir := t.TempDir()
	stemma := func(code int, args ...string) string {
		t.Helper()
		cmd := exec.Command(e2e.Tool(t), args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code {
			t.Fatalf("stemma %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	said := make(map[string]uint64) // of both
	for name, turns := range map[string]int{"few": 10, "many": 20} {
		out, live := runShop(t, exe, "return", []string{fmt.Sprint("TURNS=", turns)})
		stemma(0, "seal", "-o", name+".stemma", live)
		for path, n := range sumsSaid(t, out) {
			said[path] += n
		}
	}
	stemma(0, "seal", "-o", "both.stemma", "few.stemma", "many.stemma")
	f, err := os.Open(filepath.Join(dir, "both.stemma"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	both, err := profile.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	checkSums(t, both, said, 0)

	const sum = 4*10*9/2 + 4*20*19/2 // few and many
	for _, c := range []struct {
		code int
		args string
		want string
	}{
		{0, "report -metric=written both.stemma", `(?m)^940 bytes of written · 1 context · 1 function$`},
		{0, "report -metric=written both.stemma", `(?m)^ +940 100.00% .*  main.write$`},
		{0, "report -metric=written -contexts both.stemma", `(?m)^ +940 100.00%  main.write\n +main.work.func1 main.go:`},
		{0, "report -metric=written -tree both.stemma", `(?m)^ +940 .*main.write`},
		{0, "report -metric=statements -func=main.leaf both.stemma", `main.leaf`},
		{0, "report -metric=written -json both.stemma", `"metric": "written"`},
		{0, "report -metric=statements both.stemma", `(?m)^[0-9,]+ statements · `},
		{2, "report -metric=nothing both.stemma", `want calls, .*statements, written, unused`},
		{0, "info both.stemma", `(?m)^metrics +calls, statements, written \(bytes\), unused$`},
		{0, "diff -metric=written few.stemma many.stemma", `(?m)180 B +760 B .*main.write`},
		{3, "diff -fail-over written>0 few.stemma many.stemma", `written>0`},
		{0, "diff -fail-over written>580B few.stemma many.stemma", `written>580B`},
		{0, "baseline few.stemma", `(?m)^metric written bytes$`},
		{0, "similarity -metric=written few.stemma many.stemma", `.`},
	} {
		if out := stemma(c.code, strings.Fields(c.args)...); !regexp.MustCompile(c.want).MatchString(out) {
			t.Errorf("stemma %s: want %s:\n%s", c.args, c.want, e2e.Tail(out))
		}
	}

	stemma(0, "export", "-format=pprof", "-o", "both.pb.gz", "both.stemma")
	checkPprof(t, filepath.Join(dir, "both.pb.gz"), sum)
	checkPage(t, both, sum)
}

// checkPage asks the page for the functions that have written.
func checkPage(t *testing.T, p *profile.Profile, want uint64) {
	t.Helper()
	v, err := page.New(page.Options{Load: func() (*page.Data, error) {
		return &page.Data{Title: "shop", Record: &record.Record{Profile: p}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := v.Answer("functions", page.Args{"metric": {"written"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Unit string
		Rows []struct {
			Name string
			Self uint64
		}
	}
	if err := json.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	if a.Unit != "bytes" || len(a.Rows) == 0 || a.Rows[0].Name != "main.write" || a.Rows[0].Self != want {
		t.Errorf("the page has %s, want %d bytes of main.write", text, want)
	}
}

// checkPprof checks what a file of pprof says that main.write has written.
func checkPprof(t *testing.T, file string, want int64) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pp, err := pprof.Parse(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for k, v := range pp.SampleType {
		for _, s := range pp.Sample {
			if v.Type == "written" && v.Unit == "bytes" && s.Location[0].Line[0].Function.Name == "main.write" {
				total += s.Value[k]
			}
		}
	}
	if total != want {
		t.Errorf("pprof: main.write has written %d bytes, want %d", total, want)
	}
}
