package goroot

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// # A GOROOT that is instrumented
//
// Its version is that of Go with a suffix, as vendors have them: go1.26.8-stemma.0123456789ab.

// InstrumentedVersion returns the version of a GOROOT that stemma makes of another one.
func InstrumentedVersion(goVersion, key string) string {
	version, experiments, more := strings.Cut(goVersion, " ")
	version += layout.VersionSuffix + key
	if more {
		version += " " + experiments
	}
	return version
}

// isInstrumented reports whether a version is one of these.
func isInstrumented(goVersion string) bool { return strings.Contains(goVersion, layout.VersionSuffix) }

// CompilerOptions is the variable of the compiler that has its options if the environment has none.
const CompilerOptions = "cmd/compile/internal/ssagen.stemmaBuiltIn"

// OptionsFile declares the options that programs start with.
const OptionsFile = "runtime/stemma.go"

// WithOptions returns that file with the options in it, which in other builds the linker sets.
func WithOptions(file []byte, options string) ([]byte, error) {
	old := []byte("\nvar stemmaOptions string\n")
	if bytes.Count(file, old) != 1 {
		return nil, fmt.Errorf("%s: have %d declarations of stemmaOptions, want 1", OptionsFile, bytes.Count(file, old))
	}
	return bytes.Replace(file, old, fmt.Appendf(nil, "\nvar stemmaOptions string = %q\n", options), 1), nil
}
