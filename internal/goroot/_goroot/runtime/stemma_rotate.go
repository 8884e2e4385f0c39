// Rotation: a program that is asked to (STEMMA_ROTATE) ends a segment of its record from time to time. Packages tree
// and sample have what is done; here is who does it, and the files.
//
// It is done by a thread without a P, like sysmon: it may not allocate, have write barriers or wait for goroutines, and
// it runs on its g0. It reads counters while others count, so nobody stops and nobody waits. It takes no lock of the
// runtime or of stemma that others need, since it may be kept from a CPU for long (stemmaGiveWay).

package runtime

import (
	"internal/runtime/atomic"
	"internal/runtime/stemma/layout"
	"internal/runtime/stemma/memory"
	"internal/runtime/stemma/sample"
	"internal/runtime/stemma/segment"
	"internal/runtime/stemma/tree"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// stemmaRotate is the state of rotation. What it points to is mapped memory, outside the Go heap.
var stemmaRotate struct {
	*segment.Rotator // that of counts, or of samples
	counts           tree.Rotator
	samples          sample.Rotator

	on      bool
	started bool
	busy    atomic.Uint32 // 1 while a segment is written; who ends the program keeps it
	note    note          // nobody wakes it: the thread sleeps there
	due     int64         // nanotime at which a segment ends
	grown   uint64
	files   stemmaSegmentFiles
	said    bool
	text    stemmaLineText

	rested int64       // nanotime at which the thread last slept
	hurry  atomic.Bool // the program ends, and waits for busy: the thread leaves all as it is
	ending bool        // who ends the program has made it busy
}

// stemmaRotateInit makes ready what rotation needs, if it is asked for. It runs in schedinit, when the tree is there.
func stemmaRotateInit() {
	r := &stemmaRotate
	rotation, ok := stemmaRotation()
	switch {
	case !ok:
		return
	case stemmaOption("record") == "calls":
		stemmaNotRotated("a log of calls, -record=calls, has no segments")
		return
	case stemmaOption("verify") == "on":
		stemmaNotRotated("what -verify compares has no segments")
		return
	}
	size := stemma.size - tree.SinkSize
	all := 2 * size
	if stemmaAccumulates() || stemmaCPUOn() {
		all += 2 * uintptr(sample.EarlierSize(uint64(stemmaSampleNodes())))
	}
	if !stemmaSpares(all) { // else shards would go without
		stemmaNotRotated("there are no addresses for the sums of what was recorded: allow more (ulimit -v)")
		return
	}
	r.counts.Tree, r.counts.Record = &stemma.tree, &stemma.record
	if r.counts.Buffer = stemmaMemory(tree.SinkSize); r.counts.Buffer == nil {
		stemmaNotRotated("out of memory")
		return
	}
	if stemmaRotateSums(&r.counts.Earlier, layout.FileEarlier, size) &&
		stemmaRotateBy(&r.counts.Rotator, rotation) {
		r.counts.Begin(stemmaWall())
		r.on = true
	}
}

// stemmaRotateSamplesInit is stemmaRotateInit for samples that have at most so many nodes. It runs in schedinit, when
// they can be recorded.
func stemmaRotateSamplesInit(nodes uintptr) {
	r := &stemmaRotate
	if stemma.main != layout.FileSamples {
		stemmaRotateBeside(nodes)
		return
	}
	rotation, ok := stemmaRotation()
	if ok && stemmaRotateSampleSums(nodes) && stemmaRotateBy(&r.samples.Rotator, rotation) {
		r.samples.Begin(stemmaWall())
		r.on = true
	}
}

// stemmaRotateBeside makes segments of a tree, if it has any, have the samples that lie beside it.
func stemmaRotateBeside(nodes uintptr) {
	r := &stemmaRotate
	if !r.on {
		return
	}
	if r.on = stemmaRotateSampleSums(nodes); r.on {
		r.counts.Beside = &r.samples.Sums
	} else {
		r.Head.Segment = 0
	}
}

// stemmaRotateSampleSums makes what is needed for segments of samples. It reports whether it could; else it says why
// not.
func stemmaRotateSampleSums(nodes uintptr) bool {
	r := &stemmaRotate.samples
	r.Samples = &stemmaSmp.Samples
	if r.Buffer = stemmaMemory(sample.BufferSize); r.Buffer == nil {
		stemmaNotRotated("out of memory")
		return false
	}
	size := sample.EarlierSize(uint64(nodes))
	return stemmaRotateSums(&r.Earlier, layout.FileEarlierSamples, uintptr(size))
}

// stemmaRotation returns what STEMMA_ROTATE asks for. ok is false if it asks for nothing, or cannot be met.
func stemmaRotation() (rotation segment.Rotation, ok bool) {
	value := stemmaEnv("STEMMA_ROTATE")
	if value == "" || stemma.dirlen == 0 {
		return segment.Rotation{}, false
	}
	if rotation, ok = segment.ParseRotation(value); !ok {
		stemmaNotRotated("want " + segment.RotationWanted)
	}
	return rotation, ok
}

// stemmaRotateSums makes two files of sums, of size bytes at most. It reports whether it could; else it says why not.
func stemmaRotateSums(sums *[2]unsafe.Pointer, name string, size uintptr) bool {
	for i, name := range [...]string{name + "0", name + "1"} {
		p, errno := unsafe.Pointer(nil), uintptr(linuxENOMEM)
		if stemmaSpares(size) {
			p = stemmaReserve(0, size)
		}
		if p != nil {
			errno = stemmaMapFile(name, p, size, false)
		}
		if errno != 0 {
			t := &stemmaRotate.text
			t.error(errno)
			stemmaNotRotated(t.string())
			t.reset()
			return false
		}
		sums[i] = p
	}
	return true
}

// stemmaRotateBy makes a rotator what ends segments. It reports whether there is memory for that; else it says that
// there is none.
func stemmaRotateBy(of *segment.Rotator, rotation segment.Rotation) bool {
	if of.Ends = stemmaMemory(segment.EndsSize); of.Ends == nil {
		stemmaNotRotated("out of memory")
		return false
	}
	of.Rotation, of.Dirs = rotation, &stemmaRotate.files
	stemmaNameSegments()
	stemmaRotate.Rotator = of
	stemmaRotate.due = nanotime() + rotation.Every
	return true
}

// stemmaNotRotated says why the program ignores STEMMA_ROTATE. It runs in schedinit.
func stemmaNotRotated(why string) {
	value := stemmaEnv("STEMMA_ROTATE")
	for _, part := range [...]string{"stemma: STEMMA_ROTATE=", value[:min(len(value), 60)], " is ignored: ", why} {
		stemmaLine.add(part)
	}
	stemmaSay()
}

// stemmaWall returns the nanoseconds since 1970.
func stemmaWall() uint64 {
	sec, nsec, _ := time_now()
	return uint64(sec)*1e9 + uint64(nsec)
}

// stemmaRotateStart starts the thread, once. It runs in runtime.main, when threads can be started.
func stemmaRotateStart() {
	stemmaIDsStart()
	if stemmaRotate.on && !stemmaRotate.started && stemma.dirlen > 0 {
		stemmaRotate.started = true
		stemmaRotate.grown = stemmaRecordSize() // what is there before the first segment is not of it
		systemstack(func() { newm(stemmaRotating, nil, -1) })
	}
}

// stemmaRotating is the thread. It counts as one of the system, or deadlocks would no longer be found.
//
//go:nowritebarrierrec
func stemmaRotating() {
	lock(&sched.lock)
	sched.nmsys++
	checkdead()
	unlock(&sched.lock)
	stemmaGiveWay()
	const look = 250e6 // nanoseconds: how often the size is asked for
	r := &stemmaRotate
	for {
		rest := r.due - nanotime()
		if r.Bytes > 0 {
			rest = min(rest, look)
		}
		if rest > 0 {
			noteclear(&r.note)
			notetsleep(&r.note, rest)
		}
		if nanotime() < r.due && (r.Bytes == 0 || stemmaRecordSize() < r.grown+r.Bytes) {
			continue
		}
		if r.hurry.Load() { // who ends the program ends the last segment
			r.due = nanotime() + r.Every
			r.grown = stemmaRecordSize()
			continue
		}
		if r.busy.CompareAndSwap(0, 1) {
			if !r.hurry.Load() {
				stemmaRotateNow()
			}
			r.busy.Store(0)
		}
	}
}

// stemmaRotateLast ends the last segment of a program that ends, and reports whether nobody else writes segments. The
// thread leaves the one that it writes, when it gets a CPU. Where it does not, what is in no segment yet is in the rest
// of the record, as after kill -9. It runs on the system stack.
func stemmaRotateLast() bool {
	const most, sleep = 1e9, 100 // nanoseconds, microseconds
	r := &stemmaRotate
	r.hurry.Store(true)
	for begin := nanotime(); !r.busy.CompareAndSwap(0, 1); usleep(sleep) {
		if nanotime()-begin > most {
			return false
		}
	}
	r.ending = true
	stemmaRotateNow()
	r.ending = false
	return true
}

// A stemmaSchedAttr is what the kernel is told, and tells, about how a thread shares a CPU.
type stemmaSchedAttr struct {
	size, policy              uint32
	flags                     uint64
	nice                      int32
	priority                  uint32
	runtime, deadline, period uint64
}

// stemmaGiveWay makes all other threads go before this one where CPUs are taken: then it has at most 1.5 % of what one
// of them has. Else the kernel would run it in turn with a goroutine's thread, and may choose another goroutine's CPU
// for that one, where each waits for the other for milliseconds.
//
// Linux 6.12 and later can divide what the thread has into pieces of 0.1 ms. Those that have the same scheduler without
// that would let it wait for a second for each piece beside many threads, and so it has a little more there. The policy
// of the thread stays. A filter of system calls that systemd knows may end the program for asking.
//
//go:nowritebarrierrec
func stemmaGiveWay() {
	const (
		getSeccomp  = 21
		low, lowest = 10, 19
		piece       = 100e3 // nanoseconds
		keepPolicy  = 8
		ofSchedAttr = 48
	)
	if stemmaCall(sysPrctl, getSeccomp, 0, 0) != 0 {
		for _, name := range [...]string{"INVOCATION_ID", "JOURNAL_STREAM", "NOTIFY_SOCKET"} {
			if stemmaEnv(name) != "" {
				return // it is a unit of systemd
			}
		}
	}
	attr := stemmaSchedAttr{size: ofSchedAttr, flags: keepPolicy, nice: low, runtime: piece}
	at := uintptr(unsafe.Pointer(&attr))
	if stemmaCall(sysSchedSetattr, 0, at, 0) != 0 {
		stemmaCall(sysSetpriority, 0, 0, lowest)
		return
	}
	var now stemmaSchedAttr
	_, _, errno := linux.Syscall6(sysSchedGetattr, 0, uintptr(unsafe.Pointer(&now)), ofSchedAttr, 0, 0, 0)
	if errno == 0 && now.runtime == piece {
		attr.nice = lowest
		stemmaCall(sysSchedSetattr, 0, at, 0)
	}
}

// stemmaRecordSize returns how much is in use of a record that ends segments: of the tree, of function records and of
// all shards, and of samples and places.
//
//go:nowritebarrierrec
func stemmaRecordSize() uint64 {
	size := uint64(0)
	if stemmaRotate.samples.Samples != nil {
		size = stemmaSmp.RecordSize()
	}
	if stemma.main == layout.FileTree {
		h := stemma.record.Header()
		size += memory.Load64(&h.Used)*uint64(1+memory.Load32(&h.Shards)) + memory.Load64(&h.FuncsUsed)
	}
	return size
}

// stemmaRotateNow ends a segment. It runs on g0, with or without a P, by whoever has made stemmaRotate busy.
//
//go:nowritebarrierrec
func stemmaRotateNow() {
	r := &stemmaRotate
	now := nanotime()
	r.rested = now
	r.due, r.grown = now+r.Every, stemmaRecordSize()
	r.files = stemmaSegmentFiles{dir: stemmaHeld{fd: -1}, out: stemmaHeld{fd: -1}}
	end, errno := segment.End{Wall: stemmaWall(), Now: now}, uintptr(0)
	if stemma.main == layout.FileTree {
		errno = stemmaRotateCounts(end)
	} else {
		errno = stemmaRotateSamples(end)
	}
	if errno != 0 && errno != segment.Left && !r.said {
		r.said = true
		stemmaSegmentFailed(errno, "; what it has counted will be in the next one, and is in the record")
	}
}

// stemmaRotateCounts ends a segment of a tree, with the samples beside it.
//
//go:nowritebarrierrec
func stemmaRotateCounts(at segment.End) (errno uintptr) {
	r := &stemmaRotate
	// In this order: functions come before the nodes that are of them, these before samples that stand for them, and
	// shards are as long as the tree.
	end := tree.End{End: at}
	if r.counts.Beside != nil {
		end.Samples = stemmaSmp.Described()
		errno = r.files.growAll(&r.samples.Earlier, uintptr(sample.EarlierSize(uint64(end.Samples))))
	}
	end.Used = stemma.tree.Complete()
	end.Funcs, end.Shards = stemma.record.UsedFuncs(), stemmaAllShards()
	if errno == 0 {
		errno = r.files.growAll(&r.counts.Earlier, uintptr(end.Used))
	}
	if errno != 0 {
		return r.Next(&at, errno)
	}
	return r.counts.Rotate(&r.files, &end)
}

// stemmaRotateSamples ends a segment of samples. The last one of a program has what was sampled before it ended.
//
//go:nowritebarrierrec
func stemmaRotateSamples(end segment.End) (errno uintptr) {
	r := &stemmaRotate
	n := stemmaSmp.Described() // before the files are made long enough: more may come meanwhile
	if errno = r.files.growAll(&r.samples.Earlier, uintptr(sample.EarlierSize(uint64(n)))); errno != 0 {
		return r.Next(&end, errno)
	}
	return r.samples.Rotate(&r.files, &end, n)
}

// stemmaSegmentFailed says, once, that a segment could not be written, and what follows from that.
//
//go:nowritebarrierrec
func stemmaSegmentFailed(errno uintptr, follows string) {
	t := &stemmaRotate.text
	t.add("stemma: a segment of the record could not be written: ")
	t.bytes(stemma.dir[:min(stemma.dirlen, 500)])
	t.add(": ")
	t.error(errno)
	t.add(follows)
	t.add("; STEMMA_QUIET=1 leaves this line out")
	t.say()
}

// stemmaSegmentFiles are the files of the segment that is being made. Its directory lies beside the live one.
type stemmaSegmentFiles struct {
	number uint64
	dir    stemmaHeld
	out    stemmaHeld // of the file that is being written
	file   segment.File
	mem    uintptr
	size   uintptr
}

// stemmaSegmentNames are layout.UnfinishedFiles, with a NUL, and stemmaFinalNames what those of main files are called
// when the segment is complete. They are set in schedinit.
var stemmaSegmentNames, stemmaFinalNames [segment.NumFiles][16]byte

// stemmaNameSegments sets them.
func stemmaNameSegments() {
	for file, name := range layout.UnfinishedFiles {
		copy(stemmaSegmentNames[file][:], name)
		if file >= int(segment.Tree) {
			copy(stemmaFinalNames[file][:], name[:len(name)-len(layout.NewSuffix)])
		}
	}
}

//go:nowritebarrierrec
func stemmaSegmentName(file segment.File) uintptr {
	return uintptr(unsafe.Pointer(&stemmaSegmentNames[file]))
}

// stemmaSegmentPath returns the path of a segment's directory, with a NUL, in buf.
//
//go:nowritebarrierrec
func stemmaSegmentPath(buf *[len(stemma.dir) + 24]byte, number uint64) uintptr {
	n := copy(buf[:], stemma.dir[:stemma.dirlen])
	buf[n] = '.'
	n++
	digits := 6
	for most := uint64(1e6); number >= most && digits < 19; most *= 10 {
		digits++
	}
	for i := digits - 1; i >= 0; i-- {
		buf[n+i] = '0' + byte(number%10)
		number /= 10
	}
	buf[n+digits] = 0
	return uintptr(unsafe.Pointer(buf))
}

// growAll makes both files of sums as long as is needed.
//
//go:nowritebarrierrec
func (f *stemmaSegmentFiles) growAll(sums *[2]unsafe.Pointer, want uintptr) (errno uintptr) {
	for _, p := range sums {
		if errno = f.grow(stemmaFileAt(uintptr(p)), want); errno != 0 {
			break
		}
	}
	return errno
}

// grow makes a file of sums as long as is needed, a piece at a time: tmpfs zeroes all of it.
//
//go:nowritebarrierrec
func (f *stemmaSegmentFiles) grow(file *stemmaFile, want uintptr) (errno uintptr) {
	const piece = 1 << 20
	for have := file.have.Load(); have < want; have = file.have.Load() {
		errno = file.grow(want, min(alignUp(have+piece, 1<<16), file.size))
		if file.have.Load() >= want {
			return 0
		}
		if errno != 0 || file.have.Load() == have {
			return max(errno, 1)
		}
		if !f.Rest() {
			return segment.Left
		}
	}
	return 0
}

// Rest implements segment.Remover. The kernel may look only each few milliseconds who else wants a CPU. So the thread
// sleeps after each 200 µs of work, for so long that the kernel takes the CPU for an idle one and moves a thread there
// that waits on another one. When the program ends, the thread does not go on: who ends it does, and does not sleep.
//
//go:nowritebarrierrec
func (f *stemmaSegmentFiles) Rest() bool {
	const work, rest = 200e3, 5000 // nanoseconds, microseconds
	r := &stemmaRotate
	switch {
	case r.ending:
		return true
	case nanotime()-r.rested >= work && !r.hurry.Load():
		usleep(rest)
		r.rested = nanotime()
	}
	return !f.left()
}

// left reports whether the thread is to leave all as it is, since the program ends.
//
//go:nowritebarrierrec
func (f *stemmaSegmentFiles) left() bool { return stemmaRotate.hurry.Load() && !stemmaRotate.ending }

// Memory implements segment.Files.
//
//go:nowritebarrierrec
func (f *stemmaSegmentFiles) Memory(n uint64) unsafe.Pointer {
	p, errno := mmap(nil, uintptr(n), _PROT_READ|_PROT_WRITE, _MAP_ANON|_MAP_PRIVATE|mapNoReserve, -1, 0)
	if errno != 0 {
		return nil
	}
	f.mem, f.size = uintptr(p), uintptr(n)
	return p
}

// Create implements segment.Files. The live directory must be the one that was made, at its place: the segment lies
// beside it.
//
//go:nowritebarrierrec
func (f *stemmaSegmentFiles) Create(number uint64) (errno uintptr) {
	live, errno := stemmaOpenDir()
	if errno != 0 {
		return errno
	}
	closefd(live)
	var path [len(stemma.dir) + 24]byte
	at := stemmaSegmentPath(&path, number)
	made := stemmaCall(sysMkdirat, atFDCWD, at, 0o700)
	if made == -linuxEEXIST {
		f.Remove(number)
		made = stemmaCall(sysMkdirat, atFDCWD, at, 0o700)
	}
	if made != 0 {
		return uintptr(-made)
	}
	f.number = number
	dir, errno := stemmaOpenSegment(at)
	if errno != 0 {
		return errno
	}
	return f.dir.hold(dir, atFDCWD, at)
}

// stemmaOpenSegment opens the directory of a segment, which must be this user's.
//
//go:nowritebarrierrec
func stemmaOpenSegment(path uintptr) (fd int32, errno uintptr) {
	r, _, errno := linux.Syscall6(sysOpenat, atFDCWD, path, linuxOPath|linuxODirectory|oNoFollow|_O_CLOEXEC, 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	var st stemmaStat
	if errno = st.read(int32(r)); errno == 0 && (!st.own() || st.dev != stemma.dev) {
		errno = stemmaNotOwn
	}
	if errno != 0 {
		closefd(int32(r))
		return -1, errno
	}
	return int32(r), 0
}

// Write implements segment.Files. The limit of file sizes is asked for first, as in stemmaFile.resize.
//
//go:nowritebarrierrec
func (f *stemmaSegmentFiles) Write(file segment.File, p unsafe.Pointer, n uint64) (errno uintptr) {
	if f.out.fd < 0 || f.file != file {
		f.out.close()
		const writeOnly = 1
		if _, errno = f.dir.look(); errno != 0 {
			return errno
		}
		r, _, errno := linux.Syscall6(sysOpenat, uintptr(f.dir.fd), stemmaSegmentName(file),
			linuxOCreat|linuxOExcl|writeOnly|_O_CLOEXEC|oNoFollow, 0o600, 0, 0)
		if errno != 0 {
			return errno
		}
		f.file = file
		if errno = f.out.hold(int32(r), uintptr(f.dir.fd), stemmaSegmentName(file)); errno != 0 {
			return errno
		}
	}
	st, errno := f.out.look()
	if errno != 0 {
		return errno
	}
	if stemmaLimit(linuxRlimitFsize) < st.size+uintptr(n) {
		return linuxEFBIG
	}
	for n > 0 {
		wrote, _, errno := linux.Syscall6(sysWrite, uintptr(f.out.fd), uintptr(p), uintptr(n), 0, 0, 0)
		if errno != 0 && errno != linuxEINTR {
			return errno
		}
		if errno == 0 {
			p, n = unsafe.Add(p, wrote), n-uint64(wrote)
		}
	}
	return 0
}

// A stemmaHeld is a descriptor that stays open while others run. A program may close all that are open, and files of
// its own may get these numbers. So it is looked at before it is used.
type stemmaHeld struct {
	fd       int32 // -1 if there is none
	dev, ino uint64
}

// hold makes h a descriptor that was just opened: a name in a directory says of what. Where that cannot be told the
// descriptor stays open, since it may be the program's by then.
//
//go:nowritebarrierrec
func (h *stemmaHeld) hold(fd int32, dir, name uintptr) (errno uintptr) {
	var st stemmaStat
	if errno = st.readAt(dir, name); errno == 0 {
		h.fd, h.dev, h.ino = fd, st.dev, st.ino
		_, errno = h.look()
	}
	if errno != 0 {
		h.fd = -1
	}
	return errno
}

// look returns what h leads to. It is an error if that is something else by now.
//
//go:nowritebarrierrec
func (h *stemmaHeld) look() (st stemmaStat, errno uintptr) {
	if errno = st.read(h.fd); errno == 0 && (st.dev != h.dev || st.ino != h.ino) {
		errno = linuxEBADF
	}
	return st, errno
}

// close closes h, if it is still what it was.
//
//go:nowritebarrierrec
func (h *stemmaHeld) close() {
	if h.fd >= 0 {
		if _, errno := h.look(); errno == 0 {
			closefd(h.fd)
		}
		h.fd = -1
	}
}

// Commit implements segment.Files.
//
//go:nowritebarrierrec
func (f *stemmaSegmentFiles) Commit(file segment.File) uintptr {
	f.out.close()
	if _, errno := f.dir.look(); errno != 0 {
		return errno
	}
	_, _, errno := linux.Syscall6(sysRenameat, uintptr(f.dir.fd), stemmaSegmentName(file), uintptr(f.dir.fd),
		uintptr(unsafe.Pointer(&stemmaFinalNames[file])), 0, 0)
	return errno
}

// Done implements segment.Files.
//
//go:nowritebarrierrec
func (f *stemmaSegmentFiles) Done(complete bool) {
	f.out.close()
	if f.dir.fd >= 0 {
		f.dir.close()
		if !complete && !f.left() { // else who ends the program removes it
			f.Remove(f.number)
		}
	}
	if f.size == 0 {
		return
	}
	// What has no pages is unmapped at once. Who gives back pages meanwhile lets others have theirs.
	for at := uintptr(0); at < f.size; at += 1 << 20 {
		madvise(unsafe.Pointer(f.mem+at), min(f.size-at, 1<<20), _MADV_DONTNEED)
		if !f.Rest() {
			return
		}
	}
	munmap(unsafe.Pointer(f.mem), f.size)
}

// Remove implements segment.Remover.
//
//go:nowritebarrierrec
func (f *stemmaSegmentFiles) Remove(number uint64) (was bool, errno uintptr) {
	const noEntry = 2
	var path [len(stemma.dir) + 24]byte
	at := stemmaSegmentPath(&path, number)
	dir, errno := stemmaOpenSegment(at)
	if errno == noEntry {
		return false, 0
	}
	if errno != 0 {
		return false, errno
	}
	// It is no segment any more before anything of it is missing. Samples beside a tree lose their name first: those
	// alone would be another record.
	for file := len(stemmaFinalNames) - 1; file >= 0; file-- {
		if name := &stemmaFinalNames[file]; name[0] != 0 {
			_, _, errno := linux.Syscall6(sysRenameat, uintptr(dir), uintptr(unsafe.Pointer(name)), uintptr(dir),
				stemmaSegmentName(segment.File(file)), 0, 0)
			was = was || errno == 0
		}
	}
	for file := range stemmaSegmentNames {
		f.unlink(dir, stemmaSegmentName(segment.File(file)))
	}
	closefd(dir)
	return was, uintptr(-stemmaCall(sysUnlinkat, atFDCWD, at, atRemoveDir))
}

// unlink removes a file of a segment, and reports whether it was there. The kernel gives back the memory of a large
// file in milliseconds, and keeps the CPU meanwhile. So a file is cut after that, where it can be.
//
//go:nowritebarrierrec
func (f *stemmaSegmentFiles) unlink(dir int32, name uintptr) bool {
	const writeOnly = 1
	fd, errno := uintptr(0), uintptr(1)
	if stemmaCutsFast(dir) {
		fd, _, errno = linux.Syscall6(sysOpenat, uintptr(dir), name, writeOnly|oNonblock|oNoFollow|_O_CLOEXEC, 0, 0, 0)
	}
	gone := stemmaCall(sysUnlinkat, uintptr(dir), name, 0) == 0
	if errno == 0 {
		f.cut(int32(fd))
	}
	return gone
}

// stemmaCutsFast reports whether the file system of an open directory cuts a file without writing any of it to a disk,
// knows who has it open, and lets a directory go whose files are open.
//
//go:nowritebarrierrec
func stemmaCutsFast(dir int32) bool {
	const ext4, tmpfs = 0xEF53, 0x01021994
	var st [16]uintptr // of 120 bytes
	errno := stemmaCall(sysFstatfs, uintptr(dir), uintptr(unsafe.Pointer(&st)), 0)
	return errno == 0 && (st[0] == ext4 || st[0] == tmpfs)
}

// cut cuts a file a piece at a time, until one is left, and closes it. It does so only if the file has no name, and
// nobody else has it open: else the kernel gives no lease for writing. It ends when the lease breaks, since somebody
// has just opened the file, and when the number is another file's: the program may close what it does not know.
//
//go:nowritebarrierrec
func (f *stemmaSegmentFiles) cut(fd int32) {
	const setSignal, setLease, getLease, writeLease = 10, 1024, 1025, 1
	const piece = 1 << 19 // bytes: much less work than what is done between two rests
	var first, now stemmaStat
	if first.read(fd) == 0 && first.nlink == 0 && first.size > piece {
		fcntl(fd, setSignal, _SIGURG) // says that the lease breaks; Go programs get it at any time
		_, errno := fcntl(fd, setLease, writeLease)
		for size := (first.size - 1) &^ (piece - 1); errno == 0 && size > 0; size -= piece {
			if !f.Rest() {
				return // the kernel gives it back when the program has ended
			}
			if now.read(fd) != 0 || now.dev != first.dev || now.ino != first.ino {
				return
			}
			if lease, _ := fcntl(fd, getLease, 0); lease != writeLease {
				break
			}
			if stemmaCall(sysFtruncate, uintptr(fd), size, 0) != 0 {
				break
			}
		}
	}
	closefd(fd)
}
