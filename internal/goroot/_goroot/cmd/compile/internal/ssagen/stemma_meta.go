package ssagen

import (
	"encoding/binary"
	"os"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"

	"cmd/compile/internal/base"
	"cmd/compile/internal/ir"
	"cmd/compile/internal/objw"
	"cmd/compile/internal/ssa"
	"cmd/compile/internal/staticdata"
	"cmd/compile/internal/typecheck"
	"cmd/compile/internal/types"
	"cmd/internal/obj"
	"cmd/internal/objabi"
	"cmd/internal/src"
	"internal/runtime/stemma/layout"
	"unsafe"
)

// stemmaBuiltIn is what stands for STEMMA_COMPILE if that is not set. The linker sets it in the compiler of an
// instrumented GOROOT.
var stemmaBuiltIn string

// stemmaOptions are what the tool asks of this compilation, in the environment
// variable STEMMA_COMPILE: engine=cct,inlined=on,verify=off,check=off,natives=off,alloc=off,wait=off,ops=off,module=….
// In all builds with verify each entry takes the slow path; check counts inlined calls twice, for the checker.
var stemmaOptions = func() (o struct {
	engine                                            string
	inlined, verify, check, natives, alloc, wait, ops bool
}) {
	asked := os.Getenv("STEMMA_COMPILE")
	if asked == "" {
		asked = stemmaBuiltIn
	}
	for _, kv := range strings.Split(asked, ",") {
		switch k, v, _ := strings.Cut(kv, "="); k {
		case "engine":
			o.engine = v
		case "inlined":
			o.inlined = v == "on"
		case "verify":
			o.verify = v == "on"
		case "check":
			o.check = v == "on"
		case "natives":
			o.natives = v == "on"
		case "alloc":
			o.alloc = v == "on"
		case "wait":
			o.wait = v == "on"
		case "ops":
			o.ops = v == "on"
		case "module":
			stemmaReadModule(v)
		}
	}
	return o
}()

// stemmaModeOf decides what fn gets. Native, and so left alone: the runtime
// and what it imports, but that it puts the context back where it calls function
// values; functions that must not split the stack; generated
// hash and equality functions, which the runtime calls in the middle of its
// work; wrappers that only pass a call on, so that they vanish from contexts
// as they vanish from tracebacks. One that calls a native counts that, and vanishes
// when it is read.
func stemmaModeOf(fn *ir.Func) stemmaMode {
	switch {
	case stemmaEngine() == nil:
		return stemmaOff
	case base.Flag.CompilingRuntime || stemmaNative[base.Ctxt.Pkgpath] || stemmaNative[fn.Sym().Pkg.Path] ||
		fn.Sym().Pkg == ir.Pkgs.Runtime:
		if stemmaKeepsAcross(fn) {
			return stemmaKeep
		}
		return stemmaOff
	case strings.HasPrefix(fn.LSym.Name, "type:."):
		return stemmaOff
	case fn.ABIWrapper() && fn.ABI == obj.ABIInternal:
		if stemmaEngine().data != nil || stemmaAnywhere[fn.Sym()] {
			return stemmaOff
		}
		return stemmaFull // stands for a function in assembly
	case fn.ABIWrapper() && stemmaCalledBack[fn.Sym()]:
		return stemmaCallback
	case fn.ABI != obj.ABIInternal || fn.ABIWrapper():
		return stemmaOff
	case stemmaMustNotSplit(fn):
		if stemmaCallsOften(fn) && stemmaEngine().site != nil {
			return stemmaRestore
		}
		return stemmaOff
	case stemmaTailCalls(fn):
		return stemmaOff
	case fn.Wrapper() && !stemmaCallsOften(fn) && !(stemmaEngine().natives && stemmaCallsNative(fn)):
		return stemmaOff
	}
	return stemmaFull
}

