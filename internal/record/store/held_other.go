//go:build !linux

package store

import "os"

// IsHeld reports whether a program still records; elsewhere than on Linux none does.
func IsHeld(string) bool { return false }

// Holds is IsHeld, of a file that is open.
func Holds(*os.File) bool { return false }

// Hold does nothing.
func Hold(*os.File) error { return nil }
