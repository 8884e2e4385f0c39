package main

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync/atomic"
)

// bitwise turns, counts and finds bits.
func bitwise() []byte {
	var out [8]uint64
	x := uint64(0x9e3779b97f4a7c15)
	for i := range 1_000_000 {
		x ^= bits.RotateLeft64(x, 13) + uint64(i)
		y := uint32(x >> 7)
		out[0] += uint64(bits.OnesCount64(x))
		out[1] += uint64(bits.LeadingZeros32(y))
		out[2] += uint64(bits.TrailingZeros64(x | 1<<40))
		out[3] ^= bits.ReverseBytes64(x)
		out[4] += uint64(bits.RotateLeft32(y, 5)) ^ uint64(bits.Len64(x>>uint(i&31)))
		out[5] ^= x << uint(i&127)
		out[6] += uint64(bits.RotateLeft32(y, i&31))
	}
	return words64(out[:])
}

// words64 returns numbers as bytes.
func words64(list []uint64) (out []byte) {
	for _, x := range list {
		out = binary.LittleEndian.AppendUint64(out, x)
	}
	return out
}

// wide multiplies numbers of four words, as arithmetic in finite fields does.
func wide() []byte {
	a := [4]uint64{1, 2, 3, 1 << 63}
	for range 300_000 {
		a = square(&a)
	}
	return words64(a[:])
}

func square(a *[4]uint64) (out [4]uint64) {
	var t [8]uint64
	for i := range 4 {
		carry := uint64(0)
		for k := range 4 {
			hi, lo := bits.Mul64(a[i], a[k])
			var c uint64
			lo, c = bits.Add64(lo, t[i+k], 0)
			hi, _ = bits.Add64(hi, 0, c)
			lo, c = bits.Add64(lo, carry, 0)
			carry = hi + c
			t[i+k] = lo
		}
		t[i+4] = carry
	}
	b := uint64(0)
	for i := range 4 {
		hi, lo := bits.Mul64(t[i+4], 38)
		var c uint64
		out[i], c = bits.Add64(t[i], lo, b)
		b = c + hi
	}
	out[0], b = bits.Sub64(out[0], b, 0)
	out[1] -= b
	return out
}

// A body has a place, a speed and a mass.
type body struct{ x, y, z, vx, vy, vz, mass float64 }

// orbits moves bodies that attract each other.
func orbits() []byte {
	var all [5]body
	for i := range all {
		f := float64(i + 1)
		all[i] = body{f, 2 * f, f * f, 0.1 * f, -0.2, 0.3 / f, f}
	}
	for range 200_000 {
		advance(&all)
	}
	var out []uint64
	for _, b := range all {
		out = append(out, math.Float64bits(math.Round(b.x)))
	}
	return words64(out)
}

func advance(all *[5]body) {
	const dt = 0.001
	for i := range all {
		a := &all[i]
		for k := i + 1; k < len(all); k++ {
			b := &all[k]
			dx, dy, dz := a.x-b.x, a.y-b.y, a.z-b.z
			d := dx*dx + dy*dy + dz*dz
			m := dt / (d * math.Sqrt(d))
			a.vx, a.vy, a.vz = a.vx-dx*b.mass*m, a.vy-dy*b.mass*m, a.vz-dz*b.mass*m
			b.vx, b.vy, b.vz = b.vx+dx*a.mass*m, b.vy+dy*a.mass*m, b.vz+dz*a.mass*m
		}
	}
	for i := range all {
		b := &all[i]
		b.x, b.y, b.z = b.x+dt*b.vx, b.y+dt*b.vy, b.z+dt*b.vz
	}
}

// fractal counts steps until a point has escaped.
func fractal() []byte {
	sum := 0
	for py := range 400 {
		for px := range 400 {
			cx, cy := float64(px)/200-1.5, float64(py)/200-1
			x, y, n := 0.0, 0.0, 0
			for n < 100 && x*x+y*y < 4 {
				x, y = x*x-y*y+cx, 2*x*y+cy
				n++
			}
			sum += n >> 4
		}
	}
	return binary.AppendVarint(nil, int64(sum))
}

// packed reads and writes numbers in bytes.
func packed() []byte {
	b := make([]byte, 64<<10)
	for round := range uint64(80) {
		for i := 0; i+8 <= len(b); i += 8 {
			binary.LittleEndian.PutUint64(b[i:], uint64(i)*round)
		}
		for i := 0; i+8 <= len(b); i += 5 {
			x := binary.BigEndian.Uint32(b[i:])
			binary.BigEndian.PutUint16(b[i+4:], uint16(x>>3)+binary.LittleEndian.Uint16(b[i+6:]))
			b[i] ^= byte(binary.LittleEndian.Uint64(b[i:]) >> 9)
		}
		for i := 0; i+16 <= len(b); i += 12 {
			binary.BigEndian.PutUint64(b[i:], binary.BigEndian.Uint64(b[i+8:])^round)
			binary.LittleEndian.PutUint32(b[i+8:], binary.LittleEndian.Uint32(b[i+4:])+1)
		}
	}
	return b[:128]
}

