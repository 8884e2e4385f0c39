// The start of calling context encoding from a graph that is known before the run:
// engine pcce, and dacce with -warm.

package runtime

import (
	"internal/runtime/stemma/ids"
	"internal/runtime/stemma/layout"
	"internal/runtime/syscall/linux"
	"unsafe"
)

// stemmaWarm encodes the edges of the warm file, if the program was built for one.
// It runs before anything that is instrumented, so that nothing has to be stopped
// and no word rewritten.
func stemmaWarm() {
	if stemmaOption("warm") != "on" {
		return
	}
	c := &stemma.dacce
	static := stemmaFlagged(layout.HdrFlagStatic)
	w, state := stemmaOpenWarm()
	if state != layout.SourceNone {
		c.Stats().Warm = uint64(state)
		if static { // no edge is encoded: all are pushed
			stemmaSayWarm(state)
			c.Fix()
			stemmaFixed = true
		}
		return
	}
	began := nanotime()
	for i := range w.NumFuncs() {
		if f, isNew := c.EnterWarm(&w, i); isNew {
			stemmaDescribePCs(f)
		}
	}
	c.WarmUp(&w)
	if static {
		c.Fix()
		stemmaFixed = true
	}
	c.Snapshot(uint64(began))
	c.Plan(func() {})
	sec, nsec, _ := time_now()
	if c.Write(uint64(sec)*1e9 + uint64(nsec)) {
		c.Publish()
		stemmaStamp = c.Stamp()
		stemma.encode.epoch++
		getg().stemma.Epoch = stemma.encode.epoch
	}
	c.Stats().EncodeTime += uint64(nanotime() - began)
}

// stemmaSayWarm says that there is no call graph to begin with: the program runs on, and takes longer.
func stemmaSayWarm(state uint32) {
	if stemma.dirlen == 0 {
		return // without a record it makes no difference
	}
	stemmaLine.add("stemma: ")
	stemmaLine.add(gostringnocopy(&stemmaWarmName[0]))
	if state == layout.SourceMissing {
		stemmaLine.add(": no such file")
	} else {
		stemmaLine.add(": not the call graph of this program")
	}
	stemmaLine.add("; without it calls take longer: copy the one that was built with the program, or set " +
		"STEMMA_QUIET=1 to leave this line out")
	stemmaSay()
}

// stemmaWarmName is the path of the warm file, with a NUL at the end.
var stemmaWarmName [4096 + len(stemmaWarmSuffix) + 1]byte

const stemmaWarmSuffix = ".warm"

// stemmaOpenWarm maps the warm file, NAME.warm beside the executable NAME. The
// mapping stays: nothing of it is touched later. state is SourceNone if all is well.
func stemmaOpenWarm() (w ids.Warm, state uint32) {
	exe := []byte("/proc/self/exe\x00")
	n, _, errno := linux.Syscall6(sysReadlinkat, atFDCWD, uintptr(unsafe.Pointer(&exe[0])),
		uintptr(unsafe.Pointer(&stemmaWarmName)), 4096, 0, 0)
	if errno != 0 { // there is no /proc
		n = uintptr(copy(stemmaWarmName[:4096], stemmaExecName()))
	}
	copy(stemmaWarmName[n:], stemmaWarmSuffix)
	fd := open(&stemmaWarmName[0], _O_RDONLY|_O_CLOEXEC, 0)
	if fd < 0 {
		return w, layout.SourceMissing
	}
	defer closefd(fd)
	const seekEnd = 2
	size, _, errno := linux.Syscall6(sysLseek, uintptr(fd), 0, seekEnd, 0, 0, 0)
	if errno != 0 || size == 0 {
		return w, layout.SourceWrong
	}
	p, err := mmap(nil, size, _PROT_READ, _MAP_PRIVATE, fd, 0)
	if err != 0 {
		return w, layout.SourceWrong
	}
	md := &firstmoduledata
	w, ok := ids.OpenWarm(p, uint64(size), md.text, md.noptrdata, md.end)
	if !ok {
		return w, layout.SourceWrong
	}
	return w, layout.SourceNone
}

// stemmaExecName returns the name by which the kernel was asked to execute the program. It is good as long as
// the program has not changed its directory.
func stemmaExecName() string {
	const execFn = 31
	for i := 0; i+1 < len(auxv); i += 2 {
		if auxv[i] == execFn {
			return gostringnocopy((*byte)(unsafe.Pointer(auxv[i+1])))
		}
	}
	return ""
}
