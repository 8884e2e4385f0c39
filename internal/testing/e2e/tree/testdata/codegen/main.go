// Package main holds functions whose machine code is looked at. A line
// "//asm:N REGEXP" before a function says that N instructions of it match.
package main

import "unicode/utf8"

type T struct{ a, b int }

// A leaf stays a leaf: no frame, no stack check; one counter, and one branch to
// the slow path. Four instructions find the node, one counts.
//
//asm:0 PUSHQ|SUBQ|morestack
//asm:1 MOVQ\s+456\(R14\), CX\n.*MOVL\s+1610612736\(CX\), R13\n.*CMPL\s+1610612736\(R13\), \$2147483647\n.*JNE\s.*\n.*INCQ\s+1073741824\(R13\)\(GS\*1\)\n
//asm:1 LEAQ\s+stemma:main\.leaf·f\(SB\), R12\n.*CALL\s+runtime\.stemmaEnter\(SB\)\n.*JMP
//asm:1 JNE
//dacce:0 stemma|R14
//lucce:0 stemma|R14
//arm64asm:0 morestack
//arm64asm:1 LDP\s+456\(g\), .*\n.*MOVWU\s+\(R\d+\)\(R\d+\), R25\n.*MOVD\s+\(R25\)\(R\d+\), R\d+\n.*MOVD\s+\$stemma:main\.leaf·f\(SB\), R\d+\n.*CMP\s.*\n.*BNE\s.*\n.*MOVD\s+\d+\(g\), R(1?\d|2[0-6])\n.*PCDATA\s+\$0, \$-2\n.*MOVD\s+\(R\d+\)\(R25\), R27\n.*ADD\s+\$1, R27\n.*MOVD\s+R27, \(R\d+\)\(R25\)\n.*PCDATA\s+\$0, \$-1\n
//arm64asm:1 BNE
//arm64dacce:0 stemma|\(g\)
//arm64lucce:0 stemma|\(g\)
//go:noinline
func leaf(x int) int { return x + 1 }

// Each call leaves a cell of its own; nothing follows it. Until the first call the node is in a register.
//
// With context IDs, nothing may stop the goroutine between the load of the word and
// its store: in g before a call, in the frame on entry, and then in g, if the call comes next.
// With the checker the word comes from the slow path. What the word is compared with is of the same epoch, whichever is
// loaded first.
//
//asm:2 MOVQ\s+\w+, 456\(R14\)
//asm:2 CALL\s+main\.middle\(SB\)
//asm:1 INCQ\s+1073741824\(R13\)\(GS\*1\)
//asm:1 MOVL\s+main\.\.stemma\+\d+\(SP\), CX\n.*ADDQ\s+\$20, CX\n
//dacce:1 MOVQ\s+main\.\.stemma\+\d+\(SP\), CX\n.*PCDATA\s+\$0, \$-2\n.*ADDQ\s+stemma:main\.caller\.av\+\d+\(SB\), CX\n.*MOVQ\s+CX, 456\(R14\)\n.*PCDATA\s+\$0, \$-1\n
//dacce:1 MOVQ\s+456\(R14\), CX\n.*PCDATA\s+\$0, \$-2\n.*SUBQ\s+stemma:main\.caller\.av\(SB\), CX\n(.*NOP\n)?.*CMPQ\s+stemma:main\.caller\.av\+8\(SB\), CX\n.*JLS.*\n(.*MOVQ\s+AX.*\n)?(.*PCDATA\s+\$3.*\n)?.*MOVQ\s+CX, main\.\.stemma\+\d+\(SP\)\n.*ADDQ\s+stemma:main\.caller\.av\+\d+\(SB\), CX\n.*MOVQ\s+CX, 456\(R14\)\n.*PCDATA\s+\$0, \$-1\n
//arm64dacce:0 LDAR
//arm64dacce:1 MOVD\s+main\.\.stemma-\d+\(SP\), R\d+\n.*PCDATA\s+\$0, \$-2\n.*MOVD\s+stemma:main\.caller\.av\+\d+\(SB\), R\d+\n.*ADD\s.*\n.*MOVD\s+R\d+, 456\(g\)\n.*PCDATA\s+\$0, \$-1\n
//arm64dacce:1 LDP\s+stemma:main\.caller\.av\(SB\), .*\n(.*PCDATA\s+\$0, \$-1\n)?.*PCDATA\s+\$0, \$-2\n.*MOVD\s+456\(g\), R\d+\n.*SUB\s.*\n.*CMP\s.*\n.*BLS\s.*\n(.*MOVD\s+R0.*\n)?(.*PCDATA\s+\$3.*\n)?.*MOVD\s+R\d+, main\.\.stemma-\d+\(SP\)\n.*MOVD\s+stemma:main\.caller\.av\+\d+\(SB\), R\d+\n.*ADD\s.*\n.*MOVD\s+R\d+, 456\(g\)\n.*PCDATA\s+\$0, \$-1\n
//verify:1 CALL\s+runtime\.stemmaDacceEnterChecked\(SB\)\n.*PCDATA\s+\$0, \$-2\n.*MOVQ\s+R11, main\.\.stemma\+\d+\(SP\)\n.*MOVQ\s+stemma:main\.caller\.av\+\d+\(SB\), CX\n.*ADDQ\s+R11, CX\n.*MOVQ\s+CX, 456\(R14\)\n.*PCDATA\s+\$0, \$-1\n
//go:noinline
func caller(x int) int { return middle(x) * middle(x+1) }

