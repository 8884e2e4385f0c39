// Package lib has generic functions and methods.
package lib

// Sum adds numbers up. It is one function for each kind of numbers.
func Sum[T ~int | ~int32 | ~uint8](list ...T) (sum T) {
	for _, n := range list {
		sum += n
	}
	return sum
}

// A List has items of any type.
type List[T any] struct{ items []T }

// Push returns how many items there are then.
func (l *List[T]) Push(item T) int {
	l.items = append(l.items, item)
	return len(l.items)
}

// A Pair has methods of its value.
type Pair[K comparable, V any] struct {
	K K
	V V
}

// Key is inlined, but for modules.
func (p Pair[K, V]) Key() K { return p.K }
