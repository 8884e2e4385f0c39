package engine

import "slices"

// lacks are the names of the engines and metrics that an architecture does not have yet.
var lacks = map[string][]string{
	"arm64": {"pcc"},
}

// Lacks reports whether an engine or a metric is not there for an architecture yet.
func Lacks(goarch, name string) bool { return slices.Contains(lacks[goarch], name) }
