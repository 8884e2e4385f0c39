// Package calls has calls of all kinds. A function is followed by its name after
// "is", a dynamic call by the functions that it may call, "-" for none. "deferred"
// has what a function defers, "weight" the estimate for a call.
package calls

type animal interface{ speak() }

type cat struct{}

func (cat) speak() {} // is cat.speak

type dog struct{}

func (*dog) speak() {} // is dog.speak

type fish struct{}

func (fish) speak() {} // is fish.speak: nobody makes an animal of it

// kitten has speak by promotion: the wrapper vanishes.
type kitten struct{ cat }

func zoo(a animal) {
	a.speak() // calls cat.speak dog.speak
}

func keep(a animal) {
	a.
		speak() // calls cat.speak dog.speak; is split
}

func static() { // is static
	zoo(cat{})     // calls -
	zoo(&dog{})    // calls -
	keep(kitten{}) // calls -
	fish{}.speak() // calls -
}

func apply(f func()) {
	for range 3 {
		for {
			f() // calls static lit cat.speak; weight 100
			func() {
				f() // calls static lit cat.speak; weight 1
			}()
		}
	}
	f() // calls static lit cat.speak; weight 1
}

func closures(c cat) {
	apply(static)
	apply(func() {}) // is lit
	apply(c.speak)
	g := func() {} // is g
	g()            // calls g
}

type number interface{ grow() }

type big struct{}

func (big) grow() {} // is big.grow

func each[T number](list []T, f func(T)) { // is each
	for _, x := range list {
		x.grow() // calls big.grow
		f(x)     // calls onBig
	}
}

func onBig(big) {} // is onBig

func generic() {
	each([]big{{}}, onBig) // calls -
}

func deferring(f func()) { // deferred static later
	defer f() // calls static
	for range 2 {
		defer func() { // is later; calls later
		}()
	}
}

func start(f func()) {
	go f() // calls begun
}

func begun() {} // is begun

func expression(f func(animal), a animal) {
	f(a) // calls dog.speak
}

func all() {
	closures(cat{})
	generic()
	deferring(static)
	start(begun)
	expression(animal.speak, &dog{})
}
