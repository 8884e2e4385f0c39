package objabi

import "strings"

// stemmaSpecial returns the package that the one with the given path is treated like: those that are added to the
// runtime are like one of its own.
func stemmaSpecial(pkgPath string) string {
	const added = "internal/runtime/stemma"
	if rest, ok := strings.CutPrefix(pkgPath, added); ok && (rest == "" || rest[0] == '/') {
		return "internal/runtime/atomic"
	}
	return pkgPath
}
