// The live directory: where it is made, and what is said when it cannot be. All of
// this runs once, in schedinit, on g0, where there is one thread, no P and no signal
// handler: nothing here may allocate.

package runtime

import (
	"internal/runtime/syscall/linux"
	"internal/stringslite"
	"unsafe"
)

// A stemmaLineText is a line, or a path, put together without memory from the heap.
type stemmaLineText struct {
	buf [1024]byte
	n   int
	cut bool // something did not fit
}

func (t *stemmaLineText) add(s string) {
	n := copy(t.buf[t.n:len(t.buf)-1], s) // a NUL remains behind it
	t.n += n
	t.cut = t.cut || n < len(s)
}

// bytes adds bytes, up to a NUL.
func (t *stemmaLineText) bytes(b []byte) {
	for _, c := range b {
		if c == 0 {
			return
		}
		if t.n == len(t.buf)-1 {
			t.cut = true
			return
		}
		t.buf[t.n] = c
		t.n++
	}
}

func (t *stemmaLineText) number(n uint64) {
	if n >= 10 {
		t.number(n / 10)
	}
	t.add("0123456789"[n%10:][:1])
}

// slash adds a slash, unless there is one at the end.
func (t *stemmaLineText) slash() {
	if t.n == 0 || t.buf[t.n-1] != '/' {
		t.add("/")
	}
}

func (t *stemmaLineText) reset() { *t = stemmaLineText{} }

func (t *stemmaLineText) string() string { return unsafe.String(&t.buf[0], t.n) }

// path returns the NUL behind which the kernel stops reading.
func (t *stemmaLineText) path() uintptr {
	t.buf[t.n] = 0
	return uintptr(unsafe.Pointer(&t.buf[0]))
}

// stemmaLine is the line that is being put together for standard error.
var stemmaLine stemmaLineText

// error adds what an error means.
func (t *stemmaLineText) error(errno uintptr) {
	for i := range stemmaErrors {
		if stemmaErrors[i].errno == errno {
			t.add(stemmaErrors[i].text)
			return
		}
	}
	t.add("error number ")
	t.number(uint64(errno))
}

// say prints the line on standard error, in one write, unless the program was asked to be
// quiet. A pipe that is full would make the program wait, and one that nobody reads end
// it, since it may not have signal handlers yet: then nothing is printed.
func (t *stemmaLineText) say() {
	if stemma.quiet {
		return
	}
	t.n = min(t.n, len(t.buf)-2)
	t.add("\n")
	const pollOut = 4
	poll := struct {
		fd              int32
		events, revents int16
	}{fd: 2, events: pollOut}
	errno := stemmaPoll(unsafe.Pointer(&poll))
	for tries := 0; errno == linuxEINTR && tries < 100; tries++ {
		errno = stemmaPoll(unsafe.Pointer(&poll))
	}
	if errno != 0 || poll.revents == pollOut {
		linux.Syscall6(sysWrite, 2, uintptr(unsafe.Pointer(&t.buf)), uintptr(t.n), 0, 0, 0)
	}
}

// stemmaSay prints stemmaLine and begins the next one.
func stemmaSay() {
	stemmaLine.say()
	stemmaLine.reset()
}

// stemmaEnv returns the value of an environment variable. In a program that has more rights than
// who started it (setuid, setgid, capabilities) there are none: its
// record, and what it says, are not for that user to command.
func stemmaEnv(name string) string {
	if isSecureMode() {
		return ""
	}
	return gogetenv(name)
}

// stemmaNumber returns the value of an environment variable that is a number, and
// whether there is one. One that is no number is ignored, and that is said.
func stemmaNumber(name string) (n uintptr, ok bool) {
	s := stemmaEnv(name)
	if n, ok = stemmaParse(s); ok || s == "" {
		return n, ok
	}
	stemmaSayIgnored(name, s, "a number, without a unit")
	return 0, false
}

// stemmaWords are the variables whose values are words, with commas between them, and how a message lists these.
var stemmaWords = [...]struct{ name, words, want string }{
	{"STEMMA_DETERMINISTIC", "0,1,clock", "1 or clock"},
	{"STEMMA_QUIET", "0,1", "1"},
	{"STEMMA_SEGMENT", "call,shared", "call or shared"},
	{"STEMMA_TRACE_CHECK", "count,print,throw", "count, print or throw"},
	{"STEMMA_TRACE_EVERY", "fast,slow,waiting", "fast, slow or waiting"},
	{"STEMMA_TRACE_WITHOUT", "unwind,trace,block,prologue,recovery,gdestroy,hold,letgo,repeat",
		"unwind, trace, block, prologue, recovery, gdestroy, hold, letgo or repeat"},
	{"STEMMA_WAIT_CHECK", "print,throw", "print or throw"},
}