//go:noinline
func middle(x int) int { return leaf(x) }

// With context IDs, a constant is left in g for a function that reads nothing there, also for one of another package. Not
// for a generic one: the linker may take another package's copy, which may have inlined less.
//
//asm:3 MOVQ\s+\w+, 456\(R14\)
//dacce:2 MOVQ\s+\$-1, 456\(R14\)
//dacce:1 MOVQ\s+\w+, 456\(R14\)
//dacce:1 ADDQ\s+stemma:main\.callsLeaves\.av
//lucce:3 MOVQ\s+\w+, 456\(R14\)
//lucce:2 LEAQ\s+runtime\.stemmaNoCell\(SB\)
//lucce:1 MOVQ\s+\w+, 496\(R14\)
//arm64dacce:3 MOVD\s+R\d+, 456\(g\)
//arm64dacce:1 MOVD\s+stemma:main\.callsLeaves\.av\+\d+\(SB\)
//go:noinline
func callsLeaves(x int, s string) bool { return same(leaf(x)) > 1 && utf8.ValidString(s) }

//go:noinline
func same[T any](x T) T { return x }

// An argument of several words is spilled behind the check of the entry, and not before it, too. With context IDs a call
// of what only the run knows adds a value, and compares nothing.
//
//asm:1 MOVQ\s+AX, main\.v\+\d+\([SF]P\)
//dacce:1 MOVQ\s+AX, main\.v\+\d+\([SF]P\)
//dacce:4 ADDQ\s+stemma:main\.spills\.av\+\d+\(SB\), \w+\n.*MOVQ\s+\w+, 456\(R14\)\n(.*(PCDATA|MOVQ|LEAQ|NOP).*\n)*.*CALL\s+\w+\n
//lucce:1 MOVQ\s+AX, main\.v\+\d+\([SF]P\)
//go:noinline
func spills(v tree, f func(tree) int) int {
	n := f(v)
	for c := v.first(); c != nil; c = c.next() {
		n += spills(c, f)
	}
	return n + f(v)
}

type tree interface {
	first() tree
	next() tree
}

// With IDs of versions, g still has the version where nothing was called.
//
//lucce:2 MOVQ\s+\w+, 496\(R14\)
//lucce:1 MOVQ\s+\w+, 504\(R14\)
//lucce:1 MOVQ\s+main\.\.stemma\+\d+\(SP\), \w+\n.*PCDATA\s+\$0, \$-2\n.*MOVQ\s+\w+, 496\(R14\)\n.*MOVQ\s+main\.\.stemma\+\d+\(SP\), \w+\n.*MOVQ\s+\w+, 504\(R14\)\n.*LEAQ.*\n.*MOVQ\s+\w+, 456\(R14\)\n.*PCDATA\s+\$0, \$-1\n
//lucce:1 MOVQ\s+456\(R14\), \w+\n.*PCDATA\s+\$0, \$-2\n(.*(MOVQ|LEAQ|CMPQ|J[A-Z]+|NOP|SHRQ|ANDQ|ADDQ|IMULQ|PCDATA\s+\$3).*\n)+.*MOVQ\s+\w+, main\.\.stemma\+\d+\(SP\)\n.*MOVQ\s+504\(R14\), \w+\n.*MOVQ\s+\w+, main\.\.stemma\+\d+\(SP\)\n.*MOVQ\s+\w+, 496\(R14\)\n.*LEAQ.*\n.*MOVQ\s+\w+, 456\(R14\)\n.*PCDATA\s+\$0, \$-1\n
//arm64lucce:1 MOVD\s+main\.\.stemma-\d+\(SP\), R\d+\n.*PCDATA\s+\$0, \$-2\n.*MOVD\s+R\d+, 496\(g\)\n.*MOVD\s+main\.\.stemma-\d+\(SP\), R\d+\n.*MOVD\s+R\d+, 504\(g\)\n.*MOVD\s+\$stemma:.*\n.*MOVD\s+R\d+, 456\(g\)\n.*PCDATA\s+\$0, \$-1\n
//arm64lucce:1 MOVD\s+456\(g\), R\d+\n.*PCDATA\s+\$0, \$-2\n(.*(MOVD|CMP|BNE|BLS|LDP|AND|M?ADD|PCDATA\s+\$3).*\n)+.*MOVD\s+R\d+, main\.\.stemma-\d+\(SP\)\n.*MOVD\s+504\(g\), R\d+\n.*MOVD\s+R\d+, main\.\.stemma-\d+\(SP\)\n.*MOVD\s+R\d+, 496\(g\)\n.*MOVD\s+\$stemma:.*\n.*MOVD\s+R\d+, 456\(g\)\n.*PCDATA\s+\$0, \$-1\n
//go:noinline
func twice(x int) int { return middle(x) * middle(x+1) }

func get(t *T) int { return t.a }
func sum(t *T) int { return get(t) + t.b }

// Inlined calls at the very beginning are counted with the function.
//
//asm:1 INCQ
//go:noinline
func inlined(x int) int { return double(double(x)) }

func double(x int) int { return 2 * x }

// Inlined calls behind a nil check have a counter of their own, and share it.
//
//asm:2 INCQ\s+10737418\d\d\(\w+\)\(GS\*1\)
//go:noinline
func checked(t *T) int { t.b++; return sum(t) }

func main() {
	println(leaf(1), caller(2), inlined(3), checked(&T{1, 2}), spills(nil, nil), twice(2),
		callsLeaves(3, "x"))
}
