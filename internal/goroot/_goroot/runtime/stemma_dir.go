// The live directory: where it is made, and what is said when it cannot be. All of
// this runs once, in schedinit, on g0, where there is one thread, no P and no signal
// handler: nothing here may allocate.

package runtime

import (
	"internal/runtime/syscall/linux"
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

func (t *stemmaLineText) number(n uint64) {
	var buf [20]byte
	digits := itoa(buf[:], n)
	t.add(unsafe.String(&digits[0], len(digits)))
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

// stemmaSay prints stemmaLine on standard error, in one write, unless the program was
// asked to be quiet, and begins the next one.
func stemmaSay() {
	quiet := gogetenv("STEMMA_QUIET")
	if (quiet == "" || quiet == "0") && stemmaOption("quiet") != "on" {
		stemmaLine.n = min(stemmaLine.n, len(stemmaLine.buf)-2)
		stemmaLine.add("\n")
		write(2, unsafe.Pointer(&stemmaLine.buf[0]), int32(stemmaLine.n))
	}
	stemmaLine.reset()
}

// stemmaNumber returns the value of an environment variable that is a number, and
// whether there is one. One that is no number is ignored, and that is said.
func stemmaNumber(name string) (n uintptr, ok bool) {
	s := gogetenv(name)
	if n, ok = stemmaParse(s); ok || s == "" {
		return n, ok
	}
	for _, part := range [...]string{"stemma: ", name, "=", s, " is ignored: want a number, without a unit"} {
		stemmaLine.add(part)
	}
	stemmaSay()
	return 0, false
}

// stemmaProblem tells why nothing, or not where it should be, is recorded. It is empty if all is well.
var stemmaProblem stemmaLineText

// stemmaMakeDir makes the live directory and leaves its absolute name, with a
// final slash, in stemma.dir. main is the file that makes a directory a record, of the
// given size. If the directory cannot be made where it should be, or no file in it,
// it is made in one of the user's own; if that cannot be, dirlen is 0. Either is said.
func stemmaMakeDir(main string, size uintptr) {
	if stemma.main != "" {
		return // two engines have one directory
	}
	stemma.main, stemma.making = main, true
	stemmaRecordingAPI1 = &stemmaRecordingAPIs
	stemmaDrawRun()
	out := gogetenv("STEMMA_OUT")
	if out == "" {
		out = stemmaOption("out") // for children whose environment was cleared
	}
	if out == "" {
		out = "stemma.out"
	}
	if stemmaTryDir(out, size) {
		return
	}
	tmp := gogetenv("TMPDIR")
	if tmp == "" {
		tmp = "/tmp"
	}
	var own stemmaLineText
	own.add(tmp)
	own.add("/stemma-")
	own.number(uint64(stemmaCall(sysGeteuid, 0, 0, 0)))
	if stemmaOwnDir(&own) && stemmaTryDir(own.string(), size) {
		stemmaSayWhere()
		return
	}
	stemmaUnrecorded()
}

// stemmaSayWhere says that the record is in another place than it should be.
func stemmaSayWhere() {
	stemmaLine.add("stemma: recording in ")
	stemmaLine.add(unsafe.String(&stemma.dir[0], stemma.dirlen-1))
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

// stemmaOwnDir makes a directory that is the user's alone, in one that others may
// write to. What is there already must be a directory, not a link to one, of this user,
// that no other may enter: else whoever made it could read and change the record.
func stemmaOwnDir(path *stemmaLineText) bool {
	if path.cut {
		return stemmaFailed(path.string(), linuxENAMETOOLONG)
	}
	errno := stemmaCall(sysMkdirat, atFDCWD, path.path(), 0o700)
	if errno != 0 && errno != -linuxEEXIST {
		return stemmaFailed(path.string(), uintptr(-errno))
	}
	var stat [144]byte
	const noFollow = 0x100
	if _, _, errno := linux.Syscall6(sysNewfstatat, atFDCWD, path.path(), uintptr(unsafe.Pointer(&stat)), noFollow, 0, 0); errno != 0 {
		return stemmaFailed(path.string(), errno)
	}
	mode, uid := *(*uint32)(unsafe.Pointer(&stat[24])), *(*uint32)(unsafe.Pointer(&stat[28]))
	const format, dir = 0o170000, 0o040000
	if mode&format != dir || mode&0o077 != 0 || int(uid) != stemmaCall(sysGeteuid, 0, 0, 0) {
		return stemmaFailed(path.string(), stemmaNotOwn)
	}
	return true
}

// stemmaTryDir makes the live directory below base, and tries whether a file can be
// made in it. If not it adds the reason to stemmaProblem and leaves nothing behind.
func stemmaTryDir(base string, size uintptr) bool {
	var dir stemmaLineText
	if base[0] != '/' {
		// Shards are made later too, and the program may change its directory.
		n := stemmaCall(sysGetcwd, uintptr(unsafe.Pointer(&dir.buf[0])), uintptr(len(dir.buf)), 0)
		if n <= 1 {
			return stemmaFailed(base, uintptr(-n))
		}
		dir.n = n - 1 // without the final NUL
		dir.add("/")
	}
	dir.add(base)
	if len(base) > 512 || dir.n > len(dir.buf)-256 {
		return stemmaFailed("the name of the directory", linuxENAMETOOLONG)
	}
	made := stemmaCall(sysMkdirat, atFDCWD, dir.path(), 0o777)
	dir.add("/")
	dir.add(stemmaName())
	dir.add(".")
	dir.number(uint64(stemmaGetpid()))
	dir.add("-")
	begin := dir.n
	errno := -linuxEEXIST
	for try := uintptr(0); try < 8 && errno == -linuxEEXIST; try++ {
		dir.n = begin
		stemmaAddSuffix(&dir, stemmaRun>>(4*try))
		errno = stemmaCall(sysMkdirat, atFDCWD, dir.path(), 0o700)
	}
	if errno != 0 {
		if made != 0 && made != -linuxEEXIST {
			errno = made
		}
		return stemmaFailed(base, uintptr(-errno))
	}
	dir.add("/")
	stemma.dirlen = copy(stemma.dir[:], dir.string())
	if errno := stemmaProbe(size); errno != 0 {
		stemma.dirlen = 0
		dir.n--
		stemmaCall(sysUnlinkat, atFDCWD, dir.path(), atRemoveDir)
		return stemmaFailed(base, errno)
	}
	return true
}

// stemmaName returns the name of the program, for the directory.
func stemmaName() string {
	name := ""
	if len(argslice) > 0 {
		name = argslice[0]
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

// stemmaAddSuffix adds six characters that stand for 30 bits.
func stemmaAddSuffix(t *stemmaLineText, bits uint64) {
	const digits = "0123456789abcdefghjkmnpqrstvwxyz"
	for i := range uint64(6) {
		d := bits >> (5 * i) & 31
		t.add(digits[d : d+1])
	}
}

// stemmaProbe makes the main file of the record, and maps it, to see whether that can be
// done: there are disks without room and file systems that share no memory. It
// returns the number of the error.
func stemmaProbe(size uintptr) uintptr {
	fd, errno := stemmaCreate(stemma.main, size)
	if errno != 0 {
		return errno
	}
	p, err := mmap(nil, physPageSize, _PROT_READ|_PROT_WRITE, mapShared|mapNoReserve, fd, 0)
	closefd(fd)
	if err != 0 {
		stemmaRemove(stemma.main)
		return uintptr(err)
	}
	munmap(p, physPageSize)
	return 0
}

// stemmaRemove removes a file of the live directory.
func stemmaRemove(name string) {
	stemmaCall(sysUnlinkat, atFDCWD, stemmaFile(name), 0)
}

// stemmaGiveUp is called when a file of the record cannot be made although the first one
// could: half a record is none. What was made is removed, and what is mapped
// already is memory of the program's own from here on, for all that anybody sees.
func stemmaGiveUp(errno uintptr) {
	names := [...]string{"tree", "cce", "samples", "funcs", "epochs", "log", "nodes", "places", "calls", "check", "strings"}
	for _, name := range names {
		stemmaRemove(name)
	}
	stemma.dir[stemma.dirlen-1] = 0
	stemmaCall(sysUnlinkat, atFDCWD, uintptr(unsafe.Pointer(&stemma.dir[0])), atRemoveDir)
	stemmaFailed(unsafe.String(&stemma.dir[0], stemma.dirlen-1), errno)
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
	for _, e := range stemmaErrors {
		if e.errno == errno {
			stemmaProblem.add(e.text)
			return false
		}
	}
	stemmaProblem.add("error number ")
	stemmaProblem.number(uint64(errno))
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
	{12, "cannot allocate memory"},
	{13, "permission denied"},
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
}

// stemmaNotOwn is no number of the kernel's.
const stemmaNotOwn = 1 << 16

// stemmaCall makes a system call of at most three arguments. It returns the result, or the
// negative number of the error.
func stemmaCall(trap, a, b, c uintptr) int {
	r, _, errno := linux.Syscall6(trap, a, b, c, 0, 0, 0)
	if errno != 0 {
		return -int(errno)
	}
	return int(r)
}

// stemmaFileLimit returns the largest size that a file of this process may have. A
// larger one would not only be refused: a signal would end the program.
func stemmaFileLimit() uintptr {
	const fileSize = 1
	var limit [2]uintptr
	if _, _, errno := linux.Syscall6(sysPrlimit64, 0, fileSize, 0, uintptr(unsafe.Pointer(&limit)), 0, 0); errno != 0 {
		return ^uintptr(0)
	}
	return limit[0]
}

// A stemmaRecordingProgram is what package stemma of the program finds in
// stemmaRecordingAPI1. Its type there is another one of the same layout, with the
// version in its name.
type stemmaRecordingProgram struct {
	// state returns the live directory, or, if that is "", why there is none.
	state func() (dir, problem string)
}

// stemmaRecordingAPI1 is nil in a program that is not instrumented.
//
//go:linkname stemmaRecordingAPI1
var stemmaRecordingAPI1 *stemmaRecordingProgram

var stemmaRecordingAPIs = stemmaRecordingProgram{stemmaRecording}

func stemmaRecording() (dir, problem string) {
	if stemma.dirlen == 0 {
		return "", string(stemmaProblem.buf[:stemmaProblem.n])
	}
	return string(stemma.dir[:stemma.dirlen-1]), ""
}

const (
	linuxEEXIST       = 17
	linuxEFBIG        = 27
	linuxENAMETOOLONG = 36
	atRemoveDir       = 0x200
)
