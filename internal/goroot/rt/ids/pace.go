package ids

// A Pace decides when to re-encode (DACCE, section 4). All times are in nanoseconds. It needs no lock: what is
// decided a moment too early or too late does no harm.
type Pace struct {
	Every  int64  // from one re-encoding to the next, 0 for whenever it pays
	next   int64  // not before this time
	last   int64  // end of the last re-encoding
	cost   int64  // what the last one took, as its size tells: the clock would count the time of others
	frames uint64 // that had been rewritten then
	pushes uint64 // then
	rate   uint64 // pushes a millisecond in the time before, see pushRate
	worth  int64  // how many times the cost of a re-encoding pushes must have cost before it is tried to spare some
}

const (
	missCost   = 70      // of an entry through the slow path
	stepMisses = 8       // entries through the slow path that cost as much as layout.SeenEdgeStep counted pushes
	pushCost   = 20      // of a push
	stopCost   = 50e3    // of a stop of the world
	planCost   = 80      // of a plan, for each function and edge
	frameCost  = 150     // of a frame that gets a new word
	missMin    = 256     // entries below which nothing is due
	pushMin    = 1 << 14 // pushes since the last re-encoding below which none is due for them
	pushMany   = 1 << 20 // and what is many of them
	interval   = 1e6     // between re-encodings, at least
	lateEdges  = 1e9     // after which a new edge is encoded however rare it is, at least:
	lateShare  = 1000    // so many times what the last re-encoding has cost
	worthMin   = 4       // times that, at first, see Pace.worth
	worthMax   = 1 << 20 // and at most
	impatient  = 100e6   // after which a higher rate of pushes makes one due
	patient    = 10e9    // after which many pushes do
)

// A Work is what is done because the current epoch does not encode all.
type Work struct {
	Missed    uint64 // as Dacce.Missed returns
	Unplanned uint32 // as Dacce.Unplanned returns
	Pushes    uint64 // of the ccStack, since the program began
	Frames    uint64 // that were rewritten, since the program began
}

// Work returns what has been done so far.
func (c *Dacce) Work() Work {
	return Work{c.Missed(), c.Unplanned(), c.pushed + c.Stats().Pushes, c.rewritten}
}

// Init makes p that of a program that begins.
func (p *Pace) Init(every int64) { *p = Pace{Every: every, worth: worthMin} }

// Missed reports whether the slow path has cost as much as a re-encoding without the frames that it makes others
// rewrite, or one is due at any rate. It is a short answer for each entry: Due decides.
func (p *Pace) Missed(missed uint64) bool {
	return p.Every != 0 || missed >= missMin && int64(missed)*missCost >= p.cost
}

// Due reports whether a re-encoding is due: the slow path has cost as much as the last one has, with the frames that
// were rewritten since; there are new edges; or pushes have cost several times as much, since another encoding may
// spare some. It may not: each time that nothing new was known, they must have cost twice as much as before. Then
// one is due if it is long ago that they were looked at, or if they are twice as many as before: hot paths have
// changed. Calls along encoded edges cost the same, hot or not.
func (p *Pace) Due(now int64, w Work) bool {
	cost := p.cost + frameCost*int64(w.Frames-p.frames)
	pushes, passed := w.Pushes-p.pushes, now-p.last
	switch {
	case now < p.next:
		return false
	case p.Missed(w.Missed) && (p.Every != 0 || int64(w.Missed)*missCost >= cost):
		return true
	case w.Unplanned > 0 && passed > max(lateEdges, cost*lateShare):
		return true
	case pushes < pushMin || int64(pushes)*pushCost < cost:
		return false
	case int64(pushes)*pushCost >= cost*p.worth:
		return true
	case pushes < pushMany || passed <= impatient:
		return false
	}
	return passed > patient || pushRate(pushes, passed) > 2*p.rate
}

// Done notes that a re-encoding for so many functions and edges began and ended, at the times given, and what had been
// done by then. Edges is how many it was the first to know.
func (p *Pace) Done(began, ended int64, size, edges uint32, w Work) {
	p.rate = pushRate(w.Pushes-p.pushes, ended-p.last)
	p.pushes, p.frames, p.last = w.Pushes, w.Frames, ended
	p.cost = stopCost + planCost*int64(size)
	p.next = ended + interval
	if p.Every != 0 {
		p.next = began + p.Every
	}
	if p.worth = min(2*p.worth, worthMax); edges > 0 {
		p.worth = max(p.worth/4, worthMin)
	}
}

// pushRate returns how many pushes a millisecond, about, so many in so much time are.
func pushRate(pushes uint64, passed int64) uint64 { return pushes / (uint64(passed)>>20 + 1) }
