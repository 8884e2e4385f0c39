package callgraph

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/goroot/rt/ids"
	"github.com/stemma-go/stemma/internal/goroot/rt/recorder"
	"github.com/stemma-go/stemma/internal/record/raw"
)

// A memory hands out memory outside the Go heap, as a program has its data.
type memory struct {
	base unsafe.Pointer
	used uintptr
}

const noReserve = 0x4000

func newMemory(t *testing.T, size int) *memory {
	t.Helper()
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|noReserve)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(b) })
	return &memory{unsafe.Pointer(&b[0]), 0}
}

func (m *memory) alloc(n uintptr) unsafe.Pointer {
	p := unsafe.Add(m.base, m.used)
	m.used += (n + 4095) &^ 4095
	return p
}

func (m *memory) end() uintptr { return uintptr(m.base) + m.used }

// program lays out the functions of a graph as a program has them in memory.
func program(t *testing.T, g *Graph) *memory {
	t.Helper()
	m := newMemory(t, 8192*len(g.Binary.Funcs))
	g.Binary.Text = uint64(uintptr(m.base))
	for i := range g.Binary.Funcs {
		f := &g.Binary.Funcs[i]
		meta, data := m.alloc(4096), m.alloc(4096)
		f.Meta, f.Data, f.Entry = uint64(uintptr(meta)), uint64(uintptr(data)), g.Binary.Text+uint64(i)+1
		*(*layout.Meta)(meta) = layout.Meta{Entry: f.Entry, Cells: f.Cells}
		(*layout.FuncData)(data).Func = f.Meta
	}
	for _, c := range g.Calls {
		av := uint64(layout.KeyUnknown << layout.WordKey)
		if c.Dynamic {
			av |= layout.Dynamic
		}
		*g.av(&c) = av
	}
	return m
}

// av returns the addition value of a call in the memory of the program.
func (g *Graph) av(c *Call) *uint64 {
	data := uintptr(g.Binary.Funcs[c.Caller].Data)
	return (*uint64)(unsafe.Add(unsafe.Pointer(nil), data+layout.FuncDataSize+layout.AVSize*uintptr(c.Cell)))
}

// open opens the file as the program does.
func open(file []byte, m *memory) (ids.Warm, bool) {
	copied := make([]uint64, len(file)/8+1) // aligned
	p := unsafe.Pointer(&copied[0])
	copy(unsafe.Slice((*byte)(p), len(file)), file)
	return ids.OpenWarm(p, uint64(len(file)), uintptr(m.base), uintptr(m.base), m.end())
}

// start encodes the graph in a file as the program does.
func start(t *testing.T, w *ids.Warm, m *memory) *ids.Dacce {
	t.Helper()
	c, table, rec := new(ids.Dacce), new(ids.Contexts), new(recorder.Recorder)
	mem := newMemory(t, ids.ArenaSize+ids.EpochsSize+layout.InternedBytes+1<<28)
	head := mem.alloc(layout.ContextsSize)
	rec.Init(head, mem.alloc(recorder.KnownSize), mem.alloc(1<<26), layout.ContextsSize, 1<<26)
	table.Init(rec, head, mem.alloc(layout.InternedBytes), mem.alloc(ids.PCSize), mem.alloc(ids.ArenaSize),
		uint64(uintptr(m.base)), 0)
	c.Init(table, mem.alloc(ids.EpochsSize), 0)
	for i := range w.NumFuncs() {
		if f, isNew := c.EnterWarm(w, i); !isNew || f != uint32(i+1) {
			t.Fatalf("function %d: number %d, new %t", i, f, isNew)
		}
	}
	c.WarmUp(w)
	c.Fix()
	c.Snapshot(1)
	c.Plan(func() {})
	if !c.Write(1) {
		t.Fatal("no room for the epoch")
	}
	c.Publish()
	return c
}

