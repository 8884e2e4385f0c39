package engine

import "slices"

// lacks are the names of the engines and metrics that an architecture does not have yet. It is no map, since the linker
// cannot lay one out, and each program that imports package stemma would have the code that makes it.
var lacks = []struct {
	arch  string
	names []string
}{
	{"arm64", []string{"pcc"}},
}

// Lacks reports whether an engine or a metric is not there for an architecture yet.
func Lacks(goarch, name string) bool {
	for _, l := range lacks {
		if l.arch == goarch {
			return slices.Contains(l.names, name)
		}
	}
	return false
}
