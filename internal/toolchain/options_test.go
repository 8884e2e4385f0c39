package toolchain

import (
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/engine"
)

// TestFlagsOfEngines gives every flag of the table to every engine: it is refused by
// those that it is not for, whatever its value, with what there is instead.
func TestFlagsOfEngines(t *testing.T) {
	refused := 0
	flags := make(map[string][]string)
	for _, e := range engine.List {
		for _, flag := range e.Flags {
			flags[flag] = append(flags[flag], e.Name)
		}
	}
	for flag, list := range flags {
		for _, e := range engine.List {
			engine := e.Name
			o := DefaultOptions
			o.Engine, o.Given = engine, []string{flag}
			err := o.Check()
			if slices.Contains(list, engine) {
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
