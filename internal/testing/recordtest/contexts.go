package recordtest

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/events"
	"github.com/stemma-go/stemma/internal/record/raw"
)

// A Contexts is the live directory of a program with context IDs in the making.
type Contexts struct {
	Dir    // Tree is the file cce; Funcs, Check and Strings are as with a tree
	Epochs []byte
	Nodes  []byte
	Counts [][]byte // by P
	Events [][]byte // the logs, by P; of room for LogEvents
	counts []*events.Counts
	logs   []*events.EventLog

	entries map[uint64]uint64 // the code of each function
	next    uint64
}

// Text is the address that IDs are relative to.
const Text = 0x401000

// NewContexts returns a directory with a header, and no epoch.
func NewContexts(args ...string) *Contexts {
	d := &Contexts{Dir: *New(0, args...), entries: make(map[uint64]uint64), next: Text + 64}
	d.Tree = append(d.Tree[:layout.HeaderSize:layout.HeaderSize], make([]byte, layout.ContextsHeaderSize)...)
	d.Header(func(h *layout.Header) { h.Flags = layout.HdrFlagCce })
	d.Nodes = make([]byte, layout.InternedSize)
	d.Second(func(h *layout.ContextsHeader) { h.Text, h.NodesUsed = Text, 1 })
	return d
}

// Second changes the second page of the header.
func (d *Contexts) Second(change func(*layout.ContextsHeader)) {
	raw.Update(d.Tree[layout.HeaderSize:], change)
}

// Func records f and its code, in which each site has a call, and returns its ID.
func (d *Contexts) Func(f Func) uint64 {
	id := d.Dir.Func(f)
	d.entries[id] = d.next
	size := uint32(16 * (len(f.Sites) + 2))
	r := raw.Append(d.Funcs, layout.PCsRecord{
		Length: uint32(layout.PCsRecordSize + layout.PCPairSize*len(f.Sites)), Kind: layout.RecPCs,
		ID: id, Entry: d.next, Size: size, Pairs: uint32(len(f.Sites)),
	})
	for i := range f.Sites {
		r = raw.Append(r, layout.PCPair{Return: uint32(d.Return(id, i) - d.next), Site: uint32(i)})
	}
	d.Funcs = r
	d.Header(func(h *layout.Header) { h.FuncsUsed = uint64(len(d.Funcs)) })
	d.next += uint64(size) + 32
	return id
}

// FaultAt records a fault at the address pc.
func (d *Contexts) FaultAt(pc uint64, handler string, frames ...Frame) {
	b := &blob{}
	b.uint(b.str(handler), len(frames))
	for _, fr := range frames {
		b.uint(b.str(fr.Func), b.str(fr.File), fr.Line)
	}
	d.write(layout.RecFault, layout.FaultID(pc), faultSize, 0, b)
}

// Return returns the address that the call at site i of a function returns to.
func (d *Contexts) Return(id uint64, i int) uint64 { return d.entries[id] + 16*uint64(i+1) }

// An EpochFunc is what an epoch says about a function.
type EpochFunc struct {
	Func       uint64
	Key, NumCC uint32
}

// An EpochSite is what an epoch says about a site. Target is a function or a key.
type EpochSite struct {
	Func           uint64
	Cell, Addition uint32
	Target         uint64
}

// Epoch appends the dictionary of the next epoch and returns its number.
func (d *Contexts) Epoch(maxID uint32, funcs []EpochFunc, sites []EpochSite) uint32 {
	epoch := uint32(raw.Load[layout.ContextsHeader](d.Tree[layout.HeaderSize:]).Dacce.Epoch) + 1
	b := raw.Append(d.Epochs, layout.Epoch{
		Length: uint32(layout.EpochSize + layout.EpochFuncSize*len(funcs) + layout.EpochSiteSize*len(sites)),
		Epoch:  epoch, Funcs: uint32(len(funcs)), Sites: uint32(len(sites)),
		Time: 1767323045000000006 + uint64(epoch)*1e6, MaxID: maxID,
	})
	for _, f := range funcs {
		b = raw.Append(b, layout.EpochFunc(f))
	}
	for _, s := range sites {
		b = raw.Append(b, layout.EpochSite(s))
	}
	d.Epochs = b
	d.Second(func(h *layout.ContextsHeader) {
		h.Dacce.EpochsUsed, h.Dacce.Epoch, h.MaxID = uint64(len(b)), uint64(epoch), uint64(maxID)
	})
	return epoch
}

