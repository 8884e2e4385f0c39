package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

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
