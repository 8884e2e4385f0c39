package command

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/command/view"
	"github.com/stemma-go/stemma/internal/page"
	"github.com/stemma-go/stemma/profile"
)

// sealedText writes a text form as a sealed file.
func sealedText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../profile/testdata/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseText(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name+".stemma")
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A functionLine is what report and view say about a function.
type functionLine struct {
	Name, File             string
	Line                   int
	Calls, Total, Contexts uint64
}

// viewLines returns the table of functions of a page, and how many functions its head says there are.
func viewLines(t *testing.T, v *page.View, metric string) (list []functionLine, counted uint64) {
	t.Helper()
	got, err := v.Answer("functions", page.Args{"metric": {metric}, "n": {"1000000"}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var a struct {
		Rows []struct {
			Name, File            string
			Line                  int
			Self, Total, Contexts uint64
		}
		Counted uint64
	}
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	for _, r := range a.Rows {
		list = append(list, functionLine{r.Name, r.File, r.Line, r.Self, r.Total, r.Contexts})
	}
	return list, a.Counted
}

// The numbers of a page are those of report -json, for each value and function. Another record to
// compare can be named: STEMMA_VIEW_RECORD.
func TestViewAgreesWithReport(t *testing.T) {
	paths := []string{sealedText(t, "shapes"), sealedText(t, "values"), sealedText(t, "allocs")}
	if more := os.Getenv("STEMMA_VIEW_RECORD"); more != "" {
		paths = append(paths, more)
	}
	for _, path := range paths {
		v, _, err := view.Open([]string{path}, "")
		if err != nil {
			t.Fatal(err)
		}
		var compared []string
		for _, metric := range report.Metrics() {
			out, _, code := mainOf(t, "", "report", "-json", "-metric="+metric, path)
			if code != 0 {
				continue // the record does not have it
			}
			var want struct {
				Functions []functionLine
				Totals    struct{ Functions uint64 }
			}
			if err := json.Unmarshal([]byte(out), &want); err != nil {
				t.Fatal(err)
			}
			have, counted := viewLines(t, v, metric)
			if counted != want.Totals.Functions {
				t.Errorf("%s: %s: view counts %d functions, report %d", filepath.Base(path), metric, counted,
					want.Totals.Functions)
			}
			compared = append(compared, fmt.Sprintf("%d functions of %s", len(have), metric))
			if len(have) == 0 || !reflect.DeepEqual(have, want.Functions) {
				t.Errorf("%s: %s: view has\n%v\nreport has\n%v", filepath.Base(path), metric, have, want.Functions)
			}
		}
		if len(compared) == 0 {
			t.Errorf("%s: nothing was compared", path)
		}
		t.Logf("%s: compared %s", filepath.Base(path), strings.Join(compared, ", "))
	}
}

// A page in a file is written as a whole, and flags that serve do nothing for it.
func TestViewPage(t *testing.T) {
	path, out := sealedText(t, "shapes"), filepath.Join(t.TempDir(), "page.html")
	if _, errs, code := mainOf(t, "", "view", "-o", out, path); code != 0 ||
		!strings.HasSuffix(errs, "stemma: wrote "+out+"; open it in a browser\n") {
		t.Fatal(errs)
	}
	b, err := os.ReadFile(out)
	if err != nil || !bytes.HasPrefix(b, []byte("<!doctype html>")) {
		t.Fatalf("%v: %.200s", err, b)
	}
	_, data, _ := bytes.Cut(b, []byte(`id="answers">`))
	data, _, _ = bytes.Cut(data, []byte("<"))
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(data)))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || !bytes.Contains(text, []byte("main.main")) {
		t.Errorf("%v: %.200s", err, text)
	}
	_, errs, code := mainOf(t, "", "view", "-http=:0", "-o", out, path)
	if code != base.ExitUsage || !strings.Contains(errs, "-http does nothing") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// A function that only calls others, and has nothing of its own, is in every form of a report,
// whatever is counted.
func TestReportHasFunctionsWithTotalsOnly(t *testing.T) {
	samples, allocs := sealedText(t, "values"), sealedText(t, "allocs")
	for _, c := range []struct{ args, want string }{
		{"report -metric=cpu -top=-1 " + samples, "0.000 ms   0.00%        3.000 ms 100.00%         0  main.main"},
		{"report -metric=cpu -json " + samples, `{"name":"main.main","file":"main.go","line":3,"calls":0,` +
			`"total":3000000,"contexts":0}`},
		{"report -metric=samples -json -sort=total " + samples, `"functions":[{"name":"main.in","file":"main.go",` +
			`"line":9,"calls":2,"total":3,"contexts":1},{"name":"main.main"`},
		{"report -metric=cpu -top=0 " + samples, "and 2 more functions, and 1 function that only leads to others; " +
			"-top=-1 lists all"},
		{"report -metric=alloc_space -top=0 " + allocs, "248 bytes of alloc_space · 4 contexts · 3 functions\n"},
		{"report -metric=alloc_space -top=1 " + allocs, "and 2 more functions, and 2 functions that only lead " +
			"to others; -top=-1 lists all"},
		{"report -metric=calls -by=line " + allocs, "  line of the call\n"},
		{"report -metric=alloc_space -by=line " + allocs, "  line\n"},
		{"report -metric=wait -func=main.main " + samples, "main.main  (0.000 ms of its own, 0 contexts)\n" +
			"       0.000 ms            calls       main.in main.go:4 (inlined)"},
		{"report -metric=alloc_space -func=nosuch " + allocs,
			"no function with alloc_space, of its own or below it, matches nosuch\n"},
		{"report -metric=alloc_space -func=. -top=1 " + allocs, "  main.main  (0 of its own, 0 contexts)\n"},
		{"report -metric=wait -json -func=main.main " + samples, `"calls":0,"total":500,"contexts":0`},
		{"report -metric=alloc_space -json " + allocs, `{"name":"main.main","file":"main.go","line":3,"calls":0,"total":240,` +
			`"contexts":0}`},
		{"report -metric=alloc_objects -json " + allocs, `{"name":"lib.in","file":"lib.go","line":9,"calls":0,"total":3,` +
			`"contexts":0}`},
	} {
		out, errs, code := mainOf(t, "", strings.Fields(c.args)...)
		if strings.Contains(c.args, "-json") {
			var b bytes.Buffer
			if err := json.Compact(&b, []byte(out)); err != nil {
				t.Errorf("%s: %v", c.args, err)
			}
			out = b.String()
		}
		if code != base.ExitOK || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit code %d, have\n%s%s\nwant %s", c.args, code, out, errs, c.want)
		}
	}
}

// TestStandardOutput names standard output as a file, as other commands have it.
func TestStandardOutput(t *testing.T) {
	path := sealedText(t, "shapes")
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"view", "-o", "-", path}, "<!doctype html>"},
		{[]string{"export", "-format=folded", "-o", "-", path}, "main.main"},
		{[]string{"baseline", "-o", "-", path}, "stemma baseline"},
	} {
		out, errs, code := mainOf(t, "", c.args...)
		if code != 0 || !strings.Contains(out, c.want) {
			t.Errorf("%q: exit code %d, %.300q, %s", c.args, code, out, errs)
		}
	}
	if files, _ := os.ReadDir("."); len(files) != 0 {
		t.Errorf("there is %v now", files)
	}
}