// An Interned is an interned entry of a ccStack.
type Interned struct {
	Parent, Epoch, ID, Kind uint32
	Place, Target           uint64
}

// Intern appends an entry and returns its number.
func (d *Contexts) Intern(n Interned) uint32 {
	number := uint32(len(d.Nodes) / layout.InternedSize)
	d.Nodes = raw.Append(d.Nodes, layout.Interned(n))
	d.Second(func(h *layout.ContextsHeader) { h.NodesUsed = uint64(number) + 1 })
	return number
}

// ID returns the ID of a context that was captured by the call that returns to pc.
func (d *Contexts) ID(node, id, epoch uint32, pc uint64) (hi, lo uint64) {
	return uint64(node)<<32 | uint64(id), uint64(epoch)<<layout.IDEpoch | layout.IDMark | (pc - Text)
}

// An Event is an event of P number P.
type Event struct {
	P           int
	Kind        uint32
	Value, Time uint64
	Hi, Lo      uint64
}

// LogEvents is how many events a log keeps.
const LogEvents = 8

// AddEvent records an event as the program does, with the code that is injected.
func (d *Contexts) AddEvent(e Event) {
	for len(d.Events) <= e.P {
		mem := func(n int) ([]byte, unsafe.Pointer) {
			b := unsafe.Slice((*byte)(unsafe.Pointer(&make([]uint64, n/8+1)[0])), n)
			return b, unsafe.Pointer(&b[0])
		}
		counts, at := mem(events.CountsMin)
		_, index := mem(int(events.CountsArena(events.CountsMin)))
		c, l := new(events.Counts), new(events.EventLog)
		c.Init(at, index, events.CountsMin)
		c.Reset()
		const logSize = layout.EventsHeaderSize + LogEvents*layout.EventSize
		log, at := mem(logSize)
		l.Init(at, logSize)
		l.Reset()
		d.Counts, d.counts = append(d.Counts, counts), append(d.counts, c)
		d.Events, d.logs = append(d.Events, log), append(d.logs, l)
	}
	d.logs[e.P].Add(e.Kind, e.Value, e.Time, e.Hi, e.Lo)
	if e.Kind == layout.EventGo {
		e.Value = 0
	}
	d.counts[e.P].Add(e.Kind, e.Value, e.Hi, e.Lo)
}

// AddContextCheck appends a record of the checker: the frames that a walk found,
// innermost first, where the program captured the ID (hi, lo) in a goroutine that
// was started in the context (startHi, startLo), zero for a root.
func (d *Contexts) AddContextCheck(hi, lo, startHi, startLo, events uint64, frames ...Frame) {
	d.Check = raw.Append(d.Check, layout.CheckOfID{
		Length: uint32(layout.CheckOfIDSize + layout.CheckFrameSize*len(frames)), Events: events,
		Frames: uint32(len(frames)), Mark: layout.CheckID, Hi: hi, Lo: lo, StartHi: startHi, StartLo: startLo,
	})
	d.checkFrames(frames)
}

// Files returns the contents of the directory by file name.
func (d *Contexts) Files() map[string][]byte {
	files := map[string][]byte{layout.FileIDs: d.Tree, layout.FileFuncs: d.Funcs, layout.FileEpochs: d.Epochs,
		layout.FileNodes: d.Nodes}
	for i, e := range d.Events {
		files[layout.FileEvents+string(rune('0'+i))] = e
		files[layout.FileCounts+string(rune('0'+i))] = d.Counts[i]
	}
	if d.Check != nil {
		files[layout.FileCheck], files[layout.FileStrings] = d.Check, d.Strings
	}
	return files
}

// FS returns the directory as a file system.
func (d *Contexts) FS() fstest.MapFS { return mapFS(d.Files()) }

// WriteTo writes the directory to disk, at path.
func (d *Contexts) WriteTo(t testing.TB, path string) { writeFiles(t, path, d.Files()) }

// mapFS returns files as a file system.
func mapFS(files map[string][]byte) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, data := range files {
		fsys[name] = &fstest.MapFile{Data: data, Mode: 0o644}
	}
	return fsys
}

// writeFiles writes files to disk, into the directory path.
func writeFiles(t testing.TB, path string, files map[string][]byte) {
	t.Helper()
	if err := os.MkdirAll(path, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(path, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
