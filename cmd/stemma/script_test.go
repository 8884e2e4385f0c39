package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// binDir holds the stemma command that the scripts run.
var binDir string

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

// testMain builds stemma as a user would have it: it runs itself by its own
// path, which a test binary under another name could not.
func testMain(m *testing.M) int {
	var err error
	if binDir, err = os.MkdirTemp("", "stemma-script"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(binDir)
	cmd := exec.Command("go", "build", "-o", binDir+"/", ".")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "go build:", err)
		return 1
	}
	return m.Run()
}

// TestScript runs the scripts in testdata/script. Those that begin with
// "[short] skip" build programs, and with them the patched compiler if it is
// not in the cache.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		Setup:               setup,
		RequireExplicitExec: true,
	})
}

// setup gives scripts the caches of the user, so that they build only once.
func setup(env *testscript.Env) error {
	out, err := exec.Command("go", "env", "GOROOT", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOVERSION").Output()
	if err != nil {
		return err
	}
	goEnv := strings.Split(strings.TrimSpace(string(out)), "\n")
	userCache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	cache := os.Getenv("STEMMA_CACHE")
	if cache == "" {
		cache = filepath.Join(userCache, "stemma")
	}
	env.Setenv("PATH", binDir+":"+filepath.Join(goEnv[0], "bin")+":"+env.Getenv("PATH"))
	env.Setenv("GOROOT", goEnv[0])
	env.Setenv("GOCACHE", goEnv[1])
	env.Setenv("GOMODCACHE", goEnv[2])
	env.Setenv("GOPROXY", goEnv[3])
	env.Setenv("GOVERSION", goEnv[4])
	env.Setenv("GOTOOLCHAIN", "local")
	env.Setenv("GOENV", "off")
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	env.Setenv("STEMMA_ROOT", root) // for programs that import package stemma
	env.Setenv("STEMMA_BIN", binDir)
	env.Setenv("STEMMA_CACHE", cache)
	return nil
}
