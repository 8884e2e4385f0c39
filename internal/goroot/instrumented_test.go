package goroot

import (
	"os"
	"path"
	"strings"
	"testing"
)

// TestInstrumentedVersion gives versions that tools take for those of a vendor, and that stemma knows.
func TestInstrumentedVersion(t *testing.T) {
	for version, want := range map[string]string{
		"go1.26.8":              "go1.26.8-stemma.abc",
		"go1.27.4 X:jsonv2,foo": "go1.27.4-stemma.abc X:jsonv2,foo",
	} {
		have := InstrumentedVersion(version, "abc")
		if have != want {
			t.Errorf("%s: have %q, want %q", version, have, want)
		}
		if _, err := CheckVersion(have); err == nil || !strings.Contains(err.Error(), "made by stemma goroot") {
			t.Errorf("%s: have error %v", have, err)
		}
		if isInstrumented(version) {
			t.Errorf("%s: not instrumented", version)
		}
	}
}

// TestWithOptions puts options into the file that declares them, and finds the variable of the compiler.
func TestWithOptions(t *testing.T) {
	file, err := os.ReadFile(path.Join(tree, OptionsFile))
	if err != nil {
		t.Fatal(err)
	}
	have, err := WithOptions(file, "file=tree,verify=off")
	if err != nil || !strings.Contains(string(have), "\nvar stemmaOptions string = \"file=tree,verify=off\"\n") {
		t.Errorf("have error %v, and\n%s", err, have)
	}
	if _, err := WithOptions(have, "x"); err == nil {
		t.Error("no error for a file with options")
	}
	dir, name, _ := strings.Cut(CompilerOptions, ".")
	declared := false
	list, err := os.ReadDir(path.Join(tree, dir))
	for _, f := range list {
		text, _ := os.ReadFile(path.Join(tree, dir, f.Name()))
		declared = declared || strings.Contains(string(text), "\nvar "+name+" string\n")
	}
	if err != nil || !declared {
		t.Errorf("%s: not declared, %v", CompilerOptions, err)
	}
}
