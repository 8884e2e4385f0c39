package machine

import (
	"bufio"
	"strings"
	"testing"
)

func TestModelName(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\nmodel name\t: Fast 3: 2 GHz\nmodel name\t: other\n": "Fast 3: 2 GHz",
		"processor\t: 0\n": "unknown CPU",
	} {
		if got := modelName(bufio.NewScanner(strings.NewReader(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	tree, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	if tree.GOROOT == "" || !strings.HasPrefix(tree.GoVersion, "go") {
		t.Errorf("got %+v", tree)
	}
	t.Chdir("/")
	if tree, err := Find(); err == nil {
		t.Errorf("outside of bench: %+v, want an error", tree)
	}
}
