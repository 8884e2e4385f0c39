package layout

// A WarmHeader is the beginning of a warm file: WarmFuncs and WarmEdges follow. Addresses
// are relative to runtime.text; callers and callees are indexes into the functions.
// The edges are acyclic, and the functions in a topological order of them, so that
// the plan need not look for cycles. Of a site that may call several functions there
// are only as many edges as it takes to make its group.
type WarmHeader struct {
	Magic   uint64 // layout.WarmMagic
	Version uint32 // layout.WarmVersion
	Funcs   uint32 // number of functions
	Edges   uint32 // number of edges
	Source  uint32 // a layout.Source constant
	Nodes   uint64 // nodes of the graph
	Graph   uint64 // edges of the graph
}

// A WarmFunc is a function of a warm file.
type WarmFunc struct {
	Data  uint64 // address of its data
	Meta  uint64 // address of its metadata
	Entry uint64 // address of its code
	Cells uint32 // number of cells
	_     uint32 //
}

// A WarmEdge is a call of a warm file.
type WarmEdge struct {
	Caller uint32 // index of the caller
	Cell   uint32 // cell of the call
	Callee uint32 // index of the callee
	Weight uint32 // calls a second
}

// What a warm file begins with.
const (
	WarmMagic   = 0x316d7261776d7473 // "stmwarm1"
	WarmVersion = 1
)

// What a program started from.
const (
	SourceNone    = 0
	SourceStatic  = 1 // a call graph of the program's source
	SourceRun     = 2 // the record of a run
	SourceMissing = 3 // nothing: there is no warm file
	SourceWrong   = 4 // nothing: the warm file was made for another program
)
