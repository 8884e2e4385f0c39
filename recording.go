package stemma

import (
	"errors"
	_ "unsafe" // for go:linkname
)

// A recordingAPI is what the runtime of a program provides that records anything.
type recordingAPI struct {
	State func() (dir, problem string)
}

// recordingRuntime is nil in a normal build, for the reason that runtimeAPI gives.
//
//go:linkname recordingRuntime runtime.stemmaRecordingAPI1
var recordingRuntime *recordingAPI

// Recording returns the live directory that this process records into: its absolute name,
// which stemma report, stemma decode and package profile take at any time. If nothing is
// recorded, dir is "" and the error tells what became of the directories that were tried.
// The same was said on standard error when the program started. In a normal build both
// are zero.
//
// A directory belongs to one start of one process: it is made new each time, and its name
// cannot be told beforehand.
func Recording() (dir string, err error) {
	if recordingRuntime == nil {
		return "", nil
	}
	dir, problem := recordingRuntime.State()
	if dir == "" {
		return "", errors.New("stemma: nothing is recorded: " + problem)
	}
	return dir, nil
}
