package bucket

import "os"

// OnSync has f called with each file and directory that is synced, until the function that it returns is called.
func OnSync(f func(name string)) (end func()) {
	former := syncFile
	syncFile = func(file *os.File) error { f(file.Name()); return former(file) }
	return func() { syncFile = former }
}

// Text returns what is shown of an error of a store's client.
func Text(err error) string { return (&clientError{err}).Error() }
