package toolchain

import (
	"strings"
	"testing"
)

// TestFlagsOfEngines gives every flag of the table to every engine: it is refused by
// those that it is not for, whatever its value, with what there is instead.
func TestFlagsOfEngines(t *testing.T) {
	refused := 0
	for flag, list := range flagEngines {
		for _, engine := range append([]string{cctAcct}, engines...) {
			o := DefaultOptions
			o.Engine, o.Given = engine, []string{flag}
			err := o.Check()
			if contains(list, engine) {
				if err != nil {
					t.Errorf("-%s with -engine=%s: %v", flag, engine, err)
				}
				continue
			}
			refused++
			if err == nil {
				t.Errorf("-%s with -engine=%s is accepted", flag, engine)
				continue
			}
			for _, want := range append([]string{"-" + flag + " does nothing with -engine=" + engine + ": it is for -engine=", engine + " has "}, list...) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("-%s with -engine=%s: %v; want %q in it", flag, engine, err, want)
				}
			}
		}
	}
	if refused < 50 {
		t.Errorf("only %d pairs of a flag and an engine are refused", refused)
	}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
