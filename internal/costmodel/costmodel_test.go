package costmodel

import (
	"bytes"
	"strings"
	"testing"
)

func TestTables(t *testing.T) {
	for _, name := range Names() {
		table, err := Find(name, "go1.26.8")
		if err != nil {
			t.Error(err)
			continue
		}
		var b bytes.Buffer
		if err := table.Write(&b); err != nil {
			t.Fatal(err)
		}
		again, err := read(&b)
		if err != nil {
			t.Fatal(err)
		}
		if again.Costs != table.Costs || again.Release != table.Release {
			t.Errorf("%s: have %v after writing, want %v", name, again, table)
		}
		sum := 0.0
		for class, c := range table.Costs {
			if c < 0 || c > 100 {
				t.Errorf("%s: class %d costs %g", name, class, c)
			}
			sum += c
		}
		if sum == 0 {
			t.Errorf("%s: nothing costs anything", name)
		}
	}
}

func TestFindFails(t *testing.T) {
	for _, c := range []struct{ name, version, want string }{
		{"plan9-mips", "go1.26.8", `no costs for "plan9-mips" (have linux-`},
		{"linux-arm64", "go1.27.4", "no costs for linux-arm64 and go1.27.4 (have linux-amd64 go1.26, "},
		{"linux-arm64", "go1.260.1", "no costs for linux-arm64 and go1.260.1 (have "},
		{"linux-arm64", "", "and an unknown Go version (have "},
	} {
		if _, err := Find(c.name, c.version); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: have error %v, want %q", c.name, c.version, err, c.want)
		}
	}
}
