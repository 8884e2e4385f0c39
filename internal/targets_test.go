package internal

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// targetTables are the files, other than those that belong to an architecture, that may name one: a table on each side,
// see docs/internals/PORTING.md.
var targetTables = []string{
	"internal/testing/e2e/arch.go",     // emulators
	"internal/engine/lacks.go",         // engines and metrics that are not there yet
	"internal/goroot/gate.go",          // what is supported
	"internal/goroot/hooks_targets.go", // files of Go's compiler
	"internal/goroot/_goroot/cmd/compile/internal/ssa/stemma_target.go",
	"internal/toolchain/toolchain.go", // names of variables
}

// ofTarget matches the files of an architecture: by the suffix that the go command knows, by the one that the compiler
// uses, which is for all targets at once, and by the directories of the compiler.
var ofTarget = regexp.MustCompile(`_(amd64|arm64)\.(go|s)$|/stemma(AMD64|ARM64)\.go$|/(amd64|arm64|x86)/stemma\.go$`)

// TestTargets keeps what depends on an architecture in files of its own, so that the next one is a list of files.
func TestTargets(t *testing.T) {
	names := regexp.MustCompile(`(?i)amd64|arm64`)
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			name := d.Name()
			if name == "testdata" || name == "bench" || len(name) > 2 && name[0] == '.' {
				return filepath.SkipDir
			}
			return nil
		}
		name := filepath.ToSlash(strings.TrimPrefix(file, "../"))
		isGo := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
		if !isGo && !strings.HasSuffix(name, ".s") || ofTarget.MatchString(name) ||
			slices.Contains(targetTables, name) {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if found := names.FindString(line); found != "" {
				t.Errorf("%s:%d: %s; want it in a file of that architecture, or in one of %v", file, i+1, found,
					targetTables)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