// stemmaWord returns the value of one of these variables, "" if it is none of its words.
func stemmaWord(name string) string {
	s := stemmaEnv(name)
	for i := range stemmaWords {
		if stemmaWords[i].name == name && stemmaHasWord(stemmaWords[i].words, s) {
			return s
		}
	}
	return ""
}

// stemmaHasWord reports whether s is one of the words.
func stemmaHasWord(words, s string) bool {
	for words != "" {
		var word string
		if word, words, _ = stringslite.Cut(words, ","); word == s {
			return true
		}
	}
	return false
}

// stemmaCheckWords says which variables have a value that means nothing, and is ignored. It runs once, where the
// directory is made.
func stemmaCheckWords() {
	for i := range stemmaWords {
		w := &stemmaWords[i]
		if s := stemmaEnv(w.name); s != "" && !stemmaHasWord(w.words, s) {
			stemmaSayIgnored(w.name, s, w.want)
		}
	}
}

// stemmaSayIgnored says that the value of a variable is ignored, and what it should be.
func stemmaSayIgnored(name, value, want string) {
	for _, part := range [...]string{"stemma: ", name, "=", value[:min(len(value), 60)], " is ignored: want ", want} {
		stemmaLine.add(part)
	}
	stemmaSay()
}

// stemmaProblem is the reason why nothing, or not where it should be, is recorded. It is empty if all is well.
var stemmaProblem stemmaLineText

// stemmaMakeDir makes the live directory and leaves its absolute name, with a
// final slash, in stemma.dir. main is the file that makes a directory a record, of the
// record. If the directory cannot be made where it should be, or no file in it,
// it is made in one of the user's own; if that cannot be, dirlen is 0. Either is said.
func stemmaMakeDir(main string) {
	if stemma.main != "" {
		return // two engines have one directory
	}
	stemma.main, stemma.making = main, true
	stemmaCheckWords()
	stemma.quiet = stemmaWord("STEMMA_QUIET") == "1" || stemmaOption("quiet") == "on"
	stemmaRecordingAPI2 = &stemmaRecordingAPIs
	stemmaDrawRun()
	out := stemmaEnv("STEMMA_OUT")
	if out == "" {
		out = stemmaOption("out") // for children whose environment was cleared
	}
	if out == "" {
		out = stemmaDefaultOut
	}
	if isSecureMode() && out[0] != '/' {
		// Who starts the program has chosen its working directory.
		stemmaFailed(out, stemmaNotTrusted)
	} else if stemmaTryStart(out) || stemmaTryDir("", out, false) {
		return
	}
	tmp := stemmaEnv("TMPDIR")
	if tmp == "" {
		tmp = "/tmp"
	}
	var own stemmaLineText
	own.add(tmp)
	own.add("/stemma-")
	own.number(uint64(stemmaCall(sysGeteuid, 0, 0, 0)))
	if stemmaTryDir("", own.string(), true) {
		stemmaSayWhere()
		return
	}
	stemmaUnrecorded()
}

// stemmaSayWhere says that the record is in another place than it should be.
func stemmaSayWhere() {
	stemmaLine.add("stemma: recording in ")
	stemmaLine.add(unsafe.String(&stemma.dir[0], stemma.dirlen))
	stemmaLine.add(", because of ")
	stemmaLine.add(stemmaProblem.string())
	stemmaLine.add("; set STEMMA_OUT to a directory that can be written, or STEMMA_QUIET=1 to leave this line out")
	stemmaSay()
	stemmaProblem.reset()
}

// stemmaUnrecorded says that nothing is recorded, and why.
func stemmaUnrecorded() {
	stemmaLine.add("stemma: nothing is recorded: ")
	stemmaLine.add(stemmaProblem.string())
	stemmaLine.add("; set STEMMA_OUT to a directory that can be written, or STEMMA_QUIET=1 to leave this line out")
	stemmaSay()
}

// stemmaStartedIn is the variable by which a program tells those that it starts where it was started itself: what
// changes its directory and then starts itself again, as daemons and workers do, records where the first one does.
const stemmaStartedIn = "STEMMA_STARTED_IN"

