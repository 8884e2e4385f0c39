package builds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/bench/internal/measure"
)

func TestTimeBuildsChangesTheSource(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "main.go")
	if err := os.WriteFile(name, []byte("package main\n"), 0o444); err != nil {
		t.Fatal(err)
	}
	// Each build notes how long the source is.
	c := &measure.Command{Dir: dir, Args: []string{"sh", "-c", "wc -l <main.go >>lines"}}
	if _, err := timeBuilds(c); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "lines"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(strings.Fields(string(data)), " "), "1 3 3 5 5 7 7"; got != want {
		t.Errorf("lines at each build: %s, want %s", got, want)
	}
}
