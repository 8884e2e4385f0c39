package stemma

import (
	"errors"
	_ "unsafe" // for go:linkname
)

// A recordingAPI is what the runtime of a program provides that records anything.
type recordingAPI struct {
	State      func() (dir, problem string)
	CountInuse func() bool
	Bypass     func(f func())
}

// recordingRuntime is nil in a normal build, for the reason that runtimeAPI gives.
//
//go:linkname recordingRuntime runtime.stemmaRecordingAPI2
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

// ErrInuseNotRecorded is returned in a program whose reachable objects are not counted.
var ErrInuseNotRecorded = errors.New("stemma: the program is not built with -metrics=calls,alloc,inuse")

// CountInuse counts the objects that are reachable now, with the context in which each was allocated, and puts their
// numbers in the place of those in the record, as inuse_space and inuse_objects. They are counted at the end of the
// program in any case.
//
// It runs a collection, and then stops the world for as long as it takes to look at all objects.
func CountInuse() error {
	if recordingRuntime == nil || !recordingRuntime.CountInuse() {
		return ErrInuseNotRecorded
	}
	return nil
}

// CountLive is the former name of [CountInuse], for one release.
//
// Deprecated: use CountInuse.
func CountLive() error { return CountInuse() }

// ErrNotLive is the former name of [ErrInuseNotRecorded], for one release.
//
// Deprecated: use ErrInuseNotRecorded.
var ErrNotLive = ErrInuseNotRecorded

// Bypass calls f, of which nothing is recorded where calls are counted (engine cct): neither what it calls, allocates
// or waits for, nor what the goroutines do that it starts, nor deferred functions that run because f panics. Bypass
// itself is recorded. With other engines, and in a normal build, it calls f.
func Bypass(f func()) {
	if recordingRuntime == nil {
		f()
		return
	}
	recordingRuntime.Bypass(f)
}
