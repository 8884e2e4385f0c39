package command

import (
	"os"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/engine"
)

// TestCommandsPage compares docs/reference/commands.md with what help says.
func TestCommandsPage(t *testing.T) {
	const file = "../../docs/reference/commands.md"
	want := commandsPage()
	for _, f := range engine.Flags {
		named := strings.Contains(want, "\n  -"+f.Name+" ") || strings.Contains(want, "\n  -"+f.Name+"\n")
		if named != (f.Help != "") {
			t.Errorf("-%s: is on the page: %v", f.Name, named)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil || string(have) != want {
		t.Errorf("%s (%v) is not what help says; run go test ./internal/command -run CommandsPage -update", file, err)
	}
}
