package profile

import "time"

// Sampling is how a process was sampled.
type Sampling struct {
	Sampler  string // "jvmti", "stw", "sps" or "isps"
	Walk     string // "unwinder", "fp", "incremental" or "marker"
	At       string // "signal": at any instruction; "prologue": in function prologues
	Interval time.Duration
	Stats    []Loss   // what the sampler counted, without zero entries
	Latency  []Bucket // samples by the time from request to end, ascending
}

// A Bucket counts samples with at least a latency, and less than the next bucket's.
type Bucket struct {
	Floor time.Duration
	Count uint64
}

// Values of Sampling.At.
const (
	AtSignal   = "signal"
	AtPrologue = "prologue"
)

// PrologueBias is a note on every process that was sampled in function prologues.
const PrologueBias = "samples are biased: they were taken in function prologues (-sample-at=prologue), so that time " +
	"in loops, assembly, the runtime and system calls is charged to the function that is called next"

// StopBias is a note on every process that was sampled where the world stops.
const StopBias = "samples are biased: they were taken where goroutines stop (-sampler=jvmti), so that time " +
	"in assembly and the runtime is charged to a caller or to the function that is called next"

// Stat returns a counter of the sampler by its name, 0 if it has none.
func (s *Sampling) Stat(name string) uint64 {
	for _, st := range s.Stats {
		if st.Kind == name {
			return st.Count
		}
	}
	return 0
}

// Quantile returns the latency that a share q of the samples did not exceed, to the
// precision of the buckets: the floor of the bucket.
func (s *Sampling) Quantile(q float64) time.Duration {
	var all, sum uint64
	for _, b := range s.Latency {
		all += b.Count
	}
	for _, b := range s.Latency {
		if sum += b.Count; float64(sum) >= q*float64(all) {
			return b.Floor
		}
	}
	return 0
}

// Subtract takes away from p what was sampled up to an earlier reading of the same live
// directory, so that the rest was sampled in between. Exact values, counters of the
// sampler and requests stay as they are.
func (p *Profile) Subtract(earlier *Profile) error {
	minus := *earlier
	minus.Columns, minus.Requests = nil, nil
	for _, c := range earlier.Columns {
		neg := Column{c.Metric, make([]uint64, len(c.Values))}
		for i, v := range c.Values {
			if c.Sampled {
				neg.Values[i] = -v
			}
		}
		minus.Columns = append(minus.Columns, neg)
	}
	m := newMerger()
	for _, part := range []*Profile{p, &minus} {
		if err := m.add(part); err != nil {
			return err
		}
	}
	p.Strings, p.Funcs, p.Nodes, p.Columns = m.p.Strings, m.p.Funcs, m.p.Nodes, m.p.Columns
	p.Requests = m.p.Requests
	return nil
}
