package contexts

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestPlugin loads a package at run time, which calls back. All contexts are compared with walks of
// the stack, and one that leads through the plugin is decoded.
func TestPlugin(t *testing.T) {
	e2e.NeedFull(t)
	for _, engine := range []string{"dacce", "pcce", "lucce"} {
		t.Run(engine, func(t *testing.T) {
			lib := e2e.BuildDir(t, "testdata/plugin/lib", "-engine="+engine, "-verify", "-buildmode=plugin")
			exe := e2e.BuildDir(t, "testdata/plugin", "-engine="+engine, "-verify")
			r := e2e.Run(t, exe, "PLUGIN="+lib, "STEMMA_CHECK_EVERY=1")
			if _, truncated := r.Verify(t); truncated != "" {
				t.Error(truncated)
			}
			out, err := exec.Command(e2e.Tool(t), "decode", r.Dir, strings.TrimSpace(r.Stdout)).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if strings.Join(decodedName.FindAllString(string(out), -1), " ") != inPlugin {
				t.Errorf("have %s, want these functions: %s", out, inPlugin)
			}
		})
	}
}

// decodedName is the name of a function, without its package's path, in what decode prints.
var decodedName = regexp.MustCompile(`(?m)\b(main|lib)\.\w+$`)

// inPlugin is how the callback was reached.
const inPlugin = "main.back lib.recur lib.recur lib.recur lib.recur lib.Work main.main"