// waves transforms signals.
func waves() []byte {
	const n = 1 << 12
	signal := make([]complex128, n)
	for i := range signal {
		signal[i] = complex(float64(i%37), float64(i%11))
	}
	for range 20 {
		transform(signal)
	}
	return words64([]uint64{uint64(int64(real(signal[5]))), uint64(int64(imag(signal[7])))})
}

func transform(a []complex128) {
	n := len(a)
	for i, k := 1, 0; i < n; i++ {
		bit := n >> 1
		for ; k&bit != 0; bit >>= 1 {
			k ^= bit
		}
		k ^= bit
		if i < k {
			a[i], a[k] = a[k], a[i]
		}
	}
	for size := 2; size <= n; size <<= 1 {
		angle := 2 * math.Pi / float64(size)
		step := complex(math.Cos(angle), math.Sin(angle))
		for i := 0; i < n; i += size {
			w := complex(1, 0)
			for k := range size / 2 {
				u, v := a[i+k], a[i+k+size/2]*w
				a[i+k], a[i+k+size/2] = u+v, u-v
				w *= step
			}
		}
	}
	for i := range a {
		a[i] /= complex(math.Sqrt(float64(n)), 0)
	}
}

// cipher mixes sixteen words in rounds, more than many machines have registers for.
func cipher() []byte {
	var state [16]uint32
	for i := range state {
		state[i] = uint32(i) * 0x9e3779b9
	}
	for range 40000 {
		state = mix(&state)
	}
	var out []uint64
	for _, x := range state {
		out = append(out, uint64(x))
	}
	return words64(out)
}

func mix(s *[16]uint32) (out [16]uint32) {
	x0, x1, x2, x3, x4, x5, x6, x7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
	x8, x9, xa, xb, xc, xd, xe, xf := s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15]
	for range 10 {
		x0, x4, x8, xc = quarter(x0, x4, x8, xc)
		x1, x5, x9, xd = quarter(x1, x5, x9, xd)
		x2, x6, xa, xe = quarter(x2, x6, xa, xe)
		x3, x7, xb, xf = quarter(x3, x7, xb, xf)
		x0, x5, xa, xf = quarter(x0, x5, xa, xf)
		x1, x6, xb, xc = quarter(x1, x6, xb, xc)
		x2, x7, x8, xd = quarter(x2, x7, x8, xd)
		x3, x4, x9, xe = quarter(x3, x4, x9, xe)
	}
	return [16]uint32{x0 + s[0], x1 + s[1], x2 + s[2], x3 + s[3], x4 + s[4], x5 + s[5], x6 + s[6], x7 + s[7],
		x8 + s[8], x9 + s[9], xa + s[10], xb + s[11], xc + s[12], xd + s[13], xe + s[14], xf + s[15]}
}

func quarter(a, b, c, d uint32) (uint32, uint32, uint32, uint32) {
	a += b
	d = bits.RotateLeft32(d^a, 16)
	c += d
	b = bits.RotateLeft32(b^c, 12)
	a += b
	d = bits.RotateLeft32(d^a, 8)
	c += d
	b = bits.RotateLeft32(b^c, 7)
	return a, b, c, d
}

// matrix multiplies, and finds the longest common part of two texts.
func matrix() []byte {
	const n = 128
	var a, b, c [n][n]int32
	for i := range n {
		for k := range n {
			a[i][k], b[i][k] = int32(i*k), int32(i-k)
		}
	}
	for i := range n {
		for k := range n {
			for l := range n {
				c[i][k] += a[i][l] * b[l][k]
			}
		}
	}
	x, y := prose(3000), prose(3500)[100:]
	return binary.AppendVarint(nil, int64(c[3][5])+int64(common(x, y)))
}

func common(x, y []byte) (most int) {
	rows := make([]int, len(y)+1)
	for i := range x {
		before := 0
		for k := range y {
			was := rows[k+1]
			if x[i] == y[k] {
				rows[k+1] = before + 1
			} else {
				rows[k+1] = max(rows[k], rows[k+1])
			}
			before = was
			most = max(most, rows[k+1])
		}
	}
	return most
}

// division divides by what it does not know, and counts as threads do.
func division() []byte {
	var n atomic.Int64
	var flag atomic.Bool
	sum := uint64(0)
	for i := uint64(1); i < 300_000; i++ {
		a, b := i*0x9e3779b97f4a7c15, i|1
		for b > 1<<8 {
			a, b = b, a%b
		}
		sum += a/(b+1) + uint64(int32(a)/(int32(b)+7))
		n.Add(int64(sum & 3))
		flag.Store(n.Load()&1 == 0)
		if flag.CompareAndSwap(true, false) {
			sum++
		}
	}
	return words64([]uint64{sum, uint64(n.Load())})
}
