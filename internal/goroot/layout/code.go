package layout

// What the compiler tells the runtime of code.
const (
	// EnterAux is the auxiliary number of an SSA value WB that is not a write
	// barrier but a call of the slow path.
	EnterAux = 16

	// PlaceAux is that of a call of stemmaPlace.
	PlaceAux = 17

	// Bits of abi.FuncFlag: an instrumented function whose frame holds its
	// node at varp-8, and one that calls nothing and holds no node.
	FuncFlagSlot = 1 << 7
	FuncFlagLeaf = 1 << 6

	// FuncFlagAdapter is the bit of abi.FuncFlag of an adapter, or of a wrapper with something inlined,
	// instrumented or not.
	FuncFlagAdapter = 1 << 5
)

// What compiled code and the runtime have in a layout.FuncData.
const (
	// Dynamic in the first addition value of a cell says that the site may
	// call several functions.
	Dynamic = 1

	// PCDataSite is the PCDATA table that tells the site of a call: an index
	// into the sites of the function's metadata.
	PCDataSite = 5
)
