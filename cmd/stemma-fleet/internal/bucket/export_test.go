package bucket

import "os"

// OnSync has f called with each file and directory that is synced, until the function that it returns is called.
func OnSync(f func(name string)) (end func()) {
	former := syncFile
	syncFile = func(file *os.File) error { f(file.Name()); return former(file) }
	return func() { syncFile = former }
}

// Lists is what checks the answers of Google's servers to questions for a list.
type Lists = lists
