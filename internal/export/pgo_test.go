package export_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/stemma-go/stemma/internal/cct"
)

// TestPGO compares the edges that the compiler reads with the calls of the tree, each once, and those of
// natives, go statements and deferred calls not at all.
func TestPGO(t *testing.T) {
	out := write(t, "pgo")
	if !bytes.Equal(out, write(t, "pgo")) {
		t.Error("two files of one profile differ")
	}
	tree := cct.New(shapes(t))
	want := make(map[string]uint64)
	for _, n := range tree.Nodes {
		caller, site := tree.Funcs[tree.Nodes[n.Parent].Func], tree.Sites[n.Site]
		if n.Count > 0 && caller.Line != 0 && (site.Via == cct.ViaCall || site.Via == cct.ViaInlined) {
			want[fmt.Sprintf("%s\n%s\n%d", caller.Name, tree.Funcs[n.Func].Name, site.Line-caller.Line)] += n.Count
		}
	}
	if len(want) < 3 {
		t.Fatalf("the profile has %d calls, want some", len(want))
	}
	p, err := pprof.ParseData(out)
	if err != nil {
		t.Fatal(err)
	}
	have := make(map[string]uint64)
	for _, s := range p.Sample {
		callee, caller := s.Location[0].Line[0], s.Location[1].Line[0]
		offset := caller.Line - caller.Function.StartLine
		have[fmt.Sprintf("%s\n%s\n%d", caller.Function.Name, callee.Function.Name, offset)] = uint64(s.Value[0])
	}
	if fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("have %v\nwant %v", have, want)
	}
	if testing.Short() {
		t.Skip("runs go tool preprofile; run without -short")
	}
	file := filepath.Join(t.TempDir(), "default.pgo")
	if err := os.WriteFile(file, out, 0o666); err != nil {
		t.Fatal(err)
	}
	// The tool writes what the compiler reads of a profile.
	text, err := exec.Command("go", "tool", "preprofile", "-i", file, "-o", file+".pre").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if text, err = os.ReadFile(file + ".pre"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	read := make(map[string]uint64)
	for edge := range slices.Chunk(lines, 3) {
		var offset, weight uint64
		if _, err := fmt.Sscan(edge[2], &offset, &weight); err != nil {
			t.Fatal(err)
		}
		read[fmt.Sprintf("%s\n%s\n%d", edge[0], edge[1], offset)] = weight
	}
	if fmt.Sprint(read) != fmt.Sprint(want) {
		t.Errorf("the compiler reads %v\nwant %v", read, want)
	}
}
