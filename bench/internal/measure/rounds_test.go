package measure

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/bench/internal/program"
)

// script makes a binary of a shell script that prints a checksum line and
// stands for a build of the program "demo".
func script(t *testing.T, v Variant, lines string) *Binary {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, "demo")
	for name, text := range map[string]string{"demo/go.mod": "module demo\n", "run": "#!/bin/sh\n" + lines + "\n"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	all, err := program.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Dir != home {
		t.Fatalf("program in %s, want %s", all[0].Dir, home)
	}
	return &Binary{Program: all[0], Variant: v, Path: filepath.Join(dir, "run")}
}

func TestRoundsRotate(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute}
	started := filepath.Join(t.TempDir(), "started")
	demo := func(v Variant) *Binary {
		return script(t, v, "echo "+v.FileName()+" >>"+started+"\necho checksum demo 1")
	}
	var told []string
	series := b.Rounds([]*Binary{demo(Plain), demo(PlainAgain), demo(Variant{Name: "third"})}, 2,
		func(s string) { told = append(told, s) })
	want := []string{
		"demo, warm-up: plain",
		"demo, round 1 of 2: 3 builds", "demo, round 2 of 2: 3 builds",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	order, err := os.ReadFile(started)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Fields(string(order)),
		strings.Fields("plain plain_again third plain third plain plain_again"); !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
	for _, s := range series {
		if len(s.Runs) != 2 || s.Err != nil {
			t.Errorf("%s: %d runs, %v", s.Binary.Variant.Name, len(s.Runs), s.Err)
		}
	}
	if p := Problems(series); p != nil {
		t.Errorf("problems: %q", p)
	}
}

func TestGroups(t *testing.T) {
	var series []*Series
	add := func(n, rounds int) {
		for range n {
			series = append(series, &Series{Binary: &Binary{Variant: Variant{Rounds: rounds}}})
		}
	}
	add(1, 0) // plain
	add(8, 0)
	add(1, 1)
	add(3, 3)
	add(1, WarmUpOnly)
	for round, want := range map[int]string{1: "8 + 2 + 4 + 1 builds", 3: "8 + 2 + 4 builds", 4: "8 + 2 builds"} {
		groups := groupsOf(series, round)
		if got := sizes(groups); got != want {
			t.Errorf("round %d: %s, want %s", round, got, want)
		}
		for _, g := range groups {
			if len(g) > 1 && !slices.Contains(g, series[0]) {
				t.Errorf("round %d: a group without the plain program", round)
			}
		}
	}
	if got := sizes(groupsOf(series[:1], 2)); got != "1 builds" {
		t.Errorf("the plain program by itself: %s", got)
	}
}

// TestTurns lets two processes write into one file: neither may write while it is
// the other's turn, and each must have several turns.
func TestTurns(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	var ps []*process
	for _, name := range []string{"a", "b"} {
		bin := script(t, Variant{Name: name},
			"i=0; while [ $i -lt 10000 ]; do echo "+name+" >>"+log+"; i=$((i+1)); done\necho checksum demo 1")
		ps = append(ps, newProcess(bin, t.TempDir()))
	}
	takeTurns(ps, time.Millisecond, time.Minute)
	for _, p := range ps {
		if r, err := p.result(); err != nil || r.Wall <= 0 || r.User+r.System <= 0 {
			t.Errorf("%s: %+v, %v", p.bin.Variant.Name, r, err)
		}
	}
	lines, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(lines))
	changes := 0
	for i := range names[1:] {
		if names[i] != names[i+1] {
			changes++
		}
	}
	// Each turn has many lines; processes that run at once change with most lines.
	if len(names) != 20000 || changes < 4 || changes > 7000 {
		t.Errorf("%d lines with %d changes", len(names), changes)
	}
}

// TestAlone has one build that makes a file when it starts and two that look for it: it
// must not start before they have ended.
func TestAlone(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute}
	file := filepath.Join(t.TempDir(), "file")
	look := "sleep 0.1; test -e " + file + " && echo checksum demo early || echo checksum demo 1"
	series := b.Rounds([]*Binary{
		script(t, Plain, look),
		script(t, Variant{Name: "heavy", Rounds: 1}, "touch "+file+"; echo checksum demo 1"),
		script(t, Variant{Name: "third"}, look),
	}, 1, func(string) {})
	if p := Problems(series); p != nil {
		t.Errorf("problems: %q", p)
	}
}

func TestTurnsEndTheSlow(t *testing.T) {
	quick := newProcess(script(t, Plain, "echo checksum demo 1"), t.TempDir())
	slow := newProcess(script(t, PlainAgain, "sleep 60 & wait"), t.TempDir())
	takeTurns([]*process{slow, quick}, 10*time.Millisecond, 100*time.Millisecond)
	if r, err := quick.result(); err != nil || r.Checksum != "demo 1" {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := slow.result(); err == nil || !strings.Contains(err.Error(), "stopped after 100ms") {
		t.Errorf("got %v", err)
	}
}

func TestRoundsWithoutMemory(t *testing.T) {
	if fits([]*Series{{WarmUp: Run{Peak: 1 << 60}}}) {
		t.Error("an exbibyte is available")
	}
	if free := availableMemory(); free < 1<<20 {
		t.Errorf("%d bytes of memory available", free)
	}
}

func TestRoundsReportProblems(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute}
	bins := []*Binary{
		script(t, Plain, "echo checksum demo 1"),
		script(t, Variant{Name: "other"}, "echo checksum demo 2"),
		script(t, Variant{Name: "broken"}, "echo a reason >&2; exit 4"),
		script(t, Variant{Name: "silent"}, "true"),
	}
	got := strings.Join(Problems(b.Rounds(bins, 1, func(string) {})), "\n")
	for _, want := range []string{
		`demo, other: round 1: checksum "demo 2", want "demo 1"`,
		"demo, broken: run: exit status 4\n\ta reason",
		"demo, silent: run: no line",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("problems\n%s\ndo not have %q", got, want)
		}
	}
}

