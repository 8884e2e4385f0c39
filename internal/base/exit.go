package base

import "fmt"

// Exit codes of the tool. The run and test commands pass on the program's own.
// The codes are part of the interface: scripts depend on them. A usage error is one
// that the same command line would always have.
const (
	ExitOK      = 0
	ExitFailure = 1
	ExitUsage   = 2

	ExitRegression = 3 // of diff: a limit is exceeded
)

// An Error carries an exit code that is not Failure, and no message if Err is nil.
type Error struct {
	Code int
	Err  error
}

// Error returns what a wrapping error shows; cli.Main does not print it if Err is nil.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap lets errors.Is see through the exit code.
func (e *Error) Unwrap() error { return e.Err }

// Usagef returns an error that makes the tool exit with code 2.
// The message names the command, or the flag, that is wrong.
func Usagef(format string, args ...any) error {
	return &Error{ExitUsage, fmt.Errorf(format, args...)}
}

// ExitWith returns an error that makes the tool exit with the code of a
// program that it ran, and no message: the program has said what there is to
// say. It is nil for 0.
func ExitWith(code int) error {
	if code == ExitOK {
		return nil
	}
	return &Error{Code: code}
}