// stemmaTryStart is stemmaTryDir for a name that is not absolute, below the directory in which the first program of
// this tree of processes was started. A program that is the first one tells the others. Where they cannot record
// there, as in a root of their own, they do it in their working directory, and nothing is said.
func stemmaTryStart(out string) bool {
	if out[0] == '/' {
		return false
	}
	if start := stemmaEnv(stemmaStartedIn); start != "" && start[0] == '/' {
		if stemmaTryDir(start, out, false) {
			return true
		}
		stemmaProblem.reset()
		return false
	}
	var wd stemmaLineText
	wd.add(stemmaStartedIn + "=")
	if errno := wd.workingDir(); errno == 0 {
		envs = append(envs, string(wd.buf[:wd.n])) // the heap is ready: goenvs has made envs in it
	}
	return false
}

// workingDir adds the working directory, and returns the number of the error.
func (t *stemmaLineText) workingDir() uintptr {
	n := stemmaCall(sysGetcwd, uintptr(unsafe.Pointer(&t.buf[t.n])), uintptr(len(t.buf)-t.n), 0)
	if n <= 1 {
		return uintptr(-n)
	}
	t.n += n - 1 // without the final NUL
	return 0
}

// stemmaTryDir makes the live directory below base, and tries whether a file can be
// made in it. A base that is not absolute lies in the directory in, or in the working directory if that is "". If it
// cannot be made the reason is added to stemmaProblem, and nothing is left behind.
// All happens relative to base, which is open: what takes its name meanwhile is not touched.
func stemmaTryDir(in, base string, own bool) bool {
	var dir stemmaLineText
	if base[0] != '/' {
		// Shards are made later as well, and the program may change its directory.
		dir.add(in)
		if in == "" {
			if errno := dir.workingDir(); errno != 0 {
				return stemmaFailed(base, errno)
			}
		}
		dir.slash()
	}
	dir.add(base)
	if len(base) > 512 || dir.cut || dir.n > len(dir.buf)-256 {
		return stemmaFailed("the name of the directory", linuxENAMETOOLONG)
	}
	at, errno := stemmaOpenBase(&dir, stemmaEndsWith(base, stemmaDefaultOut), own)
	if errno != 0 {
		return stemmaFailed(base, errno)
	}
	errno = stemmaMakeLive(&dir, at)
	closefd(at)
	if errno != 0 {
		return stemmaFailed(base, errno)
	}
	return true
}

// stemmaOpenBase makes a directory, unless there is one, and opens it. One that is to be the user's own lies in one
// that others may write to. What is there already must be a directory, not a link to one, of this user,
// that no other may enter: else whoever made it could read and change the record.
func stemmaOpenBase(dir *stemmaLineText, ignore, own bool) (fd int32, errno uintptr) {
	const notDir, loop = 20, 40 // see stemmaErrors
	mode, flags := uintptr(0o777), uintptr(linuxOPath|linuxODirectory|_O_CLOEXEC)
	if own {
		mode, flags = 0o700, flags|oNoFollow
	}
	made := stemmaCall(sysMkdirat, atFDCWD, dir.path(), mode)
	r, _, errno := linux.Syscall6(sysOpenat, atFDCWD, dir.path(), flags, 0, 0, 0)
	switch {
	case errno != 0 && made != 0 && made != -linuxEEXIST:
		return -1, uintptr(-made)
	case errno != 0 && own && (errno == notDir || errno == loop):
		return -1, stemmaNotOwn
	case errno != 0:
		return -1, errno
	}
	fd = int32(r)
	var st stemmaStat
	if errno = st.read(fd); errno == 0 && own && !st.own() {
		errno = stemmaNotOwn
	}
	if errno != 0 {
		closefd(fd)
		return -1, errno
	}
	if made == 0 && ignore {
		stemmaIgnore(fd)
	}
	return fd, 0
}

// stemmaMakeLive makes the live directory in base, which is dir. It leaves its name in stemma.dir, and notes which
// directory that is.
func stemmaMakeLive(dir *stemmaLineText, base int32) (errno uintptr) {
	dir.slash()
	from := dir.n
	dir.add(stemmaName())
	dir.add(".")
	dir.number(uint64(stemmaGetpid()))
	dir.add("-")
	begin := dir.n
	name := uintptr(unsafe.Pointer(&dir.buf[from]))
	made := -linuxEEXIST
	for try := uintptr(0); try < 8 && made == -linuxEEXIST; try++ {
		dir.n = begin
		stemmaAddSuffix(dir, stemmaRun>>(4*try))
		dir.buf[dir.n] = 0
		made = stemmaCall(sysMkdirat, uintptr(base), name, 0o700)
	}
	if made != 0 {
		return uintptr(-made)
	}
	stemma.dirlen = copy(stemma.dir[:], dir.string())
	stemma.dir[stemma.dirlen] = 0
	if errno = stemmaPin(base, name); errno == 0 {
		errno = stemmaProbe()
	}
	if errno != 0 {
		stemma.dirlen = 0
		stemmaCall(sysUnlinkat, uintptr(base), name, atRemoveDir)
	}
	return errno
}

