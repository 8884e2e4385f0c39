package exithook

// StemmaSave returns the context that the caller of the exit hooks left in g, and
// StemmaPut puts it back. The runtime, which this package cannot import, sets both
// when it is initialised.
var (
	StemmaSave func() [4]uintptr
	StemmaPut  func([4]uintptr)
)
