package stemma

import "sync"

// maxKnown is how many contexts knownFingerprints has at most, about 4 MB. Then it begins anew.
const maxKnown = 1 << 16

// knownFingerprints has the fingerprints of contexts that were decoded in the process.
var knownFingerprints fingerprintCache

// A fingerprintCache remembers fingerprints by ID. Its zero value is empty.
type fingerprintCache struct {
	mu    sync.RWMutex
	known map[ID]Fingerprint
}

// FingerprintOf returns the fingerprint of a context of this process, the zero value if the ID cannot be decoded. A
// context that comes for the first time is decoded in the process, as [Decode] does it. That takes milliseconds once,
// and microseconds for each context; then it is remembered. To find fingerprints later costs the program nothing:
// stemma decode -fingerprint does that.
func FingerprintOf(id ID) Fingerprint { return knownFingerprints.of(id) }

// fingerprintText returns the text of the fingerprint of an ID, "" if it cannot be decoded.
func fingerprintText(id plainID) string { return knownFingerprints.of(ID(id)).String() }

// of returns the fingerprint of an ID, zero if it cannot be decoded. Failures are remembered as well: to try again for
// each record that is logged would read what the program has recorded since, each time.
func (c *fingerprintCache) of(id ID) Fingerprint {
	c.mu.RLock()
	f, ok := c.known[id]
	c.mu.RUnlock()
	if ok {
		return f
	}
	if s, err := Decode(id); err == nil {
		f = s.Fingerprint()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxKnown {
		c.known = make(map[ID]Fingerprint)
	}
	c.known[id] = f
	return f
}
