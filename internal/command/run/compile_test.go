package run

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/testing/pty"
)

// compileEnv makes a run of this test binary stand for stemma, with a go command that takes its time.
const compileEnv = "STEMMA_TEST_COMPILE"

func TestMain(m *testing.M) {
	if os.Getenv(compileEnv) == "" {
		os.Exit(m.Run())
	}
	const script = `printf '# pkg\nx.go:1: an error' >&2; sleep 2.5; echo ' and its end' >&2; sleep 1; exit 7`
	code, err := compile(&base.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr},
		exec.Command("sh", "-c", script))
	fmt.Fprintln(os.Stderr, "exit code", code, err)
}

// What the go command writes reaches the terminal as it is, while how far it is stands there, and nothing of that is
// left. Elsewhere it has a file that is its own.
func TestCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until a build takes long; run without -short")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ptm, pts := pty.Open(t)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), compileEnv+"=1", "TERM=xterm")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	cmd.Stdin, cmd.Stderr = pts, pts
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	const end = "exit code 7 <nil>\r\n"
	text := ""
	for !strings.HasSuffix(text, end) {
		part := make([]byte, 1000)
		n, err := ptm.Read(part)
		if err != nil {
			t.Fatal(err)
		}
		text += string(part[:n])
	}
	if !strings.HasPrefix(text, "# pkg\r\nx.go:1: an error and its end\r\n\r\x1b[Kstemma: building") {
		t.Errorf("%q", text)
	}
	if !strings.HasSuffix(text, "\r\x1b[K"+end) {
		t.Errorf("left on the terminal: %q", text)
	}
}
