package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/diff"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record/raw"
	"github.com/stemma-go/stemma/profile"
)

// formerNote is what is said of a former name, once for each.
var formerNote = regexp.MustCompile(
	`(?m)^stemma: (.+) is called (.+) now; the next release does not take the former name$`)

// formerWord matches former names in the text form.
var formerWord = regexp.MustCompile(`name "(alloc|allocs|live|objects|held|holds)"|kind held`)

// formerReport matches former names where reports have metrics.
var formerReport = regexp.MustCompile(`(of |"metric": "|[0-9] )(alloc|allocs|live|objects|held|holds)( · |",)`)

// notes returns which names standard error says are former ones, each with the present one.
func notes(stderr string) string {
	var list []string
	for _, m := range formerNote.FindAllStringSubmatch(stderr, -1) {
		list = append(list, m[1]+" → "+m[2])
	}
	return strings.Join(list, "; ")
}

// formerRecords are records of one run, which a tool with the former names has left in testdata/former: of a
// program that allocates, keeps some of it, and waits for a lock.
var formerRecords = []string{"testdata/former/live", "testdata/former/sealed.stemma"}

// TestFormerRecords reads them: what they have is there, under the present names only.
func TestFormerRecords(t *testing.T) {
	for _, path := range formerRecords {
		for metric, want := range map[string]string{
			"alloc_space":   "3,256 bytes of alloc_space ",
			"alloc_objects": " alloc_objects ",
			"inuse_space":   "40,376 bytes of inuse_space ",
			"inuse_objects": "94 inuse_objects ",
			"delay":         "4.526 ms of delay ",
			"contentions":   "1 contentions ",
		} {
			code, stdout, stderr := runMain("report", "-metric="+metric, path)
			if code != base.ExitOK || !strings.Contains(stdout, want) || notes(stderr) != "" {
				t.Errorf("report -metric=%s %s: exit code %d, %s\n%.300s\nwant %q", metric, path, code, stderr, stdout,
					want)
			}
		}
		code, stdout, stderr := runMain("report", "-metric=delay", "-contexts", path)
		if code != base.ExitOK || !strings.Contains(stdout, "delay(sync.Mutex.Lock)") {
			t.Errorf("report -contexts %s: exit code %d, %s%s", path, code, stdout, stderr)
		}
		code, stdout, stderr = runMain("info", "-text", path)
		if code != base.ExitOK || formerWord.MatchString(stdout) ||
			!strings.Contains(stdout, `name "inuse_space"`) || !strings.Contains(stdout, "kind delay") {
			t.Errorf("info -text %s: exit code %d, %s\n%.500s", path, code, stderr, stdout)
		}
		code, stdout, stderr = runMain("diff", "-json", "testdata/former/baseline.txt", path)
		var d struct {
			Values []struct{ Name string }
		}
		if err := json.Unmarshal([]byte(stdout), &d); code != base.ExitOK || err != nil {
			t.Fatalf("diff baseline.txt %s: exit code %d, %v, %s", path, code, err, stderr)
		}
		for _, v := range d.Values {
			if profile.CurrentName(v.Name) != v.Name {
				t.Errorf("diff -json has the former name %s", v.Name)
			}
		}
		if len(d.Values) < 6 {
			t.Errorf("diff -json compares %v only", d.Values)
		}
	}
	code, stdout, stderr := runMain("diff", formerRecords[0], formerRecords[1])
	if code != base.ExitOK || strings.Count(stdout, "no change") != 11 || strings.Contains(stdout, "changed") {
		t.Errorf("the live directory and the file differ: exit code %d, %s%s", code, stdout, stderr)
	}
}

// TestFormerSealed seals a record with former names anew: the file has the present ones, also of how much a metric
// varies, and adds up with the old one.
func TestFormerSealed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new.stemma")
	if code, _, stderr := runMain("seal", "-o", file, formerRecords[0]); code != base.ExitOK {
		t.Fatal(stderr)
	}
	p := readProfile(t, file)
	for _, c := range p.Columns {
		if profile.CurrentName(c.Name) != c.Name {
			t.Errorf("the file has the metric %s", c.Name)
		}
	}
	q := readProfile(t, formerRecords[1])
	if p.Total(profile.AllocSpace) != q.Total(profile.AllocSpace) || p.Total(profile.Delay) == 0 {
		t.Errorf("have %d bytes, want %d, and %d ns", p.Total(profile.AllocSpace), q.Total(profile.AllocSpace),
			p.Total(profile.Delay))
	}
	for now, was := range map[string]string{"alloc_space": "alloc", "wait": "wait", "delay.varies": "held.varies"} {
		if have := profile.CurrentName(was); have != now {
			t.Errorf("%s is called %s, want %s", was, have, now)
		}
	}
}

