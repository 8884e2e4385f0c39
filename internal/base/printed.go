package base

import (
	"errors"
	"io"
)

// Printed returns a command that prints line by line and does not look whether it can: the first write to standard
// output that fails is its error.
func Printed(run func(*Env, []string) error) func(*Env, []string) error {
	return func(e *Env, args []string) error {
		w := &checkedWriter{w: e.Stdout}
		inner := *e
		inner.Stdout = w
		return errors.Join(run(&inner, args), w.err)
	}
}

// A checkedWriter keeps the first error, and writes nothing behind it.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(b []byte) (n int, err error) {
	if c.err == nil {
		n, c.err = c.w.Write(b)
	}
	return n, c.err
}
