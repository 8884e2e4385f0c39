//go:build !linux

package doctor

import "os"

// Elsewhere no program can be built that these would be of interest to.
const (
	limitFileSize = iota
	limitAddressSpace
	limitTimers
)

func limitOf(int) (most uint64, limited bool) { return 0, false }

func diskOf(string) (free uint64, noExec bool, err error) { return 1 << 62, false, nil }

func mappable(*os.File) error { return nil }
