package livedir

import (
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/sealed"
	"github.com/stemma-go/stemma/profile"
)

// A FuncReader reads one description. Errors stay in the decoder.
type FuncReader struct {
	*sealed.Decoder
	// Table has 0, and then what the strings of the description are known by: indexes
	// into the strings of a profile, say.
	Table []uint32
}

// pick reads an index into table and returns the element.
func (b *FuncReader) pick(table []uint32, what string) uint32 {
	start := b.Off
	i := b.Uint()
	if b.Err == nil && i >= uint64(len(table)) {
		b.Fail(start, "%s %d is not one of %d", what, i, len(table))
	}
	if b.Err != nil {
		return 0
	}
	return table[i]
}

// Name reads an index of a string.
func (b *FuncReader) Name(what string) uint32 { return b.pick(b.Table[1:], what) }

// Fault reads the description of a place where a run-time error rose.
func (b *FuncReader) Fault() profile.Func {
	fn := profile.Func{Kind: profile.FuncFault, Name: b.Name("name"), Cells: 1, Counters: 1}
	for range b.Count(3, "frames") {
		fn.Frames = append(fn.Frames,
			profile.Frame{Func: b.Name("function"), File: b.Name("file"), Line: b.U32("line")})
	}
	return fn
}

// Alloc reads the description of the allocations of a type.
func (b *FuncReader) Alloc() profile.Func {
	return profile.Func{Kind: profile.FuncAlloc, Name: b.Name("type"), Counters: 1}
}

// Wait reads the description of the waits for a reason.
func (b *FuncReader) Wait() profile.Func {
	return profile.Func{Kind: profile.FuncWait, Name: b.Name("reason"), Counters: 1}
}

// Held reads the description of the waits of others for a kind of lock.
func (b *FuncReader) Held() profile.Func {
	return profile.Func{Kind: profile.FuncDelay, Name: b.Name("reason"), Counters: 1}
}

// Run reads the description of what runs: goroutines.
func (b *FuncReader) Run() profile.Func {
	return profile.Func{Kind: profile.FuncRun, Name: b.Name("what runs"), Counters: 1}
}

// Metric reads the description of a metric of the program's own.
func (b *FuncReader) Metric() profile.Func {
	return profile.Func{Kind: profile.FuncMetric, Name: b.Name("name"), File: b.Name("unit"), Counters: 1}
}

// Labels reads the description of labels.
func (b *FuncReader) Labels() profile.Func {
	fn := profile.Func{Kind: profile.FuncLabels, Cells: 1, Counters: 1}
	for range b.Count(2, "labels") {
		fn.Frames = append(fn.Frames, profile.Frame{Func: b.Name("key"), File: b.Name("value")})
	}
	return fn
}

// Function reads the description of a function, but for its flags. The numbers of cells
// and counters are not written: they follow from the largest index.
func (b *FuncReader) Function() profile.Func {
	fn := profile.Func{Name: b.Name("name"), Line: b.U32("start line"), Counters: 1}
	files := make([]uint32, 0, b.Count(1, "files"))
	for range cap(files) {
		files = append(files, b.Name("file"))
	}
	if len(files) > 0 {
		fn.File = files[0]
	}
	known := append([]uint32{0}, files...)
	for range b.Count(layout.BlobInlined, "inlined calls") {
		fn.Inlined = append(fn.Inlined,
			profile.Inlined{Parent: b.Index("parent"), Callee: b.Name("callee"), File: b.pick(files, "file"),
				Line:    b.U32("line"),
				Counter: b.counter(&fn), CalleeFile: b.pick(known, "callee's file"),
				CalleeLine: b.U32("callee's line")})
	}
	for range b.Count(layout.BlobSite, "sites") {
		s := profile.Site{Kind: profile.SiteKind(b.UpTo(uint64(profile.SiteUnknown), "kind")),
			Inlined: b.Index("inlined call"),
			File:    b.pick(files, "file"), Line: b.U32("line"), Callee: b.pick(b.Table, "callee"),
			Cell: b.Index("cell"), Counter: b.counter(&fn)}
		fn.Cells = max(fn.Cells, uint32(s.Cell+1))
		fn.Sites = append(fn.Sites, s)
	}
	for range b.Count(layout.BlobWeight, "weights") {
		w := profile.Weight{Counter: b.U32("counter"), Inlined: b.Index("inlined call"),
			Class: uint32(b.UpTo(uint64(layout.NumOpClasses-1), "class of operations")), N: b.signed("operations")}
		fn.Counters = max(fn.Counters, w.Counter+1)
		fn.Weights = append(fn.Weights, w)
	}
	if b.Err == nil && b.Off < len(b.Data) {
		for range b.Count(1, "counters of operations") {
			fn.Placed = append(fn.Placed, b.counter(&fn))
		}
	}
	return fn
}

// signed reads a signed varint.
func (b *FuncReader) signed(what string) int32 {
	u := b.U32(what)
	return int32(u>>1) ^ -int32(u&1)
}

// counter reads an optional counter and makes room for it in fn.
func (b *FuncReader) counter(fn *profile.Func) int32 {
	c := b.Index("counter")
	fn.Counters = max(fn.Counters, uint32(c+1))
	return c
}
