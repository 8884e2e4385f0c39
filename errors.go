package stemma

import (
	"errors"
	"fmt"

	"github.com/stemma-go/stemma/internal/goroot/layout"
)

// Errorf is fmt.Errorf for an error that remembers the context of this call, in
// 24 bytes instead of a stack. See [WrapError].
func Errorf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if runtimeAPI == nil {
		return err
	}
	return remember(err, Here())
}

// WrapError returns an error that wraps err, has the same message, and remembers
// the context of this call. [ContextOf] returns the context, and the verb %+v shows
// its ID behind the message. If err already remembers the context where it arose,
// WrapError returns err as it is. For nil it returns nil.
//
// With -events=error each new error is also an event: see stemma events.
//
// In a normal build it returns err.
func WrapError(err error) error {
	if runtimeAPI == nil || err == nil {
		return err
	}
	return remember(err, Here())
}

// remember returns err with the context id, and records the event.
func remember(err error, id ID) error {
	if _, known := ContextOf(err); known || id.IsZero() {
		return err
	}
	runtimeAPI.Event(layout.EventError, 0)
	return &contextError{err, id}
}

// ContextOf returns the context that err, or an error that it wraps, remembers.
// Of several it is that of the first one that errors.As finds. An error whose methods panic, as those of a nil pointer
// may, has none: who logs it is not to end by that.
func ContextOf(err error) (id ID, ok bool) {
	defer func() {
		if recover() != nil {
			id, ok = ID{}, false
		}
	}()
	e, ok := errors.AsType[*contextError](err)
	if !ok {
		return ID{}, false
	}
	return e.id, true
}

// A contextError is an error with the context that it arose in.
type contextError struct {
	err error
	id  ID
}

func (e *contextError) Error() string { return e.err.Error() }
func (e *contextError) Unwrap() error { return e.err }

// StackFrames returns the frames of the context, innermost first, through the go statements of the goroutine's
// ancestors; without those whose program counter is not known. Sentry's SDK calls it by reflection, and reads the field
// PC. The context is decoded by this call, in the process. A program in which nothing calls a method of this name does
// not link what decodes.
func (e *contextError) StackFrames() []Frame {
	s, err := Decode(e.id)
	if err != nil {
		return nil
	}
	var frames []Frame
	for _, section := range s.Sections {
		for _, f := range section {
			if f.PC != 0 {
				frames = append(frames, f)
			}
		}
	}
	return frames
}

// contextID returns the context. Whoever looks for it by this method does not refer to the type, which would link its
// other methods.
func (e *contextError) contextID() plainID { return plainID(e.id) }

// Format implements fmt.Formatter. %+v is the error's own %+v and the ID; all
// other verbs and flags are the error's own business.
func (e *contextError) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, fmt.FormatString(s, verb), e.err)
	if verb == 'v' && s.Flag('+') {
		fmt.Fprintf(s, " [%s]", e.id)
	}
}
