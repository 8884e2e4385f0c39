package ids

// A Pace decides when to re-encode (DACCE, section 4). All times are in nanoseconds. It needs no lock: what is
// decided a moment too early or too late does no harm.
type Pace struct {
	Every   int64  // from one re-encoding to the next, 0 for whenever it pays
	next    int64  // not before this time
	last    int64  // end of the last re-encoding
	cost    int64  // what the last one took, as its size tells: the clock would count the time of others
	frames  uint64 // that had been rewritten then
	pushes  uint64 // then
	rate    uint64 // pushes a millisecond in the time before, see pushRate
	patient int64  // how long to wait before trying again to spare pushes
}

const (
	missCost   = 70      // of an entry through the slow path
	pushCost   = 20      // of a push
	stopCost   = 50e3    // of a stop of the world
	planCost   = 80      // of a plan, for each function and edge
	frameCost  = 150     // of a frame that gets a new word
	missMin    = 256     // entries below which nothing is due
	pushLimit  = 1 << 20 // pushes since the last re-encoding that make one due
	interval   = 1e6     // between re-encodings, at least
	lateEdges  = 1e9     // after which a new edge is encoded however rare it is, at least:
	lateShare  = 1000    // so many times what the last re-encoding has cost
	impatient  = 100e6
	maxPatient = 10e9
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
func (p *Pace) Init(every int64) { *p = Pace{Every: every, patient: impatient} }

// Missed reports whether the slow path has cost as much as a re-encoding without the frames that it makes others
// rewrite, or one is due at any rate. It is a short answer for each entry: Due decides.
func (p *Pace) Missed(missed uint64) bool {
	return p.Every != 0 || missed >= missMin && int64(missed)*missCost >= p.cost
}

// Due reports whether a re-encoding is due: the slow path has cost as much as the last one has, with the frames that
// were rewritten since; there are new edges; pushes are many, and either it is long ago that they were looked
// at, or they are twice as many as before: hot paths have changed. Calls along encoded edges
// cost the same, hot or not.
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
	case pushes < pushLimit || int64(pushes)*pushCost < cost || passed <= impatient:
		return false
	}
	return passed > p.patient || pushRate(pushes, passed) > 2*p.rate
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
	p.patient = min(2*p.patient, maxPatient)
	if edges > 0 {
		p.patient = impatient
	}
}

// pushRate returns how many pushes a millisecond, about, so many in so much time are.
func pushRate(pushes uint64, passed int64) uint64 { return pushes / (uint64(passed)>>20 + 1) }
