package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// TestUnfinished names segments by a pattern, one of which is not complete: it is left out, unless it is all there is.
func TestUnfinished(t *testing.T) {
	live := filepath.Join(t.TempDir(), "p.1-abcdef")
	for _, suffix := range []string{"", ".000001"} {
		if err := os.CopyFS(live+suffix, recordtest.Shapes().FS()); err != nil {
			t.Fatal(err)
		}
	}
	for suffix, name := range map[string]string{".000002": "tree.new", ".000003": "note"} {
		if err := os.Mkdir(live+suffix, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(live+suffix, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := Load([]string{live + ".000001", live + ".000002"}); err != nil || len(r.Profiles) != 1 {
		t.Errorf("a complete segment and one that is not: %v", err)
	}
	whole := recordtest.Shapes()
	whole.Header(func(h *layout.Header) { h.Segment = 3 })
	if err := os.RemoveAll(live); err != nil {
		t.Fatal(err)
	}
	whole.WriteTo(t, live)
	if _, err := Load([]string{live + ".000001", live + ".000002"}); err == nil {
		t.Error("no error for a segment that was complete, and is being removed")
	}
	for _, paths := range [][]string{{live + ".000002"}, {live + ".000001", live + ".000003"}} {
		if _, err := Load(paths); err == nil || !strings.Contains(err.Error(), "no record") {
			t.Errorf("%q: error %v", paths, err)
		}
	}
}

// TestRestWithoutSegments asks for what is in no segment of a record that has none: one of a tree, and one of context
// IDs. The whole would be taken for the rest.
func TestRestWithoutSegments(t *testing.T) {
	tree, ids := recordtest.Shapes().FS(), recordtest.NewContexts("p").FS()
	for name, live := range map[string]fs.FS{"tree": tree, "ids": ids} {
		dir := filepath.Join(t.TempDir(), "p.1-abcdef")
		if err := os.CopyFS(dir, live); err != nil {
			t.Fatal(err)
		}
		if _, err := Load([]string{dir}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := Load([]string{dir + RestSuffix}); err == nil ||
			!strings.HasPrefix(err.Error(), dir+RestSuffix) || !strings.Contains(err.Error(), "no segments") {
			t.Errorf("%s: the rest has the error %v, want one that names it, and why there is none", name, err)
		}
	}
}
