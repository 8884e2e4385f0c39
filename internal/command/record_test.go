package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/top"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// aged makes everything in dir, and dir itself, as old as that.
func aged(t *testing.T, dir string, age time.Duration) {
	t.Helper()
	at := time.Now().Add(-age)
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, f := range append(files, dir) {
		if err := os.Chtimes(f, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// hold locks the main file of a live directory as its program does, and returns what lets go.
func hold(t *testing.T, dir string) func() {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "tree"))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	return func() { f.Close() }
}

// TestNewest lets report choose: the record of a program that runs, else what was changed
// last. It names it, and shows how old it is.
func TestNewest(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, age := range map[string]time.Duration{"old.1-a": 50 * time.Hour, "new.2-b": 630 * time.Second,
		"young.3-c": time.Hour} {
		recordtest.Shapes().WriteTo(t, filepath.Join("stemma.out", name))
		aged(t, filepath.Join("stemma.out", name), age)
	}
	if code, _, stderr := runMain("seal", "-o", "snap.stemma", "stemma.out/old.1-a"); code != base.ExitOK {
		t.Fatal(stderr)
	}
	check := func(want string) {
		t.Helper()
		if _, out, _ := runMain("report"); !strings.HasPrefix(out, want+"\n") {
			t.Errorf("have\n%s\nwant %s", out, want)
		}
		if _, _, stderr := runMain("export", "-format=folded"); stderr != "stemma: "+want+"\n" {
			t.Errorf("export: have %s, want %s", stderr, want)
		}
	}
	aged(t, "snap.stemma", 150*time.Minute)
	check("record stemma.out/new.2-b · recorded 10 min ago")
	shard := "stemma.out/young.3-c/shard.0" // one file that was changed last counts
	at := time.Now().Add(-200 * time.Second)
	if err := os.Chtimes(shard, at, at); err != nil {
		t.Fatal(err)
	}
	check("record stemma.out/young.3-c · recorded 3 min ago")
	aged(t, "snap.stemma", 125*time.Second)
	check("record snap.stemma · sealed 2 min ago")
	letGo := hold(t, "stemma.out/old.1-a")
	if _, out, _ := runMain("report"); !strings.HasPrefix(out, "record stemma.out/old.1-a · started ") ||
		!strings.Contains(out, " ago, still running\n") {
		t.Errorf("a record that is being written is not the newest:\n%s", out)
	}
	letGo()
	check("record snap.stemma · sealed 2 min ago")
}

// TestSnapshot reports a live directory and a file that was sealed from it earlier: calls
// are not counted twice.
func TestSnapshot(t *testing.T) {
	t.Chdir(t.TempDir())
	recordtest.Shapes().WriteTo(t, "live")
	if code, _, stderr := runMain("seal", "-o", "snap.stemma", "live"); code != base.ExitOK {
		t.Fatal(stderr)
	}
	for _, order := range [][]string{{"live", "snap.stemma"}, {"snap.stemma", "live"}} {
		code, out, stderr := runMain(append([]string{"report"}, order...)...)
		if code != base.ExitOK || !strings.Contains(out, "\n67 calls ·") ||
			!strings.Contains(out, "warning: pid 4242: another record of this run is left out") ||
			strings.Count(out, "record ") != 3 {
			t.Errorf("code %d %s\n%s", code, stderr, out)
		}
	}
}

// TestUselessFlags gives flags that would do nothing for what is asked: each is an error of
// usage that lists those that would do something.
func TestUselessFlags(t *testing.T) {
	inTemp(t)
	_, contexts, _, _ := recordtest.Shop(t)
	recordtest.Shapes().WriteTo(t, "live")
	for args, want := range map[string]string{
		"report -tree " +
			contexts: "report: -tree does nothing for a record of context IDs, which has no counts of calls (see " +
			"stemma decode and stemma events); it has -json",
		"report -func=x " + contexts: "-func does nothing for a record of context IDs",
		"report -top=3 " + contexts:  "-top does nothing for a record of context IDs",
		"report -top=3 live " + contexts: contexts + ": report: -top does nothing for a " +
			"record of context IDs", // of several it says which
		"report -depth=3": "report: -depth does nothing for a report by function; it has -by, " +
			"-sort, -func, -top, -json, -metric, -cost, -focus, -ignore, -hide",
		"report -contexts -min=3": "-min does nothing for report -contexts; it has -contexts, -func, " +
			"-top, -json, -metric, -cost, -focus, -ignore, -hide",
		"report -tree -top=3": "-top does nothing for report -tree; it has -tree, -depth, -min, " +
			"-metric, -cost, -focus, -ignore, -hide",
		"verify -live -engine=dacce x": "verify: -engine does nothing with -live, which builds no program; it " +
			"has -v, -show",
		"verify -live -show=3 x":    "verify: -show does nothing without -v",
		"replay -events -check=3 x": "replay: -check does nothing for a list of events; it has -events",
		"build -metrics=calls,heat": "-metrics=heat: no such metric (have " +
			strings.Join(engine.MetricNames(), ", ") + ")",
		"build -metrics=alloc -record=calls": "-record=calls: the record has calls only; leave -metrics=alloc out",
		"build -metrics=alloc -engine=dacce": "-metrics does nothing with -engine=dacce: it is for -engine=cct",
		"build -engine=cct -every=1ms": "-every does nothing with -engine=cct: it is for -engine=sample " +
			"or -metrics=cpu; cct " +
			"has -inlined, -labels, -metrics, -module, -nodes, -record, -recursion",
		"run -engine=dacce -recursion=fold x": "-recursion does nothing with -engine=dacce",
		"test -engine=sample -events=alloc":   "-events does nothing with -engine=sample",
		"verify -engine=cct+acct x":           "verify: -verify does nothing with -engine=cct+acct",
	} {
		code, _, stderr := runMain(strings.Fields(args)...)
		if code != base.ExitUsage || !strings.Contains(stderr, want) {
			t.Errorf("stemma %s: exit code %d, %s; want %s", args, code, stderr, want)
		}
	}
	for _, args := range []string{"report -json " + contexts, "report -tree -depth=2 -min=0",
		"report -json -contexts -top=3", "report -func=main -top=2 -metric=calls"} {
		if code, _, stderr := runMain(strings.Fields(args)...); code != base.ExitOK {
			t.Errorf("stemma %s: exit code %d, %s", args, code, stderr)
		}
	}
}

// TestElsewhere finds records where STEMMA_OUT has programs record.
func TestElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	out := t.TempDir()
	t.Setenv("STEMMA_OUT", out)
	const want = "*.stemma nor "
	if _, _, stderr := runMain("report"); !strings.Contains(stderr, want+out+"/* here") {
		t.Errorf("report: have %s, want it to name %s", stderr, out)
	}
	recordtest.Shapes().WriteTo(t, filepath.Join(out, "there.1-a"))
	if _, have, _ := runMain("report"); !strings.HasPrefix(have, "record "+out+"/there.1-a") {
		t.Errorf("report: have\n%s", have)
	}
	_, path, id, _ := recordtest.Shop(t)
	if err := os.Rename(path, filepath.Join(out, "shop.42-b")); err != nil {
		t.Fatal(err)
	}
	if _, have, stderr := runMain("decode", id); !strings.Contains(have, "main.pay") {
		t.Errorf("decode: have\n%s%s", have, stderr)
	}
	defer hold(t, filepath.Join(out, "there.1-a"))()
	if have, err := top.Find(""); err != nil || have != filepath.Join(out, "there.1-a") {
		t.Errorf("top: have %s, %v", have, err)
	}
}

