package safety

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
	"github.com/stemma-go/stemma/internal/testing/e2e/settings"
)

// TestSettings runs a program with each setting that GODEBUG has in this release. What it does is what the plain build
// does. (go run ./settings in bench tries each engine and metric.)
func TestSettings(t *testing.T) {
	e2e.NeedBuilds(t)
	e2e.NeedFull(t)
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	list, err := settings.Find(strings.TrimSpace(string(goroot)))
	if err != nil {
		t.Fatal(err)
	}
	plain := e2e.Plain(t, "settings")
	exe := e2e.Build(t, "settings", "-metrics=calls,alloc,wait")
	out := t.TempDir()
	for _, s := range list {
		t.Run(s, func(t *testing.T) {
			t.Parallel()
			if err := settings.Compare(plain, exe, out, settings.Run{Setting: s}); err != nil {
				t.Error(err)
			}
		})
	}
}
