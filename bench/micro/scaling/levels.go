package main

// Levels without recursion, which would be folded: levelN enters 10^N contexts of
// level0.

//go:noinline
func level0() { kept = 1 }

//go:noinline
func level1() {
	level0()
	level0()
	level0()
	level0()
	level0()
	level0()
	level0()
	level0()
	level0()
	level0()
}

//go:noinline
func level2() {
	level1()
	level1()
	level1()
	level1()
	level1()
	level1()
	level1()
	level1()
	level1()
	level1()
}

//go:noinline
func level3() {
	level2()
	level2()
	level2()
	level2()
	level2()
	level2()
	level2()
	level2()
	level2()
	level2()
}

//go:noinline
func level4() {
	level3()
	level3()
	level3()
	level3()
	level3()
	level3()
	level3()
	level3()
	level3()
	level3()
}

//go:noinline
func level5() {
	level4()
	level4()
	level4()
	level4()
	level4()
	level4()
	level4()
	level4()
	level4()
	level4()
}

//go:noinline
func level6() {
	level5()
	level5()
	level5()
	level5()
	level5()
	level5()
	level5()
	level5()
	level5()
	level5()
}

//go:noinline
func level7() {
	level6()
	level6()
	level6()
	level6()
	level6()
	level6()
	level6()
	level6()
	level6()
	level6()
}