// readProfile reads a sealed file.
func readProfile(t *testing.T, file string) *profile.Profile {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Read(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestFormerNames types former names wherever names are typed: they are taken, with one line that says what they are
// called now, and no report has them.
func TestFormerNames(t *testing.T) {
	record := formerRecords[1]
	two := record + " " + record
	for args, want := range map[string]string{
		"report -metric=alloc " + record:               "-metric=alloc → alloc_space",
		"report -json -metric=objects " + record:       "-metric=objects → inuse_objects",
		"export -format=folded -metric=live " + record: "-metric=live → inuse_space",
		"similarity -metric=allocs " + two:             "-metric=allocs → alloc_objects",
		"diff -metric=calls,held " + two:               "-metric=held → delay",
		"diff -fail-over alloc/function>0,calls>0 -warn-over holds>1 " + two: "" +
			"alloc → alloc_space; holds → contentions",
		"top -once -metric=objects testdata": "-metric=objects → inuse_objects",
		"tests -json nothing.stemma":         "stemma tests → stemma affected",
	} {
		_, stdout, stderr := runMain(strings.Fields(args)...)
		if have := notes(stderr); have != want {
			t.Errorf("%s: notes %q, want %q\n%s", args, have, want, stderr)
		}
		if m := formerReport.FindString(stdout); m != "" {
			t.Errorf("%s: the report has the former name %s\n%s", args, m, stdout)
		}
	}
	code, stdout, _ := runMain("help", "tests")
	if code != base.ExitOK || !strings.Contains(stdout, "stemma affected") {
		t.Errorf("help tests: exit code %d, %s", code, stdout)
	}
}

// TestFormerEngines reads a record, as text and as a sealed file, and a baseline, of a program that was built with an
// engine and a flag by former names.
func TestFormerEngines(t *testing.T) {
	data, err := os.ReadFile("../../profile/testdata/values.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range engine.FlagNamed("engine").FormerValues {
		text := strings.ReplaceAll(string(data), `engine "cct+acct"`, fmt.Sprintf("engine %q", e.Typed))
		text = strings.ReplaceAll(text, `ask "signal"`, `ask "guard"`)
		p, err := profile.ParseText(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if have := p.Processes[0]; have.Engine != e.Now || have.Sampling.At != profile.AtPrologue {
			t.Errorf("have engine %s, sampled at %s; want %s, prologue", have.Engine, have.Sampling.At, e.Now)
		}
		var base bytes.Buffer
		if err := diff.WriteBaseline(&base, diff.FromProfile("base", p), false); err != nil {
			t.Fatal(err)
		}
		text = strings.Replace(base.String(), "engine="+e.Now, "engine="+e.Typed, 1)
		side, err := diff.ReadBaseline(strings.NewReader(text), "base")
		if err != nil || text == base.String() || !slices.Contains(side.Flags, "engine="+e.Now) {
			t.Errorf("baseline: %v, flags %q, want engine=%s", err, side.Flags, e.Now)
		}
	}
}

// TestFormerBuild names what to record by a former name. What a metric is called in a record needs no note.
func TestFormerBuild(t *testing.T) {
	t.Setenv("PATH", "/nowhere") // the build ends where Go is looked for
	for flag, want := range map[string]string{
		"-metrics=calls,live":                        "-metrics=live → inuse",
		"-metrics=calls,alloc_objects,delay,inuse":   "",
		"-metrics=calls,alloc,inuse_space,wait,live": "-metrics=live → inuse",

		"-engine=cct,acct":                   "-engine=cct,acct → cct+acct",
		"-engine=cct+acct":                   "",
		"-engine=sample -ask=guard":          "-ask → -sample-at; -sample-at=guard → prologue",
		"-engine=sample -ask=signal":         "-ask → -sample-at",
		"-engine=sample -sample-at=prologue": "",
	} {
		code, _, stderr := runMain(append(append([]string{"build"}, strings.Fields(flag)...), ".")...)
		if code != base.ExitFailure || notes(stderr) != want || !strings.Contains(stderr, "no go command in PATH") {
			t.Errorf("build %s: exit code %d, notes %q, want %q\n%s", flag, code, notes(stderr), want, stderr)
		}
	}
}

// TestOldestLayout reads a record of the oldest layout that is read. The program of testdata/former/layout5.go has left
// it, built by the commit before the next layout. Contexts and counts are those of the program.
func TestOldestLayout(t *testing.T) {
	const dir = "testdata/former/layout5"
	tree, err := os.ReadFile(filepath.Join(dir, layout.FileTree))
	if err != nil {
		t.Fatal(err)
	}
	if have := raw.Load[layout.Header](tree).Version; have != layout.OldestVersion {
		t.Errorf("%s has layout %d, want the oldest that is read, %d", dir, have, layout.OldestVersion)
	}
	code, stdout, stderr := runMain("report", "-tree", "-min=0", dir)
	if code != base.ExitOK {
		t.Fatalf("exit code %d, %s", code, stderr)
	}
	for _, want := range []string{
		"3,091 calls · 7 contexts · 4 functions\n",
		"              1 100.00%    main.main\n" +
			"          1,000  97.06%      main.twice  at main.go:20\n" +
			"          1,000  32.35%        main.leaf  at main.go:7\n" +
			"          1,000  32.35%        main.leaf  at main.go:7\n" +
			"             10   2.91%      main.down  at main.go:23 (recursive)\n" +
			"             70   2.26%        main.down  at main.go:14 (folded)\n" +
			"             10   0.32%        main.leaf  at main.go:12\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("report -tree: no %q in\n%s", want, stdout)
		}
	}
}
