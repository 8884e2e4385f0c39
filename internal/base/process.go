package base

import "io"

// Env is what a command gets from the process that it runs in.
// Tests put buffers in; commands use nothing of package os in their place. The
// streams go to children as they are, so that a terminal stays one.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}
