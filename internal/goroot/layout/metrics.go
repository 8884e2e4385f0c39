package layout

// MaxMetrics is how many metrics of its own a program may have.
const MaxMetrics = 64

// ReservedMetrics are the names of the metrics that stemma has itself, present and former, and of what sealed files
// have beside them.
const ReservedMetrics = "calls ops alloc_space alloc_objects inuse_space inuse_objects cpu samples wait waits delay " +
	"contentions run goroutines existing idle requests encoding alloc allocs live objects held holds func parent cell"

// IsReservedMetric reports whether s is one of ReservedMetrics.
func IsReservedMetric(s string) bool {
	for begin, i := 0, 0; i <= len(ReservedMetrics); i++ {
		if i == len(ReservedMetrics) || ReservedMetrics[i] == ' ' {
			if ReservedMetrics[begin:i] == s {
				return true
			}
			begin = i + 1
		}
	}
	return false
}

// IsMetricWord reports whether s can be the name or the unit of a metric of the program's own.
func IsMetricWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if letter := 'a' <= c|0x20 && c|0x20 <= 'z'; !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return 0 < len(s) && len(s) <= 64
}
