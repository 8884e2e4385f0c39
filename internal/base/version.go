package base

import "runtime/debug"

// Version returns the module version that this binary was built from.
// That of a binary built in a working tree is (devel), or what go makes of the
// commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
