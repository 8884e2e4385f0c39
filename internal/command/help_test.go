package command

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
)

// TestPlaceholders looks at the value that help shows for each flag: a word in capitals, or
// all that the flag takes.
func TestPlaceholders(t *testing.T) {
	good := regexp.MustCompile(`^(|[A-Z]+|[a-z-]+(\|[a-z-]+(:[A-Z]+)?)+)$`)
	for _, c := range commands() {
		var out bytes.Buffer
		commandHelp(&out, c)
		_, flags, _ := strings.Cut(out.String(), "\nflags:\n")
		for line := range strings.Lines(flags) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			if only := name == "-record" && value == "calls"; strings.HasPrefix(line, "  -") && !only &&
				!good.MatchString(value) {
				t.Errorf("stemma help %s: %s %s: want NAME or this|that", c.Name, name, value)
			}
		}
	}
}

// TestFullDisk has standard output on a full disk: what could not be printed is an error, whoever prints it.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here; it is a device of Linux: ", err)
	}
	defer full.Close()
	t.Chdir(t.TempDir())
	for _, args := range []string{"-h", "help", "help report", "help -man", "report -h", "version", "--version",
		"doctor", "doctor -report", "clean -n", "completion bash"} {
		var stderr strings.Builder
		code, err := Run(strings.Fields(args), strings.NewReader(""), full, &stderr)
		if code != base.ExitFailure || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: exit code %d, %v", args, code, err)
		}
	}
}
