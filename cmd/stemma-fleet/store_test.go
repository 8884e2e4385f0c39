package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/parquet"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink/sinktest"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestStore collects what programs have recorded, and reads it by the commands of stemma, which finds stemma-fleet in
// $PATH: as docs/guide/fleet.md has it.
func TestStore(t *testing.T) {
	tool := e2e.Tool(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, out, store, tables := t.TempDir(), t.TempDir(), "file://"+t.TempDir(), filepath.Join(t.TempDir(), "tables")
	if err := os.Symlink(self, filepath.Join(bin, "stemma-fleet")); err != nil {
		t.Fatal(err)
	}
	stemma := func(stdin string, args ...string) (stdout, stderr string, err error) {
		cmd := exec.Command(tool, args...)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), asFleet+"=1", "PATH="+bin, "STEMMA_OUT="+out, "XDG_CACHE_HOME="+out)
		var o, e strings.Builder
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &o, &e
		err = cmd.Run()
		return o.String(), e.String(), err
	}
	pyroscope := new(sinktest.Pyroscope)
	pyroscope.Start(t)
	counts := "pyroscope" + strings.TrimPrefix(pyroscope.URL, "http") + "?service=progress&from=1h"
	rotating(t, out, 2, 5000)()
	ids := e2e.RunIn(t, out, e2e.Build(t, "here", "-engine=dacce", "-verify"))
	ids.OK(t)
	var id ctxid.ID
	if _, err := fmt.Sscanf(ids.Stdout, "%x %x %x", &id.Hi, &id.Lo, &id.Run); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := stemma("", "collect", "-once", "-delete", "-label=zone=a", "-store="+store,
		"-to=pyroscope="+pyroscope.URL); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	text := string(ctxid.Append(nil, id))
	for _, c := range []struct {
		name, stdin string
		args        []string
		want        string // in what is printed; with "!" before it, in what it fails with
	}{
		{"sum", "", []string{"report", "-store", store, "-service=progress", "-since=1h", "-func=^main.step$"},
			"1,000,000"},
		{"window", "", []string{"report", "-store", store, "-service=progress", "-until=1h"}, "!no record"},
		{"service", "", []string{"report", "-store", store, "-service=other"}, "!no record"},
		{"useless", "", []string{"report", "-since=1h"}, "!give it with -store"},
		{"both", "", []string{"report", "-store", store, "x.stemma"}, "!give one of them"},
		{"before", "", []string{"diff", "-store", store, "-service=progress", "-since=1h"},
			"!, the same time before, to compare with"},
		{"tables", "", []string{"export", "-format=parquet", "-o=" + tables, "-store", store,
			"-service=progress", "-since=1h"}, ""},
		{"few", "", []string{"export", "-format=folded", "-store", store, "-service=progress"}, ";main.step "},
		{"no place", "", []string{"export", "-format=parquet", "-store", store}, "!name it with -o"},
		{"no tables", "", []string{"export", "-format=parquet", "-o=" + tables, "-store", store, "-until=48h"},
			"!no counts"},
		{"page", "", []string{"view", "-store", store, "-service=progress", "-o=page.html"}, ""},
		{"decode", "ctx=" + text + "\n", []string{"decode", "-store", store}, "[main]"},
		{"argument", "", []string{"decode", "-store", store, text}, "main.main"},
		{"outside", "", []string{"decode", "-store", store, "-until=1h", text}, "!no record of that run"},
		{"counts", "", []string{"report", "-func=^main.step$", counts}, "1,000,000"},
		{"compared", "", []string{"diff", "-fail-over=calls>0", counts, counts}, "(no change)"},
		{"similar", "", []string{"similarity", "-by=line", counts, counts}, "100.00%    100.00%"},
		{"counted", "", []string{"info", counts}, "the sum of at most 2 runs in http://"},
		{"exported", "", []string{"export", "-format=folded", counts}, ";main.step "},
		{"shown", "", []string{"view", "-o=page.html", counts}, ""},
		{"changed", "", []string{"view", "-o=page.html", "-base", counts, counts}, ""},
		{"counts as tables", "", []string{"export", "-format=parquet", "-o=" + t.TempDir(), counts}, ""},
		{"nobody", "", []string{"report", strings.Replace(counts, "progress", "other", 1)}, "!something of progress"},
		{"no question", "", []string{"report", strings.Replace(counts, "from", "since", 1)},
			"!since=1h: want pyroscope://"},
		{"away", "", []string{"report", "-store", "nowhere://x"}, "!nowhere"},
	} {
		stdout, stderr, err := stemma(c.stdin, c.args...)
		want, fails := strings.CutPrefix(c.want, "!")
		said := stdout
		if fails {
			said = stderr
		}
		if (err != nil) != fails || !strings.Contains(said, want) {
			t.Errorf("%s: stemma %q: %v, want %q\n%s%s", c.name, c.args, err, c.want, stdout, stderr)
		}
	}
	steps := int64(0)
	for _, v := range rows[parquet.Value](t, filepath.Join(tables, "values-*")) {
		if v.Service != "progress" || v.Labels["zone"] != "a" {
			t.Fatalf("a row is %+v", v)
		}
		for _, c := range rows[parquet.Context](t, filepath.Join(tables, "contexts-*")) {
			if c.Context == v.Context && c.Function == "main.step" && v.Metric == "calls" {
				steps += v.Value
				break // days have it each
			}
		}
	}
	if steps != 1_000_000 {
		t.Errorf("the tables have %d calls of main.step", steps)
	}
}

// rows returns the rows of tables.
func rows[T any](t *testing.T, pattern string) (list []T) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		some, err := parquetgo.ReadFile[T](file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, some...)
	}
	return list
}
