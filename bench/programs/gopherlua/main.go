// Gopherlua runs small Lua programs in gopher-lua: an interpreter loop with
// one call site for all its opcodes, calls from Lua into Go and back, and
// errors that unwind the Go stack.
package main

import (
	"crypto/sha256"
	_ "embed"
	"flag"
	"fmt"
	"hash"
	"os"

	lua "github.com/yuin/gopher-lua"
)

//go:embed suite.lua
var suite string

func main() {
	n := flag.Int("n", 13, "how often the suite runs")
	flag.Parse()
	sum := sha256.New()
	for i := range *n {
		if err := runSuite(sum, i); err != nil {
			fmt.Fprintln(os.Stderr, "gopherlua:", err)
			os.Exit(1)
		}
	}
	fmt.Printf("checksum gopherlua %x\n", sum.Sum(nil)[:12])
}

// runSuite runs the suite in a new interpreter and adds what it reports to sum.
func runSuite(sum hash.Hash, seed int) error {
	l := lua.NewState()
	defer l.Close()
	l.SetGlobal("seed", lua.LNumber(seed+1))
	l.SetGlobal("report", l.NewFunction(func(l *lua.LState) int {
		for i := 1; i <= l.GetTop(); i++ {
			fmt.Fprintf(sum, "%s;", l.ToStringMeta(l.Get(i)))
		}
		return 0
	}))
	l.SetGlobal("fold", l.NewFunction(fold))
	l.SetGlobal("attempt", l.NewFunction(attempt))
	return l.DoString(suite)
}

// fold is fold(list, init, function): Go that calls Lua for each element.
func fold(l *lua.LState) int {
	list, acc, fn := l.CheckTable(1), l.Get(2), l.CheckFunction(3)
	list.ForEach(func(_, v lua.LValue) {
		l.Push(fn)
		l.Push(acc)
		l.Push(v)
		l.Call(2, 1)
		acc = l.Get(-1)
		l.Pop(1)
	})
	l.Push(acc)
	return 1
}

// attempt is attempt(function, …): it returns true and the result, or false
// and the error, which has come through Go frames as a panic.
func attempt(l *lua.LState) int {
	fn, args := l.CheckFunction(1), make([]lua.LValue, 0, 4)
	for i := 2; i <= l.GetTop(); i++ {
		args = append(args, l.Get(i))
	}
	err := l.CallByParam(lua.P{Fn: fn, NRet: 1, Protect: true}, args...)
	if err == nil {
		l.Insert(lua.LTrue, l.GetTop())
		return 2
	}
	l.Push(lua.LFalse)
	if e, ok := err.(*lua.ApiError); ok {
		l.Push(e.Object)
	} else {
		l.Push(lua.LString(err.Error()))
	}
	return 2
}
