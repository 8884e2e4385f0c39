package settings

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	_ "github.com/stemma-go/stemma/internal/testing/e2e" // its flags
)

// TestFind looks for settings of each table, and for values that are no numbers.
func TestFind(t *testing.T) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	list, err := Find(strings.TrimSpace(string(goroot)))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"inittrace=1", "checkfinalizers=2", "panicnil=1", "fips140=only", "zipinsecurepath=0",
		"scheddetail=1,schedtrace=5"} {
		if !slices.Contains(list, want) {
			t.Errorf("no %s", want)
		}
	}
	if len(list) < 120 {
		t.Errorf("%d settings, want all", len(list))
	}
}

func TestKinds(t *testing.T) {
	have := kindsOf("gc 1 @0.1s 0%: 1\ninit main @0.5 ms\nSCHED 5ms: gomaxprocs=2\npanic: x\n\n" +
		"goroutine 1 [running]:\nmain.main()\n\tmain.go:3\n")
	if len(have) != 3 || !have["gc"] || !have["init"] || !have["panic:"] {
		t.Errorf("kinds %v", have)
	}
}
