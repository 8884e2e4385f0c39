// Package process is what a command has of the process that it runs in: streams, a pager, children.
package process

import "io"

// Env is what a command gets from the process that it runs in.
// Tests put buffers in; commands use nothing of package os in their place. The
// streams go to children as they are, so that a terminal stays one.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}
