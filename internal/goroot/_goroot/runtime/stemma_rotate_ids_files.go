// The files of segments of context IDs, see stemma_rotate_ids.go. What may not have write barriers here runs without a
// P.

package runtime

import (
	"internal/runtime/stemma/events"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/segment"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// The files of a segment but for those of Ps, in the order in which they are made: the main one makes it a record.
const (
	stemmaIDsFuncs = iota
	stemmaIDsNodes
	stemmaIDsEncoding
	stemmaIDsMain
	stemmaIDsFiles
)

// stemmaIDsNames are the names of these files. With engine lucce there is a log instead of dictionaries.
var stemmaIDsNames = [stemmaIDsFiles]string{layout.FileFuncs, layout.FileNodes, layout.FileEpochs, layout.FileIDs}

// stemmaEventsAside makes ready where the events of a P are in each other segment. Where there are no addresses, or too
// many Ps, only those of each other segment are recorded, or those of the first. The world is stopped.
func stemmaEventsAside(pp *p, m *stemmaEventMemory, index, counts, log uintptr) {
	s := &stemmaIDs
	if !s.on {
		return
	}
	n, side := s.numPs.Load(), s.now
	if side == 1 { // the second one is current
		m.counts[0], m.counts[1] = m.counts[1], m.counts[0]
		m.log[0], m.log[1] = m.log[1], m.log[0]
		m.on[0], m.on[1] = m.on[1], m.on[0]
		m.logs[0], m.logs[1] = m.logs[1], m.logs[0]
		m.side = 1
	}
	if int(n) == len(s.ps) || !stemmaSpares(2*stemmaEvents.size+events.CountsArena(stemmaEvents.size)) {
		pp.stemma.events = 0 // in a later segment they would be in the files of this one
		stemma.record.Lost(layout.LostShards)
		return
	}
	at := func(p uintptr) unsafe.Pointer { return unsafe.Add(unsafe.Pointer(nil), p) }
	m.index[side], m.countsAt[side], m.logAt[side] = index, counts, log
	next := 1 - side
	m.index[next] = uintptr(stemmaReserve(0, events.CountsArena(stemmaEvents.size)))
	m.countsAt[next] = stemmaFilePlaceOfP(layout.FileCounts, pp)
	m.counts[next].Init(at(m.countsAt[next]), at(m.index[next]), stemmaEvents.size)
	if m.logs[side] {
		m.logAt[next] = stemmaFilePlaceOfP(layout.FileEvents, pp)
		m.log[next].Init(at(m.logAt[next]), stemmaEvents.size)
	}
	s.ps[n] = uintptr(unsafe.Pointer(m))
	s.numPs.Store(n + 1)
	s.mostP = max(s.mostP, int(pp.id)+1)
}

// make makes the files for the next segment, in the directory with the number ino. It returns the number of an error.
// Where a P has no addresses for them, its events are not recorded in that segment.
//
//go:nowritebarrierrec
func (m *stemmaEventMemory) make(ino uint64) (errno uintptr) {
	next := 1 - m.side
	m.on[next], m.logs[next] = false, false
	if m.index[next] != 0 && m.countsAt[next] != 0 {
		if errno = stemmaFileAt(m.countsAt[next]).makeIn(ino, false); errno != 0 {
			return errno
		}
		if m.on[next] = m.counts[next].Reset(); !m.on[next] {
			return linuxENOMEM
		}
	}
	if m.on[next] && m.logAt[next] != 0 {
		if errno = stemmaFileAt(m.logAt[next]).makeIn(ino, false); errno != 0 {
			return errno
		}
		if m.logs[next] = m.log[next].Reset(); !m.logs[next] {
			return linuxENOMEM
		}
	}
	m.ready = true
	return 0
}

// turn makes the next segment the current one. The world is stopped.
func (m *stemmaEventMemory) turn() {
	m.side, m.ready = 1-m.side, false
	if !m.on[m.side] {
		stemma.record.Lost(layout.LostShards)
	}
}

// cut cuts the files of the segment that has ended to what is in them.
//
//go:nowritebarrierrec
func (m *stemmaEventMemory) cut() {
	of := 1 - m.side
	if at := m.countsAt[of]; at != 0 && stemmaFileAt(at).have.Load() > 0 {
		stemmaFileAt(at).cut(uintptr(events.CountsBytes(unsafe.Pointer(at))))
	}
	if at := m.logAt[of]; at != 0 && stemmaFileAt(at).have.Load() > 0 {
		stemmaFileAt(at).cut(uintptr(events.EventsBytes(unsafe.Pointer(at))))
	}
}

// drop gives back what is not of the current segment.
//
//go:nowritebarrierrec
func (m *stemmaEventMemory) drop() {
	of := 1 - m.side
	m.ready = false
	for _, at := range [...]uintptr{m.countsAt[of], m.logAt[of]} {
		if at != 0 {
			stemmaFileAt(at).drop()
		}
	}
	if at := m.index[of]; at != 0 {
		stemmaMapOver(unsafe.Pointer(at), events.CountsArena(stemmaEvents.size), _PROT_NONE,
			_MAP_ANON|_MAP_PRIVATE|mapNoReserve, -1)
	}
}

// stemmaFilePlaceOfP is stemmaFilePlace for a file of events.
func stemmaFilePlaceOfP(prefix string, pp *p) uintptr {
	var name [16]byte
	n := copy(name[:], prefix)
	var digits [20]byte
	n += copy(name[n:], itoa(digits[:], uint64(pp.id)))
	return stemmaFilePlace(unsafe.String(&name[0], n), stemmaEvents.size)
}

// stemmaEventsOf returns what the P that was the i-th to come has for its events.
func stemmaEventsOf(i uint32) *stemmaEventMemory {
	return (*stemmaEventMemory)(unsafe.Pointer(stemmaIDs.ps[i]))
}

// stemmaIDsDirs makes and removes the files of segments.
type stemmaIDsDirs struct{ _ byte }

// Rest implements segment.Remover.
//
//go:nowritebarrierrec
func (*stemmaIDsDirs) Rest() bool { return stemmaRotate.files.Rest() }

// Remove implements segment.Remover.
//
//go:nowritebarrierrec
func (*stemmaIDsDirs) Remove(number uint64) (was bool, errno uintptr) {
	var path [len(stemma.dir) + 24]byte
	return stemmaRemoveIDs(stemmaSegmentPath(&path, number))
}

// stemmaRemoveIDs removes the directory of a segment, and reports whether it was one. Its main file goes first: without
// it the rest is no record.
//
//go:nowritebarrierrec
func stemmaRemoveIDs(path uintptr) (was bool, errno uintptr) {
	const noEntry = 2
	dir, errno := stemmaOpenSegment(path)
	if errno == noEntry {
		return false, 0
	}
	if errno != 0 {
		return false, errno
	}
	var name [16]byte
	remove := func(prefix string, p int) bool {
		name = [16]byte{}
		n := copy(name[:], prefix)
		if p >= 0 {
			var digits [20]byte
			copy(name[n:len(name)-1], itoa(digits[:], uint64(p)))
		}
		return stemmaRotate.files.unlink(dir, uintptr(unsafe.Pointer(&name)))
	}
	for i := len(stemmaIDsNames) - 1; i >= 0; i-- {
		if remove(stemmaIDsNames[i], -1) && i == stemmaIDsMain {
			was = true
		}
	}
	if stemmaEvents.kinds != 0 {
		for p := range stemmaIDs.mostP {
			remove(layout.FileCounts, p)
			if stemmaEvents.log {
				remove(layout.FileEvents, p)
			}
		}
	}
	closefd(dir)
	return was, uintptr(-stemmaCall(sysUnlinkat, atFDCWD, path, atRemoveDir))
}

// do does what the encoder asks for, and returns the number of an error.
//
//go:nowritebarrierrec
func (f *stemmaIDsDirs) do(what uint32) (errno uintptr) {
	s := &stemmaIDs
	stemmaRotate.rested = nanotime()
	switch what {
	case stemmaIDsPrepare:
		return f.prepare()
	case stemmaIDsFill:
		return f.fill()
	case stemmaIDsLeave:
		f.leave()
	case stemmaIDsFinish:
		if s.state.CompareAndSwap(stemmaIDsSwitched, stemmaIDsFinished) {
			f.complete()
			f.forget()
		}
	}
	return 0
}

// fill writes what is known of functions, and of the encoding, to the records of the next segment. Then it gives that
// the name of the live directory, and that the name of a segment. It returns the number of an error.
//
//go:nowritebarrierrec
func (f *stemmaIDsDirs) fill() (errno uintptr) {
	s := &stemmaIDs
	if errno = f.fillEncoding(); errno != 0 {
		return errno
	}
	for ok := true; s.copied < stemma.record.UsedFuncs(); {
		if s.copied, ok = stemma.record.CopyFuncs(&s.funcs, s.copied, segment.Part); !ok {
			return linuxENOSPC
		}
		if !f.Rest() {
			return segment.Left
		}
	}
	s.next.Ready(s.copied)
	return f.rename()
}

// fillEncoding writes how ids are encoded. It returns the number of an error.
//
//go:nowritebarrierrec
func (f *stemmaIDsDirs) fillEncoding() (errno uintptr) {
	s := &stemmaIDs
	if !stemma.encode.lucce {
		if !s.dacce.WriteEpoch(stemmaWall(), stemmaIDsRestThread) {
			return linuxENOSPC
		}
		return 0
	}
	for left, ok := uint64(1), true; left > 0; {
		if left, ok = s.lucce.CopyLog(segment.Part); !ok {
			const lost = 5 // EIO
			if s.lucce.Damaged() {
				return lost
			}
			return linuxENOSPC
		}
		if !f.Rest() {
			return segment.Left
		}
	}
	return 0
}

// stemmaIDsRestThread is Rest.
//
//go:nowritebarrierrec
func stemmaIDsRestThread() { stemmaRotate.files.Rest() }

// prepare makes the directory of the next segment, and its files. It returns the number of an error.
//
//go:nowritebarrierrec
func (f *stemmaIDsDirs) prepare() (errno uintptr) {
	s := &stemmaIDs
	stemmaRotate.files = stemmaSegmentFiles{dir: stemmaHeld{fd: -1}, out: stemmaHeld{fd: -1}}
	if stemmaRotate.hurry.Load() {
		return segment.Left
	}
	live, errno := stemmaOpenDir()
	if errno != 0 {
		return errno
	}
	closefd(live)
	if !s.exchanges {
		const none, invalid, noCall, unsupported = 18, 22, 38, 95
		errno = f.try()
		for n := 0; errno == linuxEEXIST && n < 100; n++ {
			s.rotator.Skip()
			errno = f.try()
		}
		switch errno {
		case 0:
		case none, invalid, noCall, unsupported:
			s.on = false // it would be the same each time
			return errno
		default:
			return errno
		}
		s.exchanges = true
	}
	path := stemmaSegmentPath(&s.aside, s.rotator.Number)
	made := stemmaCall(sysMkdirat, atFDCWD, path, 0o700)
	for try := 0; made == -linuxEEXIST && try < 100; try++ {
		s.rotator.Skip() // it is somebody else's, or could not be removed
		stemmaSegmentPath(&s.aside, s.rotator.Number)
		made = stemmaCall(sysMkdirat, atFDCWD, path, 0o700)
	}
	if made != 0 {
		return uintptr(-made)
	}
	dir, errno := stemmaOpenSegment(path)
	if errno != 0 {
		return errno
	}
	var st stemmaStat
	errno = st.read(dir)
	closefd(dir)
	if errno != 0 {
		return errno
	}
	s.ino = st.ino
	s.state.Store(stemmaIDsMade)
	for i := range s.numPs.Load() {
		if errno = stemmaEventsOf(i).make(s.ino); errno != 0 {
			return errno
		}
	}
	encoding := stemmaIDsEncodingUsed()
	if !stemma.encode.lucce {
		funcs, sites := stemma.contexts.Known()
		encoding = uint64(funcs)*layout.EpochFuncSize + uint64(sites)*layout.EpochSiteSize
	}
	want := [stemmaIDsFiles]uintptr{
		stemmaIDsFuncs:    uintptr(stemma.record.UsedFuncs()) + stemmaFirstStep,
		stemmaIDsNodes:    s.carried + s.carried/4 + stemmaFirstStep,
		stemmaIDsEncoding: uintptr(encoding) + stemmaFirstStep,
	}
	for i, lo := range s.lo[1-s.now] {
		file := stemmaFileAt(lo)
		if errno = file.makeIn(s.ino, i == stemmaIDsMain); errno == 0 {
			errno = stemmaRotate.files.grow(file, min(want[i], file.size))
		}
		if errno == 0 && !f.Rest() {
			errno = segment.Left
		}
		if errno != 0 {
			return errno
		}
	}
	return 0
}

// try tries whether the file system exchanges the names of two directories, which it makes where the first segment is
// to be. It returns the number of an error.
//
//go:nowritebarrierrec
func (f *stemmaIDsDirs) try() (errno uintptr) {
	var paths [2][len(stemma.dir) + 24]byte
	for i := range paths {
		stemmaSegmentPath(&paths[i], stemmaIDs.rotator.Number+uint64(i))
		made := stemmaCall(sysMkdirat, atFDCWD, uintptr(unsafe.Pointer(&paths[i])), 0o700)
		errno = max(errno, uintptr(-made))
	}
	if errno == 0 {
		errno = stemmaExchange(uintptr(unsafe.Pointer(&paths[0])), uintptr(unsafe.Pointer(&paths[1])))
	}
	for i := range paths {
		stemmaCall(sysUnlinkat, atFDCWD, uintptr(unsafe.Pointer(&paths[i])), atRemoveDir)
	}
	return errno
}

// stemmaExchange makes two directories exchange their names. It returns the number of an error.
//
//go:nowritebarrierrec
func stemmaExchange(a, b uintptr) (errno uintptr) {
	const exchange = 2
	_, _, errno = linux.Syscall6(sysRenameat2, atFDCWD, a, atFDCWD, b, exchange, 0)
	return errno
}

// rename gives the next segment the name of the live directory, and that the name of a segment. It returns the number
// of an error, as where another directory has taken the name of either.
//
//go:nowritebarrierrec
func (f *stemmaIDsDirs) rename() (errno uintptr) {
	s := &stemmaIDs
	if stemmaRotate.hurry.Load() {
		return segment.Left
	}
	live, aside := uintptr(unsafe.Pointer(&stemma.dir[0])), uintptr(unsafe.Pointer(&s.aside))
	for _, d := range [...]struct {
		path uintptr
		ino  uint64
	}{{live, stemma.ino}, {aside, s.ino}} {
		fd, errno := stemmaOpenDirAt(d.path, d.ino)
		if errno != 0 {
			return errno
		}
		closefd(fd)
	}
	if !s.state.CompareAndSwap(stemmaIDsMade, stemmaIDsRenaming) {
		return segment.Left // who ends the program removes it
	}
	state := uint32(stemmaIDsRenamed)
	if errno = stemmaExchange(live, aside); errno != 0 {
		state = stemmaIDsMade
	}
	s.state.Store(state)
	return errno
}

// leave removes the next segment, which has not begun. It may run twice, on two threads, while the program ends. What
// may have any name just now stays.
//
//go:nowritebarrierrec
func (f *stemmaIDsDirs) leave() {
	s := &stemmaIDs
	aside := uintptr(unsafe.Pointer(&s.aside))
	if s.state.CompareAndSwap(stemmaIDsRenamed, stemmaIDsRenaming) {
		stemmaExchange(uintptr(unsafe.Pointer(&stemma.dir[0])), aside)
		s.state.Store(stemmaIDsMade)
	}
	if !s.state.CompareAndSwap(stemmaIDsMade, stemmaIDsNone) {
		return
	}
	if dir, errno := stemmaOpenDirAt(aside, s.ino); errno == 0 { // and no other
		closefd(dir)
		stemmaRemoveIDs(aside)
	}
	if stemmaRotate.hurry.Load() {
		return // the process ends, and gives back all
	}
	f.forget()
}

// complete cuts the files of the segment that has ended to what is in them, and removes segments that are not kept.
//
//go:nowritebarrierrec
func (f *stemmaIDsDirs) complete() {
	s := &stemmaIDs
	nodes, encoding := s.next.Former()
	used := [stemmaIDsFiles]uintptr{stemmaIDsFuncs: uintptr(s.copied), stemmaIDsNodes: uintptr(nodes),
		stemmaIDsEncoding: uintptr(encoding), stemmaIDsMain: layout.ContextsSize}
	for i := range s.numPs.Load() {
		stemmaEventsOf(i).cut()
	}
	for i, lo := range s.lo[1-s.now] {
		stemmaFileAt(lo).cut(used[i])
		f.Rest()
	}
	s.rotator.Next(&s.ended, 0)
}

// forget gives back the memory of the segment that has ended, or will not begin. With the mapping of the main file goes
// its lock: readers see that it does not grow any more.
//
//go:nowritebarrierrec
func (f *stemmaIDsDirs) forget() {
	s := &stemmaIDs
	for i := range s.numPs.Load() {
		stemmaEventsOf(i).drop()
		f.Rest()
	}
	for _, lo := range s.lo[1-s.now] {
		stemmaFileAt(lo).drop()
		f.Rest()
	}
}
