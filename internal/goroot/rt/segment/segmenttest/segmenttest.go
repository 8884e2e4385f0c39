// Package segmenttest has a disk that fails, for tests.
package segmenttest

import (
	"fmt"
	"maps"
	"strings"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/segment"
)

// A Disk is where a rotator writes segments. It fails when it is told to, and after each operation it keeps what a
// program that is killed then leaves.
type Disk struct {
	Files    map[string][]byte // by path below the directory of records
	making   uint64
	FailAt   int // the operation that fails, counted from 1 on; 0 for none
	Ops      int
	Snapshot func()
	Held     map[uint64]bool // segments that cannot be removed
	Rests    int
	LeaveAt  int    // the rest at which the program ends, 0 for none
	Resting  func() // is called at each rest, if it is not nil
	Longest  uint64 // Write
}

// Dir returns where the files of a segment are.
func Dir(n uint64) string { return fmt.Sprintf("%06d/", n) }

// op counts an operation, and reports whether it works.
func (d *Disk) op() bool {
	d.Ops++
	if d.Snapshot != nil {
		d.Snapshot()
	}
	return d.Ops != d.FailAt
}

func (d *Disk) Memory(n uint64) unsafe.Pointer {
	if !d.op() {
		return nil
	}
	return unsafe.Pointer(unsafe.SliceData(make([]uint64, n/8+1)))
}

func (d *Disk) Create(n uint64) uintptr {
	d.Remove(n)
	d.making = n
	return d.errno()
}

func (d *Disk) errno() uintptr {
	if d.op() {
		return 0
	}
	return 28
}

func (d *Disk) Write(file segment.File, p unsafe.Pointer, n uint64) uintptr {
	d.Longest = max(d.Longest, n)
	name := Dir(d.making) + layout.UnfinishedFiles[file]
	d.Files[name] = append(d.Files[name], unsafe.Slice((*byte)(p), n)...)
	return d.errno()
}

func (d *Disk) Commit(file segment.File) uintptr {
	if errno := d.errno(); errno != 0 {
		return errno
	}
	name := Dir(d.making) + layout.UnfinishedFiles[file]
	d.Files[strings.TrimSuffix(name, layout.NewSuffix)] = d.Files[name]
	delete(d.Files, name)
	d.op()
	return 0
}

func (d *Disk) Remove(n uint64) (bool, uintptr) {
	if d.Held[n] {
		return false, 16
	}
	_, tree := d.Files[Dir(n)+layout.FileTree]
	_, samples := d.Files[Dir(n)+layout.FileSamples]
	maps.DeleteFunc(d.Files, func(name string, _ []byte) bool { return name[:7] == Dir(n) })
	d.op()
	return tree || samples, 0
}

func (d *Disk) Rest() bool {
	d.Rests++
	if d.Resting != nil {
		d.Resting()
	}
	return d.Rests != d.LeaveAt
}

func (d *Disk) Done(complete bool) {
	if !complete && d.making != 0 {
		d.Remove(d.making)
	}
	d.making = 0
	d.op()
}
