package ctxid

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/rt"
)

// random returns an ID with a tag, as every ID of a program has one.
func random(r *rand.Rand) (hi, lo uint64) {
	return Join(Fields{
		Node:  r.Uint32N(1 << rt.IDNodeBits),
		ID:    r.Uint32N(1 << rt.IDIdBits),
		Epoch: r.Uint32N(1 << rt.IDEpochBits),
		PC:    r.Uint32N(1 << rt.IDPCBits),
		Tag:   1 + r.Uint32N(1<<rt.IDTagBits-1),
	})
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		hi, lo := random(r)
		text := string(Append(nil, hi, lo))
		if len(text) != Len || Len > 26 {
			t.Fatalf("%s has %d characters", text, len(text))
		}
		h, l, err := Parse(text)
		if err != nil || h != hi || l != lo {
			t.Fatalf("%s: have %#x %#x %v, want %#x %#x", text, h, l, err, hi, lo)
		}
	}
}

// TestFields puts the largest value into each field alone.
func TestFields(t *testing.T) {
	for i, f := range []Fields{
		{Node: 1<<rt.IDNodeBits - 1, Tag: 1}, {ID: 1<<rt.IDIdBits - 1, Tag: 1}, {Epoch: 1<<rt.IDEpochBits - 1, Tag: 1},
		{PC: 1<<rt.IDPCBits - 1, Tag: 1}, {Tag: 1<<rt.IDTagBits - 1},
	} {
		hi, lo := Join(f)
		if have := Split(hi, lo); have != f {
			t.Errorf("%d: have %+v, want %+v", i, have, f)
		}
		h, l, err := Parse(Append(nil, hi, lo))
		if have := Split(h, l); err != nil || have != f {
			t.Errorf("%d: have %+v %v, want %+v", i, have, err, f)
		}
	}
}

// TestMangled tries every change of one character and every transposition.
func TestMangled(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		hi, lo := random(r)
		text := Append(nil, hi, lo)
		for i := range text {
			for c := range 256 {
				mangled := append([]byte(nil), text...)
				if mangled[i] = byte(c); mangled[i] == text[i] {
					continue
				}
				refuse(t, string(mangled), string(text))
			}
			if i > 0 && text[i-1] != text[i] {
				mangled := append([]byte(nil), text...)
				mangled[i-1], mangled[i] = text[i], text[i-1]
				refuse(t, string(mangled), string(text))
			}
			refuse(t, string(text[:i])+string(text[i+1:]), string(text))
		}
	}
}

// TestMangledAtRandom shuffles digits: what CRC lets pass is one in 65,536.
func TestMangledAtRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	passed := 0
	const tries = 1_000_000
	for range tries {
		text := []byte(Prefix)
		for range digits {
			text = append(text, Digits[r.IntN(64)])
		}
		if _, _, err := Parse(text); err == nil {
			passed++
		}
	}
	if passed > 2*tries/65536+10 {
		t.Errorf("%d of %d random texts pass", passed, tries)
	}
}

func refuse(t *testing.T, mangled, text string) {
	t.Helper()
	if _, _, err := Parse(mangled); err == nil {
		t.Fatalf("%s, made from %s, was accepted", mangled, text)
	}
}

func TestErrors(t *testing.T) {
	hi, lo := Join(Fields{Node: 5, ID: 7, Epoch: 3, PC: 0x1234, Tag: 9})
	good := string(Append(nil, hi, lo))
	for text, want := range map[string]string{
		"":                                     "of 0 characters, want 26",
		good + "A":                             "of 27 characters",
		"stm2" + good[4:]:                      `begins with "stm2"`,
		good[:10] + "+" + good[11:]:            `with '+' in place 10`,
		good[:25] + "?":                        `with '?' in place 25`,
		good[:4] + strings.Repeat("A", digits): "check value",
	} {
		if _, _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: have %v, want %s", text, err, want)
		}
	}
	if _, _, err := Parse(Append(nil, 1, 1)); err == nil || !strings.Contains(err.Error(), "tag") {
		t.Errorf("without a tag: have %v", err)
	}
}

// TestCheck compares the CRC with one computed bit by bit.
func TestCheck(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 1000 {
		first, second := r.Uint64N(1<<58), r.Uint64N(1<<58)
		crc := uint16(0xffff)
		for i := range 128 {
			bit := uint16(0)
			switch {
			case i >= 70:
				bit = uint16(second>>(127-i)) & 1
			case i >= 12:
				bit = uint16(first>>(69-i)) & 1
			}
			top := crc>>15 ^ bit
			crc = crc<<1 ^ top*0x1021
		}
		if have := check(first, second); have != crc {
			t.Fatalf("%#x %#x: have %#x, want %#x", first, second, have, crc)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	var buf [Len]byte
	hi, lo := random(rand.New(rand.NewPCG(1, 1)))
	for b.Loop() {
		Append(buf[:0], hi, lo)
	}
}

func BenchmarkParse(b *testing.B) {
	hi, lo := random(rand.New(rand.NewPCG(1, 1)))
	text := string(Append(nil, hi, lo))
	for b.Loop() {
		if _, _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
