package x86

import "cmd/internal/obj"

// isStemmaEnter reports whether s is the slow path of the entry of an instrumented function.
// It saves all registers and needs little stack, so that a function which
// calls nothing else is still a leaf.
func isStemmaEnter(s *obj.LSym) bool {
	return s != nil && (s.Name == "runtime.stemmaEnter" || s.Name == "runtime.stemmaEnterChecked")
}
