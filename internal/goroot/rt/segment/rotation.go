package segment

// A Rotation says when a segment ends, and which are kept.
type Rotation struct {
	Every int64  // nanoseconds
	Bytes uint64 // by which the record may grow in a segment, 0 for any
	Keep  uint64 // how many segments
	Age   int64  // nanoseconds since their end, 0 for any
}

// Bounds of a Rotation.
const (
	MostKept  = 1 << 16
	LeastTime = 1e6 // nanoseconds
)

// RotationWanted says what ParseRotation takes.
const RotationWanted = "a time, such as 1h, and behind it any of a size (512MiB), a number of segments to keep " +
	"(100), and how long to keep them (7d), separated by commas"

// ParseRotation returns what s says: 1h,512MiB,100,7d. The first is a time, the others are known by their units.
func ParseRotation(s string) (r Rotation, ok bool) {
	for begin, i := 0, 0; i <= len(s); i++ {
		if i < len(s) && s[i] != ',' {
			continue
		}
		if !r.set(s[begin:i], begin == 0) {
			return Rotation{}, false
		}
		begin = i + 1
	}
	if r.Keep == 0 {
		r.Keep = MostKept
	}
	return r, true
}

// set takes a word of a rotation.
func (r *Rotation) set(word string, first bool) bool {
	n, unit := uint64(0), word
	for unit != "" && '0' <= unit[0] && unit[0] <= '9' && n < 1<<40 {
		n, unit = 10*n+uint64(unit[0]-'0'), unit[1:]
	}
	times, bytes := timeUnit(unit), sizeUnit(unit)
	switch {
	case n == 0 || n >= 1<<40:
		return false
	case times != 0 && n < (1<<62)/times && n*times >= LeastTime && (first || r.Age == 0):
		if first {
			r.Every = int64(n * times)
		} else {
			r.Age = int64(n * times)
		}
	case bytes != 0 && n < 1<<50/bytes && !first && r.Bytes == 0:
		r.Bytes = n * bytes
	case unit == "" && !first && r.Keep == 0 && n <= MostKept:
		r.Keep = n
	default:
		return false
	}
	return true
}

// timeUnit returns the nanoseconds of a unit of time, 0 of anything else, and sizeUnit the bytes of one of sizes.
func timeUnit(unit string) uint64 {
	switch unit {
	case "ms":
		return 1e6
	case "s":
		return 1e9
	case "m":
		return 60e9
	case "h":
		return 3600e9
	case "d":
		return 24 * 3600e9
	}
	return 0
}

func sizeUnit(unit string) uint64 {
	switch unit {
	case "KiB":
		return 1 << 10
	case "MiB":
		return 1 << 20
	case "GiB":
		return 1 << 30
	case "kB", "KB":
		return 1e3
	case "MB":
		return 1e6
	case "GB":
		return 1e9
	}
	return 0
}
