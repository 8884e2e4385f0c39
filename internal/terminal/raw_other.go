//go:build !linux

package terminal

import (
	"errors"
	"os"
)

// Raw is not known here.
func Raw(*os.File) (restore func() error, err error) { return nil, errors.ErrUnsupported }
