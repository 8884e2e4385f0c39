package e2e

import "testing"

// TestShareable adds metrics to flags that name one for which the library is compiled once more, unless all
// combinations are tried.
func TestShareable(t *testing.T) {
	for _, test := range []struct {
		flag string
		full bool
		want string
	}{
		{"-metrics=calls,alloc", false, "-metrics=calls,alloc,wait,ops"},
		{"-metrics=calls,inuse", false, "-metrics=calls,inuse,alloc,wait,ops"},
		{"-metrics=calls,wait,cpu", false, "-metrics=calls,wait,cpu,alloc,ops"},
		{"-metrics=calls,alloc", true, "-metrics=calls,alloc"},
		{"-metrics=calls,cpu", false, "-metrics=calls,cpu,alloc,wait,ops"},
		{"-metrics=calls,cpu", true, "-metrics=calls,cpu"},
		{"-metrics=calls", false, "-metrics=calls"},
		{"-engine=cct", false, "-engine=cct"},
	} {
		given := []string{"-x", test.flag}
		if have := shareable(given, test.full); have[1] != test.want || given[1] != test.flag || have[0] != "-x" {
			t.Errorf("%s, full %t: have %q, want %s", test.flag, test.full, have, test.want)
		}
	}
}
