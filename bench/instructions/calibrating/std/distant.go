package main

// shifts reads bits, as decompressors do: the amounts are known to be small.
func shifts() []byte {
	var window, sum uint64
	var small uint32
	fill := uint(0)
	for i := range uint64(700_000) {
		window |= (i * 0x9e3779b97f4a7c15) << (fill & 63)
		fill += 7 + uint(i&3)
		n := uint(window) & 15
		sum += window & (1<<(n&31) - 1)
		small = small>>(n&31) ^ uint32(sum)<<(fill&31)
		window >>= n & 63
		if fill > 40 {
			fill -= 31
			sum ^= uint64(int64(window)>>(fill&63)) + uint64(small)
		}
	}
	return words64([]uint64{sum, uint64(small)})
}

// narrow compares numbers of fewer bits than registers have.
func narrow() []byte {
	var counts [8]uint64
	a, b, c, d, e := int32(7), uint32(9), int16(3), uint16(5), uint8(1)
	for i := range int32(500_000) {
		a, b, c, d, e = a*31+i, b*17+uint32(a), c+int16(b), d^uint16(c), e*5+uint8(d)
		if a > int32(b)>>1 {
			counts[0]++
		}
		if b-uint32(i) < 1<<30 {
			counts[1] += uint64(b)
		}
		if c < int16(d) {
			counts[2]++
		}
		if d != uint16(a) && e > 77 {
			counts[3] += uint64(d) + uint64(int64(c))
		}
		if a == i || uint32(a) >= b {
			counts[4] += uint64(e)
		}
	}
	return words64(counts[:])
}

// A ledger is too large for short distances between its fields.
type ledger struct {
	names        [3000]byte
	total, spent int64
	lines        [400]int64
	last, count  int
}

// distant uses what is far from where a pointer points.
func distant() []byte {
	l := new(ledger)
	for i := range 400_000 {
		l.enter(int64(i&0xff), i%len(l.lines))
	}
	return words64([]uint64{uint64(l.total), uint64(l.spent), uint64(l.lines[3]), uint64(l.names[17]), uint64(l.last)})
}

//go:noinline
func (l *ledger) enter(amount int64, at int) {
	l.total += amount
	if l.total > l.spent+1<<12 {
		l.spent += 1 << 12
		l.count++
	}
	l.lines[at] += l.total - l.spent
	l.last = at
	l.names[l.count%len(l.names)]++
}

// framed calls a function with a frame that is too large for short distances.
func framed() []byte {
	sum := int64(0)
	for i := range int64(3000) {
		sum += page(i, i+1, sum)
	}
	return words64([]uint64{uint64(sum)})
}

//go:noinline
func page(a, b, sum int64) int64 {
	var left, right [300]int64
	l := ledger{total: a, spent: b}
	for i := range left {
		left[i] = add(a, int64(i))
		right[len(right)-1-i] = add(b, sum)
		l.last = int(add(int64(l.last), left[i]))
		if a < b {
			l.count += int(add(a, b))
		}
	}
	l.enter(sum&15, int(a%300))
	return left[a%300] ^ right[b%300] + l.total + int64(l.last+l.count)
}

//go:noinline
func add(a, b int64) int64 { return a + b&7 }
