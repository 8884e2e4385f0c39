package memory

const (
	sysGettid     = 178
	sysSchedYield = 124
)