// stemmaAnywhere has the functions in assembly that functions of this package call which
// must not split the stack. Such functions may run where there is no g, and so may what
// they call: its wrapper passes contexts on without a look at g.
var stemmaAnywhere = map[*types.Sym]bool{}

// stemmaFindAnywhere fills stemmaAnywhere. It runs when inlining is done, before wrappers
// are made and functions compiled, one beside the other.
func stemmaFindAnywhere() {
	defer stemmaFindAdditions()
	for _, fn := range typecheck.Target.Funcs {
		if fn.Pragma&ir.Norace != 0 && stemmaIsForked(fn) {
			stemmaForked[fn.Sym()] = true
		}
		if !stemmaMustNotSplit(fn) {
			continue
		}
		ir.VisitList(fn.Body, func(n ir.Node) {
			if n.Op() != ir.OCALLFUNC || n.(*ir.CallExpr).Fun.Op() != ir.ONAME {
				return
			}
			callee := n.(*ir.CallExpr).Fun.(*ir.Name)
			if callee.Func != nil && callee.Func.Pragma&StemmaBodyless != 0 {
				stemmaAnywhere[callee.Sym()] = true
			}
		})
	}
}

// stemmaTailCalls reports whether fn is a method wrapper that ends in a jump:
// it has no frame when the method runs.
func stemmaTailCalls(fn *ir.Func) bool {
	return ir.Any(fn, func(n ir.Node) bool { return n.Op() == ir.OTAILCALL })
}

// stemmaMustNotSplit reports whether nothing may be called in the prologue of fn, or counted in it.
func stemmaMustNotSplit(fn *ir.Func) bool {
	return fn.Pragma&(ir.Nosplit|ir.Systemstack|ir.Nowritebarrier|ir.Nowritebarrierrec) != 0 ||
		stemmaForked[fn.Sym()]
}

// stemmaForked has the functions of this package in which a forked process runs, with all signals blocked. Its
// memory may be a copy, in which there is no record: nothing is counted there. All that they call in it
// must not split the stack.
var stemmaForked = map[*types.Sym]bool{}

// stemmaIsForked reports whether fn is such a function: package syscall's, or one like it.
func stemmaIsForked(fn *ir.Func) bool {
	return ir.Any(fn, func(n ir.Node) bool {
		if n.Op() != ir.OCALLFUNC || n.(*ir.CallExpr).Fun.Op() != ir.ONAME {
			return false
		}
		callee := n.(*ir.CallExpr).Fun.(*ir.Name)
		return callee.Class == ir.PFUNC && callee.Linksym().Name == "syscall.runtime_AfterForkInChild"
	})
}

// stemmaCallsOften reports whether fn may make more than one call in an
// invocation that could enter an instrumented function, or inlines one.
func stemmaCallsOften(fn *ir.Func) bool {
	calls, often := 0, false
	ir.VisitList(fn.Body, func(n ir.Node) {
		switch n.Op() {
		case ir.OCALLFUNC, ir.OCALLINTER:
			if _, kind := stemmaCallee(n.(*ir.CallExpr)); kind != 0 && kind != layout.SiteNative {
				calls++
			}
		case ir.OFOR, ir.OINLMARK, ir.OINLCALL, ir.ODEFER, ir.OGO:
			often = true
		}
	})
	return often || calls > 1
}

// stemmaCallee classifies the target of a call: its name if it is known, and
// the kind of site that such a call is.
func stemmaCallee(n *ir.CallExpr) (name string, kind int) {
	if n.Op() != ir.OCALLFUNC || n.Fun.Op() != ir.ONAME || n.Fun.(*ir.Name).Class != ir.PFUNC {
		return "", layout.SiteCall
	}
	fn := n.Fun.(*ir.Name)
	name = fn.Linksym().Name
	switch {
	case fn.Sym().Pkg == ir.Pkgs.Runtime || fn.Sym().Pkg.Path == "runtime":
		return stemmaRuntimeCallee(name)
	case fn.Sym().Pkg.Path == "runtime/cgo":
		return name, layout.SitePanic // those of handles call package sync
	case stemmaNative[fn.Sym().Pkg.Path]:
		return name, layout.SiteNative
	case fn.Func != nil && fn.Func.Pragma&StemmaBodyless != 0:
		return name, layout.SiteUnknown
	case fn.Func != nil && fn.Func.Pragma&ir.CgoUnsafeArgs != 0:
		return name, layout.SitePanic // a call of C: its Go side has ABI0, and is left alone
	case fn.Func != nil && stemmaMustNotSplit(fn.Func):
		return name, layout.SitePanic
	}
	return name, layout.SiteCall
}

