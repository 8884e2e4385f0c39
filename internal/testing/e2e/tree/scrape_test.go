package tree

import (
	"bufio"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/profile"
)

// buildScraped builds the program that is asked what it does.
func buildScraped(t *testing.T) string {
	t.Helper()
	return e2e.BuildDir(t, "testdata/scraped", "-metrics=calls,alloc,inuse")
}

// TestScrape asks a program what it does while it does known work. Differences are that work, and what there is in the
// end is what the record has.
func TestScrape(t *testing.T) {
	e2e.NeedFull(t)
	r := e2e.Run(t, buildScraped(t))
	r.OK(t)
	if strings.Contains(r.Stdout, "wrong") {
		t.Errorf("%.2000s", r.Stdout)
	}
	var calls uint64
	if _, err := fmt.Sscanf(r.Stdout[strings.LastIndex(r.Stdout, "calls "):], "calls %d", &calls); err != nil {
		t.Fatalf("%v in %.2000s", err, r.Stdout)
	}
	p := r.Read(t)
	for metric, want := range map[profile.Metric]uint64{profile.Calls: calls, profile.AllocSpace: 64 * calls} {
		tree, err := cct.Of(p, metric.Name)
		if err != nil {
			t.Fatal(err)
		}
		have := uint64(0)
		for i, n := range tree.Nodes {
			_, by := tree.Allocator(uint32(i))
			what := tree.Funcs[n.Func].Name
			if tree.Funcs[tree.Nodes[by].Func].Name == "main.leaf" && (what == "main.leaf" || what == "new([8]int)") {
				have += n.Count
			}
		}
		if have != want {
			t.Errorf("%s: the record has %d, want %d", metric.Name, have, want)
		}
	}
}

// TestScrapePprof asks with go tool pprof.
func TestScrapePprof(t *testing.T) {
	e2e.NeedFull(t)
	cmd := e2e.Command(t, t.TempDir(), buildScraped(t))
	cmd.Args = append(cmd.Args, "serve")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "p.pb.gz")
	url = strings.TrimSpace(url) + "/debug/stemma/pprof?metric=alloc_space&calls=1000"
	ask := exec.Command("go", "tool", "pprof", "-seconds=1", "-proto", "-output="+file, url)
	if said, err := ask.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for index, want := range map[string]string{
		"alloc_space":   `(?s)Type: alloc_space.*Duration: 1.*62.50kB .* main\.leaf`,
		"alloc_objects": `(?s)Type: alloc_objects.* 1000 .* main\.leaf`,
	} {
		top, err := exec.Command("go", "tool", "pprof", "-top", "-sample_index="+index, file).CombinedOutput()
		if err != nil || !regexp.MustCompile(want).Match(top) {
			t.Errorf("%s: %v, nothing matches %s in\n%s", index, err, want, top)
		}
	}
}
