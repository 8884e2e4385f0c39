package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stemma-go/stemma/internal/toolchain"
)

// Scripts runs the scripts in testdata/script or a directory below it. Those that begin
// with "[short] skip" build programs, and with them the patched compiler if it is not in
// the cache.
func Scripts(t *testing.T, below string) {
	exe, err := tool()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join(here(), "..", "..", "..", "testdata", "script", below),
		Setup:               func(env *testscript.Env) error { return setup(env, filepath.Dir(exe)) },
		RequireExplicitExec: true,
		Deadline:            deadline(t),
		Condition: func(cond string) (bool, error) {
			if cond == "full" {
				return Full(), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// deadline returns when scripts are to end, so that what they wait for is said; the zero time stands for never.
func deadline(t *testing.T) time.Time {
	end, ok := t.Deadline()
	if !ok {
		return time.Time{}
	}
	return end.Add(-15 * time.Second)
}

// setup gives scripts the caches of the user, so that they build only once, and stemma
// as a user would have it: it runs itself by its own path.
func setup(env *testscript.Env, bin string) error {
	out, err := exec.Command("go", "env", "GOROOT", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOVERSION").Output()
	if err != nil {
		return err
	}
	goEnv := strings.Split(strings.TrimSpace(string(out)), "\n")
	cache, err := toolchain.CacheDir()
	if err != nil {
		return err
	}
	env.Setenv("PATH", bin+":"+filepath.Join(goEnv[0], "bin")+":"+env.Getenv("PATH"))
	env.Setenv("GOROOT", goEnv[0])
	env.Setenv("GOCACHE", goEnv[1])
	env.Setenv("GOMODCACHE", goEnv[2])
	env.Setenv("GOPROXY", goEnv[3])
	env.Setenv("GOVERSION", goEnv[4])
	env.Setenv("GOTOOLCHAIN", "local")
	env.Setenv("GOENV", "off")
	env.Setenv("STEMMA_ROOT", filepath.Join(here(), "..", "..", "..")) // for programs that import package stemma
	env.Setenv("STEMMA_BIN", bin)
	env.Setenv("STEMMA_CACHE", cache)
	return nil
}