// StemmaBodyless marks, in export data, a function that is declared without a
// body: it is written in assembly, or linked from another package.
const StemmaBodyless ir.PragmaFlag = 1 << 15

// stemmaRuntimeCallee classifies a function of package runtime by its symbol
// name. The kind is 0 for what the compiler, not the programmer, asks for.
func stemmaRuntimeCallee(name string) (string, int) {
	short, ok := strings.CutPrefix(name, "runtime.")
	if !ok {
		return name, layout.SiteNative
	}
	switch short {
	case "gopanic", "Goexit":
		return name, layout.SitePanic
	case strings.TrimPrefix(layout.ModuleAddFunc, "runtime."):
		return name, layout.SiteCall
	case "deferreturn":
		return name, layout.SiteDeferReturn
	case "newproc":
		return name, 0 // stemmaCall has made the site
	case "deferproc", "deferprocStack", "deferprocat", "deferrangefunc", "throw", "fatal",
		"racefuncenter", "racefuncexit", "raceread", "racewrite", "racereadrange", "racewriterange",
		"msanread", "msanwrite", "msanmove", "asanread", "asanwrite", "wbZero", "wbMove":
		return name, 0
	}
	switch {
	case strings.HasPrefix(short, "panic"), strings.HasPrefix(short, "checkptr"), strings.HasPrefix(short, "libfuzzer"):
		return name, 0
	case strings.HasPrefix(short, "mallocgcSmall"), strings.HasPrefix(short, "mallocgcTiny"),
		strings.HasPrefix(short, "mallocTiny"):
		return "runtime.newobject", layout.SiteNative // newobject, specialised by size class
	}
	return name, layout.SiteNative
}

// stemmaLeavesCell reports whether a call leaves a cell: of natives where the runtime must know it.
func stemmaLeavesCell(name string, kind int) bool {
	return kind != layout.SiteNative || stemmaOptions.alloc || stemmaOptions.wait && stemmaMayWait(name)
}

// stemmaMayWait reports whether a native of the runtime parks its goroutine on behalf of the program: those that the
// compiler calls for channels, and what package runtime exports. The collector may stop a goroutine in
// others; then the runtime looks for its function.
func stemmaMayWait(name string) bool {
	short, ok := strings.CutPrefix(name, "runtime.")
	switch short {
	case "chanrecv1", "chanrecv2", "chansend1", "selectgo", "block":
		return true
	}
	return ok && types.IsExported(short)
}

// A stemmaSite is one call site of a function. Cell and counter are index + 1,
// 0 for none.
type stemmaSite struct {
	kind          int
	pos           src.XPos
	callee        string
	cell, counter int
}

// A stemmaMeta is the metadata of one function, see package layout.
type stemmaMeta struct {
	fn       *ir.Func
	sym      *obj.LSym
	data     *obj.LSym // cce: the addition values, in writable memory
	dynamic  []bool    // cce: for each cell, whether it may call several functions
	slot     bool
	recover  int // cell + 1
	cells    int
	counters int
	sites    []stemmaSite
	inlined  map[int]int // index in the inlining tree → counter + 1
	weights  []ssa.StemmaWeight
	placed   []int // where each counter of operations went that was placed, or -1

	strings   []string
	stringIdx map[string]int
}