// The program encodes all that is kept, and pushes at all other sites.
func TestAppendWarm(t *testing.T) {
	for seed := range uint64(40) {
		g := randomGraph(rand.New(rand.NewPCG(seed, 3)), 2+int(seed))
		m := program(t, g)
		file, encoded := g.AppendWarm(nil)
		w, ok := open(file, m)
		if !ok {
			t.Fatalf("seed %d: the file is refused", seed)
		}
		c := start(t, &w, m)
		if have := c.Stats().Encoded; have != uint64(encoded) || c.Stats().Back != 0 {
			t.Errorf("seed %d: %d encoded, want %d; %d back edges", seed, have, encoded, c.Stats().Back)
		}
		if n, e := c.Stats().WarmNodes, c.Stats().WarmEdges; n != uint64(len(g.Binary.Funcs)) ||
			e != uint64(g.Edges()) {
			t.Errorf("seed %d: %d nodes and %d edges, want %d and %d", seed, n, e, len(g.Binary.Funcs), g.Edges())
		}
		kept, back, order := g.Acyclic()
		index := make([]uint32, len(order))
		for i, f := range order {
			index[f] = uint32(i)
		}
		sums := map[[2]uint32]uint32{} // weights of edges, by caller and cell
		for _, e := range g.edges(kept, index) {
			sums[[2]uint32{e.Caller, e.Cell}] += e.Weight
		}
		for _, call := range kept {
			if have := sums[[2]uint32{index[call.Caller], call.Cell}]; have != call.Weight {
				t.Errorf("seed %d: the edges of a site of weight %d have %d", seed, call.Weight, have)
			}
		}
		for _, call := range back {
			if av := *g.av(&call); av != layout.KeyPush<<layout.WordKey {
				t.Errorf("seed %d: back edge with the addition value %#x", seed, av)
			}
		}
		for _, call := range kept {
			checkCall(t, g, &call)
		}
	}
}

// checkCall checks that each callee takes the word that the site leaves.
func checkCall(t *testing.T, g *Graph, c *Call) {
	t.Helper()
	for _, f := range c.Targets {
		data := (*layout.FuncData)(unsafe.Add(unsafe.Pointer(nil), uintptr(g.Binary.Funcs[f].Data)))
		if w := *g.av(c) - data.Key; w >= data.Limit {
			t.Errorf("%d refuses the word of %d: %#x, limit %#x", f, c.Caller, w, data.Limit)
		}
	}
}

// A file is refused if anything in it does not fit the program.
func TestOpenWarmWrong(t *testing.T) {
	g := randomGraph(rand.New(rand.NewPCG(1, 4)), 20)
	m := program(t, g)
	file, _ := g.AppendWarm(nil)
	if _, ok := open(file, m); !ok {
		t.Fatal("the file is refused")
	}
	head := func(change func(*layout.WarmHeader)) func([]byte) []byte {
		return func(b []byte) []byte { raw.Update(b, change); return b }
	}
	first := func(change func(*layout.WarmFunc)) func([]byte) []byte {
		return func(b []byte) []byte { raw.Update(b[layout.WarmHeaderSize:], change); return b }
	}
	edge := func(change func(*layout.WarmEdge)) func([]byte) []byte {
		return func(b []byte) []byte {
			raw.Update(b[layout.WarmHeaderSize+layout.WarmFuncSize*len(g.Binary.Funcs):], change)
			return b
		}
	}
	for what, change := range map[string]func(b []byte) []byte{
		"cut":        func(b []byte) []byte { return b[:len(b)-1] },
		"empty":      func(b []byte) []byte { return nil },
		"magic":      head(func(h *layout.WarmHeader) { h.Magic++ }),
		"version":    head(func(h *layout.WarmHeader) { h.Version++ }),
		"more funcs": head(func(h *layout.WarmHeader) { h.Funcs++ }),
		"data":       first(func(f *layout.WarmFunc) { f.Data ^= 0x4000 }),
		"metadata":   first(func(f *layout.WarmFunc) { f.Meta ^= 8 }),
		"entry":      first(func(f *layout.WarmFunc) { f.Entry++ }),
		"cells":      first(func(f *layout.WarmFunc) { f.Cells++ }),
		"caller":     edge(func(e *layout.WarmEdge) { e.Caller += 1 << 8 }),
		"cell":       edge(func(e *layout.WarmEdge) { e.Cell = 99 }),
		"callee":     edge(func(e *layout.WarmEdge) { e.Callee += 1 << 8 }),
		"far away":   first(func(f *layout.WarmFunc) { f.Data = 1 << 62 }),
	} {
		if _, ok := open(change(append([]byte(nil), file...)), m); ok {
			t.Errorf("%s: accepted", what)
		}
	}
	// Another program, with its first function elsewhere.
	(*layout.Meta)(unsafe.Add(unsafe.Pointer(nil), uintptr(g.Binary.Funcs[0].Meta))).Entry = 4711
	if _, ok := open(file, m); ok {
		t.Error("accepted by another program")
	}
}
