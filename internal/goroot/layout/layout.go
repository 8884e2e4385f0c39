// Package layout has what compiler, runtime and readers agree on: each record as a Go type, its
// constants and flags. A field's place is that of the struct. It also names what is
// no function. The package keeps no state, and is imported by all three, so that each such thing is
// defined once.
//
// All records are little-endian, have no padding of the compiler's own and no pointers, and begin at multiples of 8.
// The runtime uses them in place, in mapped files; the assembly has their offsets from go_asm.h; readers and the fakes
// of tests load and store them on any machine. FORMAT.md has a table of each, which a test compares with this package.
//
// The packages below rt are the half of stemma that runs inside the instrumented program, each with a state of its own:
//
//	memory    spans, which grow; the seam to the runtime: atomics and threads
//	recorder  the header of a record, function records, losses; trees and IDs stand on top of it
//	tree      nodes and cells (cct), allocations and waits, the log of calls
//	ids       context IDs: what dacce and lucce share, and each of them
//	events    what a P counts of events, and their log
//	sample    the tree of samples, places, incremental tracing, the accumulator, samples on demand
//	checker   the stacks that a verify build writes down
//
// All are version-neutral: they import nothing but unsafe, each other, this package and the seam (env_host.go for
// tests, env_goroot.go when injected). The same files are tested here as ordinary packages and enter GOROOT below
// internal/runtime/stemma. This one has no code that could be instrumented.
//
// # Terminology
//
// The tree region is one reserved range of addresses at [Base]. An offset is a
// 32-bit distance from Base; offset 0 means "none". The region begins with a
// header page, then holds objects, all aligned to 8 bytes: nodes and tables.
//
// A node is one context: function, parent and one 4-byte cell for each call
// site through which the function may enter an instrumented one. A cell holds
// the offset of the child node, of a table (when the site has entered more
// than one function), or 0.
//
// A back edge is a call of a function that is on the path already. When
// recursion is folded the node of a back edge has no children: what the
// function calls hangs below its home, the node that it has on the path, and
// the cells of both lead to the same nodes.
//
// An adapter is a function that only passes a call on: all that its body does is one
// call of its receiver, of an argument, or of a variable that it captures. Whatever goes
// through adapters would be one recursion of theirs, so a call of an adapter is a back edge
// only where nothing between is new to the path: a function that is no adapter, or the first
// of an adapter on the path. Recursion through adapters is folded at the functions that they
// call, and that of adapters alone where it brings nothing new.
//
// A wrapper is made by the compiler. Contexts do not show it, so a call of one is a back edge
// only where nothing but wrappers lies between. A wrapper that has something inlined, the
// method that it stands for, is shown as that method, and is an adapter. Package fold has the
// rule.
//
// A counter of a node lies at the same offset as the node, but in a shard: a
// region of the same shape as the tree, one for each P. The address of counter
// c of node n for the P with shard offset s is Base + n + 8*c + s. Only the P's
// own M writes to its shard, so that plain increments are exact; a count is
// the sum over the shards. Counter 0 counts the node's own invocations.
// Compiled code has that address in another way: a thread's segment base, GS, is
// Base + s - [CounterBase].
//
// # Live directory
//
// The program's record is a directory of memory-mapped files:
//
//	tree      the tree region, from its header on
//	shard.N   the shard of P number N; the counters of the node at offset n of
//	          tree are the 64-bit words at offset n of this file
//	inuse     in a build that counts reachable objects, their numbers by node; of the shape of a shard
//	earlier.N of a program with segments, what earlier ones had counted, likewise, see layout.EarlierHeader
//	funcs     function records, one after another, see layout.FuncRecord
//	goroutines
//	          which goroutines exist, if that is asked for, see layout.GoroutinesHeader
//	calls     every function entry in order, in a recording build only, see tree.Calls
//	check     records of the checker, in a verify build only, see layout.Check
//	strings   and the names in them
//
// Constants that begin with File have these names, each beside the records of its file. The files are longer than what
// is in use; only what the header counts as used has a meaning. All numbers are little-endian.
package layout

// VersionSuffix begins what an instrumented GOROOT has behind the version of Go: go1.26.8-stemma.0123456789ab.
const VersionSuffix = "-stemma."