// newStemmaMeta returns the metadata of fn. Several packages may compile fn,
// an instance of a generic function say, and not quite alike. The linker keeps
// one of the texts, by size, so each text needs metadata of its own: it would
// choose among equally named ones by their own size.
func newStemmaMeta(fn *ir.Func) *stemmaMeta {
	// Not with the package's path in front: what FIPS 140 packages define is part of
	// a checksum, and these hold addresses that the loader fills in, or change.
	name := "stemma:" + fn.LSym.Name
	if fn.Dupok() || fn.LSym.Static() {
		name += "." + base.Ctxt.Pkgpath
	}
	return &stemmaMeta{
		fn:        fn,
		sym:       base.Ctxt.Lookup(name + "·f"), // as function values: the linker needs no entry in the symbol table
		data:      base.Ctxt.Lookup(name + ".av"),
		counters:  1,
		inlined:   map[int]int{},
		stringIdx: map[string]int{},
	}
}

// newCell returns the index + 1 of a new cell.
func (m *stemmaMeta) newCell() int {
	m.cells++
	return m.cells
}

// renumber makes the sites follow their counters to where they went.
func (m *stemmaMeta) renumber(c *ssa.StemmaCounters) {
	for i := range m.sites {
		if s := &m.sites[i]; s.counter != 0 {
			s.counter = c.Now[s.counter-1] + 1
		}
	}
	for i, counter := range m.inlined {
		m.inlined[i] = c.Now[counter-1] + 1
	}
	m.counters = c.Left
	m.takeWeights(c)
	if c.Ops && !c.Each {
		for i := c.First; i < c.Number; i++ {
			m.placed = append(m.placed, c.Now[i])
		}
	}
}

// takeWeights takes over what counters say of operations, those that were merged together.
func (m *stemmaMeta) takeWeights(c *ssa.StemmaCounters) {
	type key struct {
		counter int
		ssa.StemmaOps
	}
	at := map[key]int{}
	for _, w := range c.Weights {
		w.Counter = c.Now[w.Counter]
		if w.Counter < 0 {
			continue
		}
		k := key{w.Counter, w.StemmaOps}
		i, ok := at[k]
		if !ok {
			i = len(m.weights)
			at[k] = i
			m.weights = append(m.weights, ssa.StemmaWeight{Counter: w.Counter, StemmaOps: w.StemmaOps})
		}
		m.weights[i].N += w.N
	}
	// What one way has and the other one as well is no difference.
	m.weights = slices.DeleteFunc(m.weights, func(w ssa.StemmaWeight) bool { return w.N == 0 })
}

// stemmaMetas collects metadata from the concurrent back end; StemmaEmit writes it.
var stemmaMetas struct {
	sync.Mutex
	list []*stemmaMeta
}

func (m *stemmaMeta) publish() {
	stemmaMetas.Lock()
	defer stemmaMetas.Unlock()
	stemmaMetas.list = append(stemmaMetas.list, m)
}

// StemmaEmit writes the metadata symbols of all functions compiled so far, in
// an order that does not depend on how the back end was scheduled.
func StemmaEmit() {
	list := stemmaMetas.list
	stemmaMetas.list = nil
	sort.Slice(list, func(i, j int) bool { return list[i].sym.Name < list[j].sym.Name })
	for _, m := range list {
		if stemmaOptions.engine == stemmaCostsEngine {
			m.emitCosts()
			continue
		}
		m.emit()
	}
}