// TestURL gives URLs to commands that want a path. They say what it is, and no password.
func TestURL(t *testing.T) {
	inTemp(t)
	const counts = "pyroscope://u:secret@h:1?service=a"
	for _, args := range [][]string{{"seal", "-o", "x.stemma", counts},
		{"verify", "-live", counts}, {"report", "s3://u:secret@bucket/prefix"},
		{"diff", "stemma.out," + counts, "stemma.out"},
		{"diff", "s3://u:secret@bucket", "stemma.out"}} {
		code, stdout, stderr := runMain(args...)
		if code == base.ExitOK || !strings.Contains(stderr, ": a URL, ") || strings.Contains(stdout+stderr, "secret") {
			t.Errorf("%s: exit code %d, %s%s", args, code, stdout, stderr)
		}
	}
}

// TestPipe reads sealed records from pipes, which can be read once, by commands that look at the beginning first.
func TestPipe(t *testing.T) {
	inTemp(t)
	_, live, _, _ := recordtest.Shop(t)
	for dir, want := range map[string]string{"stemma.out/shapes.4242": "main.area", live: "a record of context IDs"} {
		if code, _, stderr := runMain("seal", "-o", "r.stemma", dir); code != base.ExitOK {
			t.Fatal(stderr)
		}
		sealed, err := os.ReadFile("r.stemma")
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"report", "-contexts"}, {"export", "-format=folded"},
			{"view", "-o=page.html"}, {"decode"}} {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			if _, err = w.Write(sealed); err != nil { // it has room for them
				t.Fatal(err)
			}
			w.Close()
			code, stdout, stderr := runMain(append(args, fmt.Sprint("/dev/fd/", r.Fd()))...)
			r.Close()
			want, ok := want, true
			switch args[0] {
			case "view":
				want, ok = "", code == base.ExitOK
			case "decode": // it looks for the records of IDs as these come
				want, ok = "is a pipe, which can be read once only", code == base.ExitUsage
			}
			if !ok || !strings.Contains(stdout+stderr, want) {
				t.Errorf("%s of %s: want %q, have exit code %d, %s%s", args, dir, want, code, stdout, stderr)
			}
		}
	}
}