// stemmaPin notes which directory the live one is: files are made in no other.
func stemmaPin(base int32, name uintptr) uintptr {
	var st stemmaStat
	errno := st.readAt(uintptr(base), name)
	if errno == 0 && !st.own() {
		errno = stemmaNotOwn
	}
	stemma.dev, stemma.ino = st.dev, st.ino
	return errno
}

// stemmaDefaultOut is where records are if nothing is said.
const stemmaDefaultOut = "stemma.out"

func stemmaEndsWith(s, end string) bool { return len(s) >= len(end) && s[len(s)-len(end):] == end }

func stemmaBeginsWith(s, begin string) bool { return len(s) >= len(begin) && s[:len(begin)] == begin }

// stemmaIgnore makes git leave a new directory of records alone.
func stemmaIgnore(dir int32) {
	name := [...]byte{'.', 'g', 'i', 't', 'i', 'g', 'n', 'o', 'r', 'e', 0}
	const writeOnly = 1
	fd, _, errno := linux.Syscall6(sysOpenat, uintptr(dir), uintptr(unsafe.Pointer(&name)),
		linuxOCreat|linuxOExcl|writeOnly|_O_CLOEXEC|oNoFollow, 0o666, 0, 0)
	if errno == 0 {
		if stemmaLimit(linuxRlimitFsize) >= 2 {
			write(fd, unsafe.Pointer(unsafe.StringData("*\n")), 2)
		}
		closefd(int32(fd))
	}
}

// stemmaArguments returns the arguments of the program. Where it was started by a link of the kernel, as
// /proc/self/exe is, the first one is what that leads to.
func stemmaArguments() []string {
	if len(argslice) == 0 {
		return nil
	}
	if name, proc := argslice[0], "/proc/"; len(name) <= len(proc) || name[:len(proc)] != proc {
		return argslice
	}
	path := stemmaRealPath()
	if path == "" {
		return argslice
	}
	return append([]string{path}, argslice[1:]...) // the heap is ready: goargs has made argslice in it
}

// stemmaName returns the name of the program, for the directory.
func stemmaName() string {
	name := ""
	if args := stemmaArguments(); len(args) > 0 {
		name = args[0]
	}
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '/' {
			name = name[i+1:]
			break
		}
	}
	if name == "" {
		return "program"
	}
	return name[:min(len(name), 100)]
}

// stemmaRealPath returns the path of the executable, "" if it is not known.
func stemmaRealPath() string {
	t := &stemmaRealPathText
	t.reset()
	t.add("/proc/self/exe")
	link := t.path()
	buf := unsafe.Pointer(&t.buf[t.n+1])
	n, _, errno := linux.Syscall6(sysReadlinkat, atFDCWD, link, uintptr(buf), uintptr(len(t.buf)-t.n-1), 0, 0)
	if errno != 0 {
		return ""
	}
	path, gone := unsafe.String((*byte)(buf), int(n)), " (deleted)"
	if stemmaEndsWith(path, gone) {
		path = path[:len(path)-len(gone)]
	}
	return path
}

var stemmaRealPathText stemmaLineText

// stemmaAddSuffix adds six characters that stand for 30 bits.
func stemmaAddSuffix(t *stemmaLineText, bits uint64) {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz"
	for i := range uint64(6) {
		d := bits >> (5 * i) & 31
		t.add(digits[d : d+1])
	}
}

// stemmaProbe makes a file in the directory, maps it and removes it, to see whether that
// can be done: there are disks without room and file systems that share no memory. It
// returns the number of the error.
func stemmaProbe() uintptr {
	var f stemmaFile
	copy(f.name[:], stemma.main)
	fd, errno := f.open(linuxOCreat | linuxOExcl)
	if errno != 0 {
		return errno
	}
	if errno = f.resize(fd, stemmaLeastStep); errno == 0 {
		p, err := mmap(nil, physPageSize, _PROT_READ|_PROT_WRITE, mapShared|mapNoReserve, fd, 0)
		if errno = uintptr(err); err == 0 {
			munmap(p, physPageSize)
		}
	}
	closefd(fd)
	stemmaRemove(stemma.main)
	return errno
}