func (m *stemmaMeta) emit() {
	blob := m.blob() // collects the strings
	x := m.sym
	var meta layout.Meta
	objw.SymPtr(x, int(unsafe.Offsetof(meta.Entry)), m.fn.LSym, 0)
	objw.Uint32(x, int(unsafe.Offsetof(meta.NodeSize)), uint32(layout.NodeBytes(m.cells, m.counters)))
	objw.Uint32(x, int(unsafe.Offsetof(meta.Flags)), m.flags())
	objw.Uint32(x, int(unsafe.Offsetof(meta.Strings)), uint32(len(m.strings)))
	objw.Uint32(x, int(unsafe.Offsetof(meta.BlobLen)), uint32(len(blob)))
	objw.Uint32(x, int(unsafe.Offsetof(meta.Recover)), uint32(m.recover))
	objw.Uint32(x, int(unsafe.Offsetof(meta.Cells)), uint32(m.cells))
	off := m.emitStrings(layout.MetaSize)
	x.WriteBytes(base.Ctxt, int64(off), blob)
	objw.Global(x, int32(off+len(blob)+7)&^7, obj.RODATA)
	x.Set(obj.AttrLocal, true)
	stemmaAlign(x, 8)
	if data := stemmaEngine().data; data != nil {
		data(m)
	}
}

// emitStrings writes the strings to the metadata, from an offset on, and returns the offset behind them.
func (m *stemmaMeta) emitStrings(off int) int {
	for _, s := range m.strings {
		if base.Ctxt.Flag_shared {
			off = objw.SymPtr(m.sym, off, staticdata.StringSym(m.fn.Pos(), s), 0)
			off = objw.Uintptr(m.sym, off, uint64(len(s)))
			continue
		}
		m.sym.AddRel(base.Ctxt, obj.Reloc{Type: objabi.R_ADDR, Off: int32(off), Siz: layout.MetaAddrSize,
			Sym: stemmaStringSym(s)})
		off = objw.Uint32(m.sym, off, 0)
	}
	return off
}

// stemmaStringSym returns the symbol of a string that has its length in front, which the linker has only once. Its name
// begins as those of other strings, by which the linker knows them, and goes on as none of theirs.
func stemmaStringSym(s string) *obj.LSym {
	sym := base.Ctxt.Lookup("go:string.stemma:" + s)
	if !sym.OnList() {
		b := append(binary.AppendUvarint(nil, uint64(len(s))), s...)
		sym.WriteBytes(base.Ctxt, 0, b)
		objw.Global(sym, int32(len(b)), obj.DUPOK|obj.RODATA|obj.LOCAL)
		sym.Set(obj.AttrContentAddressable, true)
		stemmaAlign(sym, 1)
	}
	return sym
}

// stemmaAlign makes sym begin at a multiple of n, and not at one of 32, as the linker has it by default. Up to go1.26
// what is found by its contents has the alignment of its size and name; from then on there is a field, and text that is
// found by its contents. Metadata must not be such text.
func stemmaAlign(sym *obj.LSym, n int64) {
	if align := reflect.ValueOf(sym).Elem().FieldByName("Align"); align.IsValid() {
		align.SetInt(n)
	} else {
		sym.Set(obj.AttrContentAddressable, true)
	}
}

func (m *stemmaMeta) flags() (f uint32) {
	if !base.Ctxt.Flag_shared {
		f |= layout.MetaFlagNear
	}
	if m.fn.ABIWrapper() {
		f |= layout.MetaFlagAsm
	} else if m.fn.LSym.Wrapper() { // also reflect.callReflect
		f |= layout.MetaFlagWrapper
	}
	if m.slot {
		f |= layout.MetaFlagSlot
	}
	if stemmaIsAdapter(m.fn) {
		f |= layout.MetaFlagAdapter
	}
	if stemmaMayBeNew(m.fn) {
		f |= layout.MetaFlagNew
	}
	return f
}

// str returns the index of s among the function's strings.
func (m *stemmaMeta) str(s string) int {
	i, ok := m.stringIdx[s]
	if !ok {
		i = len(m.strings)
		m.strings = append(m.strings, s)
		m.stringIdx[s] = i
	}
	return i
}

// A stemmaPlace is a source position within one inlined call.
type stemmaPlace struct {
	inl  int // index in the inlining tree, or -1
	file string
	line int
}