func TestRoundsEndWithThePlainProgram(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute}
	runs := 0
	series := b.Rounds([]*Binary{
		script(t, Plain, "exit 1"),
		script(t, PlainAgain, "echo checksum demo 1"),
	}, 3, func(string) { runs++ })
	if runs != 1 {
		t.Errorf("%d runs, want 1", runs)
	}
	if p := Problems(series); len(p) != 1 {
		t.Errorf("problems: %q, want one", p)
	}
}

// Each run has its plain one beside it, also when the plain program fails in a later round.
func TestRunsHaveTheirPlainOnes(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute}
	count := filepath.Join(t.TempDir(), "count")
	series := b.Rounds([]*Binary{
		script(t, Plain, "echo x >>"+count+"; test $(wc -l <"+count+") -lt 3 && echo checksum demo 1"),
		script(t, PlainAgain, "echo checksum demo 1"),
	}, 4, func(string) {})
	if series[0].Err == nil {
		t.Fatal("the plain program did not fail in the second round")
	}
	for _, s := range series {
		if len(s.Runs) != 1 || len(s.Plain) != 1 {
			t.Errorf("%s: %d runs, %d plain ones, want 1 and 1", s.Binary.Variant.Name, len(s.Runs), len(s.Plain))
		}
	}
}

func TestRunTakesTooLong(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: 50 * time.Millisecond}
	_, err := b.Run(script(t, Plain, "exec sleep 20"), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "stopped after") {
		t.Errorf("got %v", err)
	}
}

func TestRoundsOfAVariantAreLimited(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute}
	series := b.Rounds([]*Binary{
		script(t, Plain, "echo checksum demo 1"),
		script(t, Variant{Name: "landmark", Rounds: 2}, "echo checksum demo 1"),
	}, 4, func(string) {})
	// The plain program runs on its own four times, and twice beside the landmark.
	if n, m := len(series[0].Runs), len(series[1].Runs); n != 6 || m != 2 {
		t.Errorf("%d and %d runs, want 6 and 2", n, m)
	}
	for i, r := range series[1].Plain {
		if want := series[0].Runs[2*i+1]; r != want {
			t.Errorf("run %d is compared with %+v, want %+v", i, r, want)
		}
	}
}

func TestRunsHaveTheEnvironmentOfTheVariant(t *testing.T) {
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute}
	bin := script(t, Variant{Name: "env", Env: []string{"WHAT=ever"}}, "echo checksum demo $WHAT")
	if r, err := b.Run(bin, t.TempDir()); err != nil || r.Checksum != "demo ever" {
		t.Errorf("got %+v, %v", r, err)
	}
}

// TestRecordOfTheFirstRound has a build that records, and a stemma that shows how often it
// was asked.
func TestRecordOfTheFirstRound(t *testing.T) {
	dir := t.TempDir()
	b := &Bench{Work: t.TempDir(), Timeout: time.Minute, Stemma: filepath.Join(dir, "stemma")}
	asked := filepath.Join(dir, "asked")
	report := `#!/bin/sh
echo "$@" >>` + asked + `
echo '{"Processes":[{"Engine":"cct"}],"Totals":{"Calls":7,"Contexts":3}}'
`
	if err := os.WriteFile(b.Stemma, []byte(report), 0o755); err != nil {
		t.Fatal(err)
	}
	recording := func(v Variant) *Binary {
		return script(t, v, "mkdir -p $STEMMA_OUT/demo.1; echo x >$STEMMA_OUT/demo.1/tree; echo checksum demo 1")
	}
	series := b.Rounds([]*Binary{
		script(t, Plain, "echo checksum demo 1"),
		recording(Variant{Name: "cct", Flags: []string{"-engine=cct"}}),
		recording(Variant{Name: "count", Flags: []string{"-engine=cct"}, Rounds: WarmUpOnly}),
	}, 3, func(string) {})
	if p := Problems(series); p != nil {
		t.Errorf("problems: %q", p)
	}
	for i, runs := range []int{3, 3, 0} {
		s := series[i]
		if len(s.Runs) != runs || i > 0 && (s.Record.Calls != 7 || s.Record.Bytes == 0) {
			t.Errorf("%s: %d runs, %+v", s.Binary.Variant.Name, len(s.Runs), s.Record)
		}
	}
	lines, err := os.ReadFile(asked)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(lines), "demo.1"); n != 2 {
		t.Errorf("asked for %d records, want 2:\n%s", n, lines)
	}
}
