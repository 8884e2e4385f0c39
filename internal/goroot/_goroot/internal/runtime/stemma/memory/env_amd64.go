package memory

const (
	sysGettid     = 186
	sysSchedYield = 24
)