func stemmaPlaceOf(pos src.XPos) stemmaPlace {
	p := base.Ctxt.InnermostPos(pos)
	if !p.IsKnown() {
		return stemmaPlace{inl: -1, file: "?"}
	}
	return stemmaPlace{p.Base().InliningIndex(), p.AbsFilename(), int(p.RelLine())}
}

// blob describes the function, as package layout says.
func (m *stemmaMeta) blob() []byte {
	files, fileIdx := []int{}, map[string]int{}
	file := func(name string) int {
		i, ok := fileIdx[name]
		if !ok {
			i = len(files)
			files = append(files, m.str(name))
			fileIdx[name] = i
		}
		return i
	}
	start := stemmaPlaceOf(m.fn.Pos())
	name := m.str(stemmaLinkName(m.fn.LSym.Name))
	file(start.file)

	order, local := m.inlineOrder()
	var body []byte
	put := func(vs ...int) {
		for _, v := range vs {
			body = binary.AppendUvarint(body, uint64(v))
		}
	}
	put(len(order))
	for _, i := range order {
		call := stemmaPlaceOf(base.Ctxt.InlTree.CallPos(i))
		callee := base.Ctxt.InlTree.InlinedFunction(i).Name
		put(local[base.Ctxt.InlTree.Parent(i)], m.str(stemmaLinkName(callee)), file(call.file), call.line, m.inlined[i])
		if begin := stemmaPlaceOf(ir.StemmaCalleePos(i)); begin.line != 0 {
			put(file(begin.file)+1, begin.line)
		} else {
			put(0, 0)
		}
	}
	put(len(m.sites))
	for _, s := range m.sites {
		p, callee := stemmaPlaceOf(s.pos), 0
		if s.callee != "" {
			callee = m.str(stemmaLinkName(s.callee)) + 1
		}
		put(s.kind, local[p.inl], file(p.file), p.line, callee, s.cell, s.counter)
	}
	put(len(m.weights))
	for _, w := range m.weights {
		body = binary.AppendUvarint(body, uint64(w.Counter))
		body = binary.AppendUvarint(body, uint64(local[w.Inlined]))
		body = binary.AppendUvarint(body, uint64(w.Class))
		body = binary.AppendVarint(body, int64(w.N))
	}
	if len(m.placed) > 0 {
		put(len(m.placed))
		for _, counter := range m.placed {
			put(counter + 1)
		}
	}

	head := binary.AppendUvarint(nil, uint64(name))
	head = binary.AppendUvarint(head, uint64(start.line))
	head = binary.AppendUvarint(head, uint64(len(files)))
	for _, f := range files {
		head = binary.AppendUvarint(head, uint64(f))
	}
	return append(head, body...)
}

// stemmaLinkName returns the name that a symbol has in the program: without the hash
// between two # that go1.27 and later put into the name of a closure whose function is
// inlined, to tell its copies apart while they are compiled.
func stemmaLinkName(name string) string {
	before, rest, _ := strings.Cut(name, "#")
	if _, after, ok := strings.Cut(rest, "#"); ok {
		return before + after
	}
	return name
}

// inlineOrder returns the inlined calls that the function needs, parents
// before children, and for each its local index + 1.
func (m *stemmaMeta) inlineOrder() (order []int, local map[int]int) {
	need := map[int]bool{}
	add := func(i int) {
		for ; i >= 0 && !need[i]; i = base.Ctxt.InlTree.Parent(i) {
			need[i] = true
			order = append(order, i)
		}
	}
	for i := range m.inlined {
		add(i)
	}
	for _, s := range m.sites {
		add(stemmaPlaceOf(s.pos).inl)
	}
	for _, w := range m.weights {
		add(w.Inlined)
	}
	sort.Ints(order) // a parent is added to the inlining tree before its children
	local = map[int]int{}
	for k, i := range order {
		local[i] = k + 1
	}
	return order, local
}
