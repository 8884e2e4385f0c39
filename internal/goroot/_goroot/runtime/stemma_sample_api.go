// What package stemma of a sampled program calls.

package runtime

import _ "unsafe" // for go:linkname

// A stemmaSamplingProgram is what the program's package stemma finds in
// stemmaSamplingAPI. Its type there is another one of the same layout.
type stemmaSamplingProgram struct {
	version  uint64
	start    func(interval int64)
	stop     func()
	retrieve func()
	state    func() (active bool, interval int64)
	dir      func() string
	sample   func(id uint64)
	labeled  func(id uint64, key, value string) int
}

// stemmaSamplingAPI is nil in a program that is not built for sampling.
//
//go:linkname stemmaSamplingAPI
var stemmaSamplingAPI *stemmaSamplingProgram

var stemmaSamplingAPIs = stemmaSamplingProgram{3, stemmaProgramStart, stemmaStopSampling, stemmaProgramRetrieve,
	stemmaProgramState, stemmaProgramDir, stemmaProgramSample, stemmaProgramSampleLabeled}

// stemmaProgramStart starts sampling for the program; 0 stands for the
// interval of the build.
func stemmaProgramStart(interval int64) {
	if interval <= 0 {
		interval = stemmaSmp.interval.Load()
	}
	stemmaStartSampling(max(interval, 10e3))
}

// stemmaProgramRetrieve completes what is pending, so that a reader of the live
// directory finds all samples.
func stemmaProgramRetrieve() {
	stemmaRetrieveAll()
	systemstack(stemmaDrain)
}

func stemmaProgramState() (bool, int64) {
	return stemmaSmp.active.Load() != 0, stemmaSmp.interval.Load()
}

// stemmaProgramDir returns the live directory, "" if the record is in memory only.
func stemmaProgramDir() string {
	if stemma.dirlen == 0 || !stemmaSmp.on {
		return ""
	}
	return string(stemma.dir[:stemma.dirlen])
}
