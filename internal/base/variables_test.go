package base

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the page of variables anew")

// TestVariablesPage compares the page with the table.
func TestVariablesPage(t *testing.T) {
	const file = "../../docs/reference/variables.md"
	want := VariablesPage()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil || string(have) != want {
		t.Errorf("%s (%v) is not what the table says; run go test ./internal/base -run Variables -update", file, err)
	}
}
