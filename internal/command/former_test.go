package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/profile"
)

// formerNote is what is said of a former name, once for each.
var formerNote = regexp.MustCompile(`(?m)^stemma: (.+) is called (\S.*) now; the next release does not take the former name$`)

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
				t.Errorf("report -metric=%s %s: exit code %d, %s\n%.300s\nwant %q", metric, path, code, stderr, stdout, want)
			}
		}
		code, stdout, stderr := runMain("report", "-metric=delay", "-contexts", path)
		if code != base.ExitOK || !strings.Contains(stdout, "delay(sync.Mutex.Lock)") {
			t.Errorf("report -contexts %s: exit code %d, %s%s", path, code, stdout, stderr)
		}
		code, stdout, stderr = runMain("info", "-text", path)
		if code != base.ExitOK || regexp.MustCompile(`name "(alloc|allocs|live|objects|held|holds)"|kind held`).MatchString(stdout) ||
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
	if code, stdout, stderr := runMain("diff", formerRecords[0], formerRecords[1]); code != base.ExitOK || strings.Contains(stdout, "→") {
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
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Columns {
		if profile.CurrentName(c.Name) != c.Name {
			t.Errorf("the file has the metric %s", c.Name)
		}
	}
	old, err := os.ReadFile(formerRecords[1])
	if err != nil {
		t.Fatal(err)
	}
	q, err := profile.Read(old)
	if err != nil {
		t.Fatal(err)
	}
	if p.Total(profile.AllocSpace) != q.Total(profile.AllocSpace) || p.Total(profile.Delay) == 0 {
		t.Errorf("%d bytes in the new file, %d in the old one", p.Total(profile.AllocSpace), q.Total(profile.AllocSpace))
	}
	for now, was := range map[string]string{"alloc_space": "alloc", "contentions.varies": "holds.varies", "wait": "wait"} {
		if have := profile.CurrentName(was); have != now {
			t.Errorf("%s is called %s, want %s", was, have, now)
		}
	}
}

// TestFormerNames types former names wherever names are typed: they are taken, with one line that says what they are
// called now, and no report has them.
func TestFormerNames(t *testing.T) {
	record := formerRecords[1]
	for args, want := range map[string]string{
		"report -metric=alloc " + record:                                                       "-metric=alloc → alloc_space",
		"report -json -metric=objects " + record:                                               "-metric=objects → inuse_objects",
		"export -format=folded -metric=live " + record:                                         "-metric=live → inuse_space",
		"similarity -metric=allocs " + record + " " + record:                                   "-metric=allocs → alloc_objects",
		"diff -metric=calls,held " + record + " " + record:                                     "-metric=held → delay",
		"diff -fail-over alloc/function>0,calls>0 -warn-over holds>1 " + record + " " + record: "alloc → alloc_space; holds → contentions",
		"top -once -metric=objects " + filepath.Dir(record):                                    "-metric=objects → inuse_objects",
		"tests -json nothing.stemma":                                                           "stemma affected → stemma affected",
		"build -metrics=calls,inuse -C /nowhere .":                                              "",
	} {
		_, stdout, stderr := runMain(strings.Fields(args)...)
		if have := notes(stderr); have != want && want != "" {
			t.Errorf("%s: notes %q, want %q\n%s", args, have, want, stderr)
		}
		if m := regexp.MustCompile(`\b(alloc|allocs|objects|held|holds) `).FindString(stdout); m != "" {
			t.Errorf("%s: the report has the former name %s\n%s", args, m, stdout)
		}
	}
	if code, stdout, _ := runMain("help", "tests"); code != base.ExitOK || !strings.Contains(stdout, "stemma affected") {
		t.Errorf("help tests: exit code %d, %s", code, stdout)
	}
}
