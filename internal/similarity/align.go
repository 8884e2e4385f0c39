package similarity

// How it works.
//
// Two builds of one program differ in the lines of what was not touched, so a line is
// no name for a call site, and a number is none for a closure. Both are recognised by their
// order in the function instead, as diff recognises lines: what is equal from the
// beginning and from the end, at one distance, is the same; of what lies between, the
// longest common sequence.

// A mark is one thing in a function that has an order: a call site, or a closure.
type mark struct {
	name string // two marks with different names are never the same: the callee
	pos  int    // line, from where the function begins
	id   int    // the same in all builds
}

// How far a mark may have moved if only what was met is known, and not all that there is: a
// call that was met in one build alone is not to be taken for another one, far away.
const farthest = 20

// Up to how many pairs the longest common sequence is looked for: more are found
// only in generated code, whose two builds are equal or have little in common.
const mostPairs = 4 << 20

// align returns for each mark of b the index of the same one in a, or -1. Both are in
// order. With all set they are all marks that there are, else those that were met.
func align(a, b []mark, all bool) []int {
	same := make([]int, len(b))
	for i := range same {
		same[i] = -1
	}
	near := func(i, k, shift int) bool {
		return a[i].name == b[k].name && b[k].pos-a[i].pos == shift && (all || max(shift, -shift) <= farthest)
	}
	begin := 0
	for begin < len(a) && begin < len(b) && near(begin, begin, 0) {
		same[begin] = begin
		begin++
	}
	enda, endb := len(a), len(b)
	if enda > begin && endb > begin {
		for shift := b[endb-1].pos - a[enda-1].pos; enda > begin && endb > begin && near(enda-1, endb-1, shift); {
			enda, endb = enda-1, endb-1
			same[endb] = enda
		}
	}
	for k, i := range longestCommon(a[begin:enda], b[begin:endb], all) {
		if i >= 0 {
			same[begin+k] = begin + i
		}
	}
	return same
}

// longestCommon returns for each mark of b the index of the one of a that it is the same as in
// a longest common sequence; among those, in one with the smallest distances.
func longestCommon(a, b []mark, all bool) []int {
	same := make([]int, len(b))
	for i := range same {
		same[i] = -1
	}
	if len(a)*len(b) > mostPairs {
		return same
	}
	// best has the score of the marks from i and k on. A pair is worth more than
	// any distance that it takes away.
	const pair = 1 << 32
	width := len(b) + 1
	best := make([]int, (len(a)+1)*width)
	worth := func(i, k int) int {
		distance := max(b[k].pos-a[i].pos, a[i].pos-b[k].pos)
		if a[i].name != b[k].name || !all && distance > farthest {
			return -1
		}
		return pair - distance
	}
	for i := len(a) - 1; i >= 0; i-- {
		for k := len(b) - 1; k >= 0; k-- {
			score := max(best[(i+1)*width+k], best[i*width+k+1])
			if w := worth(i, k); w >= 0 {
				score = max(score, w+best[(i+1)*width+k+1])
			}
			best[i*width+k] = score
		}
	}
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch w := worth(i, k); best[i*width+k] {
		case best[(i+1)*width+k]:
			i++
		case best[i*width+k+1]:
			k++
		case w + best[(i+1)*width+k+1]:
			same[k] = i
			i, k = i+1, k+1
		}
	}
	return same
}

// An order gives the marks of one function the same ids in all builds.
type order struct {
	marks []mark // all that there were so far
	ids   int
}

// add sets the ids of the marks of one more build, which are in order.
func (o *order) add(list []mark, all bool) {
	merged := make([]mark, 0, len(o.marks)+len(list))
	next := 0 // in o.marks
	for k, i := range align(o.marks, list, all) {
		if i >= 0 {
			merged = append(merged, o.marks[next:i]...) // of builds before only
			list[k].id, next = o.marks[i].id, i+1
		} else {
			list[k].id = o.ids
			o.ids++
		}
		merged = append(merged, list[k])
	}
	o.marks = append(merged, o.marks[next:]...)
}
