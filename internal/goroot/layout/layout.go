// Package layout describes every record that a program leaves and that compiler,
// runtime and readers share, as Go types: a field's place is that of the struct.
//
// All are little-endian, have no padding of the compiler's own and no pointers, and
// begin at multiples of 8. The runtime uses them in place, in mapped files; the
// assembly has their offsets from go_asm.h; readers and the fakes of tests load and
// store them with package raw, on any machine. FORMAT.md has a table of each, which a
// test compares with this package.
//
// Like package rt this one enters GOROOT, as internal/runtime/stemma/layout. It imports
// nothing but unsafe, and has no code that could be instrumented.
package layout
