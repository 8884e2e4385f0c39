package layout

// An OpClass is a kind of operations of generic SSA that take about as long as each other. Calls are those of
// functions, not what they do; a move counts for each eight bytes. Classes from OpBytes to OpMark are no operations,
// but what a compiler adds to them, as far as it shows on any machine: tables of costs need them.
type OpClass uint8

// The classes of operations.
const (
	OpInt      OpClass = iota // integers and pointers
	OpBits                    // bits counted
	OpMul                     // multiplications of integers
	OpWide                    // carries, and products of two words
	OpDiv                     // divisions of integers, and remainders
	OpFloat                   // floating point
	OpFloatDiv                // divisions and square roots of floating point
	OpLoad
	OpStore
	OpMove   // eight bytes copied
	OpCheck  // of an index, or of a pointer that is used near by
	OpBranch // a conditional jump
	OpCall
	OpReturn // from a function that calls
	OpAtomic
	OpShift   // by a constant
	OpShiftBy // by an amount that is known to be less than the width
	OpShiftAny
	OpCompare // decides a branch, and nothing else
	OpBool    // a comparison that is a value
	OpExtend  // to a wider integer
	OpSelect  // one of two values
	OpPlace   // an address for loads and stores alone
	OpRotate
	OpZeros // how many there are at an end
	OpSwap  // of bytes
	OpNil   // a check of a pointer that is not used near by
	OpSlice // a check of a slice's ends
	OpClear // eight bytes cleared
	OpTable // a jump by a table
	OpLeave // a return from a function that calls nothing

	OpBytes    // a load that was joined with another one
	OpBarrier  // a store of a pointer that the collector is to hear of
	OpArgument // of a call
	OpResult   // of the function
	OpPhi      // a value that depends on where control comes from
	OpJump     // a block with one successor
	OpJoin     // a value that the successor of such a block needs in a register, and that is in none
	OpSymbol   // the address of a variable
	OpConstant // one that something is compared with, but for 0
	OpSpill    // a value stored until it is needed again
	OpReload   // a value loaded back
	OpFar      // an access to memory 2 KB or more from where a register points, but for the frame
	OpFrame    // an eighth of an access to the frame, of what is as far from its end
	OpPieces   // a store that was joined with another one
	OpBig      // a constant of more than 12 bits, in a block that uses it
	OpWord     // a signed number of 32 bits, in a register to be compared
	OpUword    // an unsigned one
	OpHalf     // one of 8 or 16 bits
	OpKept     // an operand that is needed again, of what writes its result over it where it can
	OpMark     // the beginning of an inlined call

	OpWiden // to a wider integer, of what was loaded
	OpZero  // to a wider integer, of an unsigned one of 16 or 32 bits

	// OpCounted are the operations that count: of any class, and the same on all machines. The others say what machines
	// make of them. Records without any are of stemma 0.1 or earlier, where those that are operations counted.
	OpCounted
	NumOpClasses
)

// CostsPrefix begins the name of a symbol of a build for costs: what the counters of a function stand for in
// instructions, see package costmodel.
const CostsPrefix = "stemma.costs:"

// IsOperation reports whether c is one of operations, each of which has one class. OpCounted has them all once more.
func (c OpClass) IsOperation() bool { return c < OpBytes || c == OpWiden || c == OpZero }

// Family returns the class of operations that c is a finer part of. Families decide what is counted, so that finer
// classes cost a program nothing.
func (c OpClass) Family() OpClass {
	switch c {
	case OpShift, OpShiftBy, OpShiftAny, OpCompare, OpBool, OpExtend, OpSelect, OpPlace, OpWiden, OpZero:
		return OpInt
	case OpRotate, OpZeros, OpSwap:
		return OpBits
	case OpNil, OpSlice:
		return OpCheck
	case OpClear:
		return OpMove
	case OpTable:
		return OpBranch
	case OpLeave:
		return OpReturn
	}
	return c
}

// OpClassNames are the words for classes in reports and files.
var OpClassNames = [NumOpClasses]string{"int", "bits", "mul", "wide", "div", "float", "floatdiv", "load", "store",
	"move", "check", "branch", "call", "return", "atomic", "shift", "shiftby", "shiftany", "compare", "bool", "extend",
	"select", "place", "rotate", "zeros", "swap", "nil", "slice", "clear", "table", "leave", "bytes", "barrier",
	"argument", "result", "phi", "jump", "join", "symbol", "constant", "spill", "reload", "far", "frame", "pieces",
	"big", "word", "uword", "half", "kept", "mark", "widen", "zero", "counted"}
