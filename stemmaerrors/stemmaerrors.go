// Package stemmaerrors gives errors the stack that pkg/errors and cockroachdb/errors look for.
//
// It is a module of its own: so stemma requires nothing for it.
package stemmaerrors

import (
	"fmt"

	"github.com/pkg/errors"

	"github.com/stemma-go/stemma"
)

// WithStack returns an error that wraps err, has the same message, and the method StackTrace of pkg/errors. The stack
// is that of the context that err remembers, as one of stemma.WrapError does; it is decoded when something asks for it,
// in the process. The verb %+v prints it behind the error's own text, in the form of pkg/errors. If err remembers no
// context, the stack is that of the call of WithStack, as with the function of pkg/errors. For nil WithStack returns
// nil. In a normal build, or one without IDs, it returns err itself.
func WithStack(err error) error {
	id, ok := stemma.ContextOf(err)
	if !ok {
		err = stemma.WrapError(err)
		id, ok = stemma.ContextOf(err)
	}
	if ok {
		return &withStack{err, id}
	}
	return err
}

// StackTrace returns the stack of the context that an error remembers, innermost frame first, and through the go
// statements of the goroutine's ancestors. It is nil if the error remembers none, or it cannot be decoded. Frames whose
// program counter is not known are left out.
func StackTrace(err error) errors.StackTrace {
	id, ok := stemma.ContextOf(err)
	if !ok {
		return nil
	}
	return trace(id)
}

// trace decodes a context.
func trace(id stemma.ID) (frames errors.StackTrace) {
	stack, err := stemma.Decode(id)
	if err != nil {
		return nil
	}
	for _, section := range stack.Sections {
		for _, f := range section {
			if f.PC != 0 && (len(frames) > 0 || f.Func != own) {
				frames = append(frames, errors.Frame(f.PC))
			}
		}
	}
	return frames
}

// own is the function that captures a context here, which is not part of the stack.
const own = "github.com/stemma-go/stemma/stemmaerrors.WithStack"

// A withStack is an error with a context.
type withStack struct {
	error
	id stemma.ID
}

// StackTrace is what pkg/errors and cockroachdb/errors look for, and Sentry.
func (e *withStack) StackTrace() errors.StackTrace { return trace(e.id) }

// Unwrap returns the error without the stack, and so does Cause, by which pkg/errors unwraps.
func (e *withStack) Unwrap() error { return e.error }

// Cause returns the error without the stack.
func (e *withStack) Cause() error { return e.error }

// Format implements fmt.Formatter.
func (e *withStack) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, fmt.FormatString(s, verb), e.error)
	if verb == 'v' && s.Flag('+') {
		e.StackTrace().Format(s, verb)
	}
}