// stemmaGiveUp is called when a file of the record cannot be made although the first one
// could: half a record is none. What was made is removed. What is mapped already stays
// mapped, and cannot grow.
func stemmaGiveUp(errno uintptr) {
	for i := range stemmaFiles.n.Load() {
		stemmaRemove(gostringnocopy(&stemmaFiles.list[i].name[0]))
	}
	stemmaCall(sysUnlinkat, atFDCWD, uintptr(unsafe.Pointer(&stemma.dir[0])), atRemoveDir)
	stemmaFailed(unsafe.String(&stemma.dir[0], stemma.dirlen), errno)
	stemma.dirlen = 0
	stemmaUnrecorded()
}

// stemmaFailed adds to stemmaProblem what became of a directory, and returns false.
func stemmaFailed(where string, errno uintptr) bool {
	if stemmaProblem.n > 0 {
		stemmaProblem.add("; ")
	}
	stemmaProblem.add(where[:min(len(where), 400)])
	stemmaProblem.add(": ")
	stemmaProblem.error(errno)
	return false
}

// stemmaErrors are the errors that a directory may meet, as package syscall has them.
var stemmaErrors = [...]struct {
	errno uintptr
	text  string
}{
	{1, "operation not permitted"},
	{2, "no such file or directory"},
	{5, "input/output error"},
	{linuxEAGAIN, "another process locks a file of the record"},
	{12, "cannot allocate memory"},
	{13, "permission denied"},
	{linuxEBADF, "the program has closed a descriptor that it had not opened"},
	{linuxEEXIST, "file exists"},
	{19, "the file system cannot map files"},
	{20, "not a directory"},
	{22, "the file system refuses it"},
	{23, "too many open files in system"},
	{24, "too many open files"},
	{linuxEFBIG, "a record is larger than the limit of file sizes (ulimit -f)"},
	{28, "no space left on device"},
	{30, "read-only file system"},
	{linuxENAMETOOLONG, "file name too long"},
	{40, "too many levels of symbolic links"},
	{122, "disk quota exceeded"},
	{stemmaNotOwn, "not a directory that only this user can enter"},
	{stemmaMoved, "another file has taken its name"},
	{stemmaPageLost, "no space left on device, or the file was cut"},
	{stemmaCut, "the file was cut"},
	{stemmaNoSegment, "arch_prctl is not allowed, so that all threads count in one place"},
	{stemmaManyPs, "GOMAXPROCS is larger than a record has room for, so that some threads count in one place"},
	{stemmaNotTrusted, "in the working directory, of a program with the rights of another user"},
}

// These are no numbers of the kernel's.
const (
	stemmaNotOwn = 1<<16 + iota
	stemmaMoved
	stemmaNotTrusted
	stemmaPageLost
	stemmaNoSegment
	stemmaCut
	stemmaManyPs
)

// stemmaCall makes a system call of at most three arguments. It returns the result, or the
// negative number of the error.
func stemmaCall(trap, a, b, c uintptr) int {
	r, _, errno := linux.Syscall6(trap, a, b, c, 0, 0, 0)
	if errno != 0 {
		return -int(errno)
	}
	return int(r)
}

// A stemmaRecordingProgram is what package stemma of the program finds in
// stemmaRecordingAPI2. Its type there is another one of the same layout, with the
// version in its name.
type stemmaRecordingProgram struct {
	// state returns the live directory, or, if that is "", why there is none.
	state func() (dir, problem string)
	// countInuse counts the objects that are reachable, and reports whether the program was built for that.
	countInuse func() bool
	// bypass calls f and records nothing of it.
	bypass func(f func())
}

// stemmaRecordingAPI2 is nil in a program that is not instrumented.
//
//go:linkname stemmaRecordingAPI2
var stemmaRecordingAPI2 *stemmaRecordingProgram

var stemmaRecordingAPIs = stemmaRecordingProgram{stemmaRecording, stemmaCountInuse, stemmaBypass}

func stemmaRecording() (dir, problem string) {
	if stemma.dirlen == 0 {
		return "", string(stemmaProblem.buf[:stemmaProblem.n])
	}
	return string(stemma.dir[:stemma.dirlen]), ""
}