// TestLinkInRecord reads a live directory in which a link has the name of a file. Each command refuses it: what the
// link leads to may be what the owner of the directory cannot read.
func TestLinkInRecord(t *testing.T) {
	inTemp(t)
	const dir = "stemma.out/shapes.4242"
	if err := os.Rename(dir+"/funcs", "funcs"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../funcs", dir+"/funcs"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"report"}, {"info"}, {"export", "-format=folded"}, {"seal", "-o=s.stemma"},
		{"diff", dir}, {"similarity", dir}, {"view", "-o=page.html"}, {"top", "-once"}, {"replay"}} {
		code, _, stderr := runMain(append(args, dir)...)
		if code == base.ExitOK || !strings.Contains(stderr, "funcs: a link, want a file") {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
	}
}

// TestRefusedFromBeginning asks for the counts of records of context IDs that end behind their beginning: each command
// refuses them for what they are, without reading the rest, which may have gigabytes.
func TestRefusedFromBeginning(t *testing.T) {
	inTemp(t)
	_, live, _, _ := recordtest.Shop(t)
	for name, dir := range map[string]string{"ids.stemma": live, "shapes.stemma": "stemma.out/shapes.4242"} {
		if code, _, stderr := runMain("seal", "-o", name, dir); code != base.ExitOK {
			t.Fatal(stderr)
		}
	}
	info, err := os.Stat("ids.stemma")
	if err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int64{"ids.stemma": info.Size() / 2, filepath.Join(live, layout.FileIDs): 0} {
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"ids.stemma", live, live + store.RestSuffix} {
		for _, args := range []string{"report -top=3", "report -contexts", "export -format=folded",
			"diff shapes.stemma", "baseline", "similarity shapes.stemma", "view -o page.html -base shapes.stemma",
			"seal -repeats -o s shapes.stemma"} {
			code, stdout, stderr := runMain(append(strings.Fields(args), path)...)
			if code == base.ExitOK || !strings.Contains(stderr, "a record of context IDs") {
				t.Errorf("%s %s: exit code %d, %s%s", args, path, code, stdout, stderr)
			}
		}
	}
}
