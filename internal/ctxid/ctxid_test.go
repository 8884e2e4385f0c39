package ctxid

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/testing/level"
)

// random returns an ID with a run number, as every ID of a program has one.
func random(r *rand.Rand) ID {
	hi, lo := Join(Fields{
		Node:  r.Uint32N(1 << layout.IDInternedBits),
		ID:    r.Uint32N(1 << layout.IDIdBits),
		Epoch: r.Uint32(),
		PC:    r.Uint32N(1 << layout.IDPCBits),
	})
	return ID{hi, lo, r.Uint64() | 1}
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 100_000 {
		id := random(r)
		text := string(Append(nil, id))
		if len(text) != Len || Len > 37 {
			t.Fatalf("%s has %d characters", text, len(text))
		}
		if have, err := Parse(text); err != nil || have != id {
			t.Fatalf("%s: have %#x %v, want %#x", text, have, err, id)
		}
	}
}

// TestFields puts the largest value into each field alone.
func TestFields(t *testing.T) {
	for i, c := range []struct {
		Fields
		run uint64
	}{
		{Fields{Node: 1<<layout.IDInternedBits - 1}, 1}, {Fields{ID: 1<<layout.IDIdBits - 1}, 1},
		{Fields{Epoch: 1<<layout.IDEpochBits - 1}, 1},
		{Fields{PC: 1<<layout.IDPCBits - 1}, 1}, {Fields{}, 1<<64 - 1}, {Fields{}, 1 << 63},
	} {
		hi, lo := Join(c.Fields)
		if have := Split(hi, lo); have != c.Fields || lo == 0 {
			t.Errorf("%d: have %+v, want %+v", i, have, c.Fields)
		}
		id, err := Parse(Append(nil, ID{hi, lo, c.run}))
		if have := Split(id.Hi, id.Lo); err != nil || have != c.Fields || id.Run != c.run {
			t.Errorf("%d: have %+v of run %#x, %v, want %+v", i, have, id.Run, err, c)
		}
	}
}

// TestRunFirst checks what the package says of logs: the IDs of one run begin alike,
// and those of another one differently.
func TestRunFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	seen := make(map[string]uint64)
	for range 10_000 {
		id, next := random(r), random(r)
		next.Run = id.Run
		text := string(Append(nil, id))
		if other := string(Append(nil, next)); other[:14] != text[:14] {
			t.Fatalf("%s and %s are of one run", text, other)
		}
		if seen[text[:14]] != 0 {
			t.Fatalf("%s: runs %#x and %#x begin alike", text, id.Run, seen[text[:14]])
		}
		seen[text[:14]] = id.Run
	}
}

// TestMangled tries every change of one character and every transposition.
func TestMangled(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range level.Rounds(40, 200) {
		text := Append(nil, random(r))
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
	tries := level.Rounds(200_000, 1_000_000)
	for range tries {
		text := []byte(Prefix)
		for range digits {
			text = append(text, Digits[r.IntN(64)])
		}
		if _, err := Parse(text); err == nil {
			passed++
		}
	}
	if passed > 2*tries/65536+10 {
		t.Errorf("%d of %d random texts pass", passed, tries)
	}
}

func refuse(t *testing.T, mangled, text string) {
	t.Helper()
	if _, err := Parse(mangled); err == nil {
		t.Fatalf("%s, made from %s, was accepted", mangled, text)
	}
}

func TestErrors(t *testing.T) {
	hi, lo := Join(Fields{Node: 5, ID: 7, Epoch: 3, PC: 0x1234})
	good := string(Append(nil, ID{hi, lo, 9}))
	for text, want := range map[string]string{
		"":                                     "of 0 characters, want 37",
		good + "A":                             "of 38 characters",
		"stm3" + good[4:]:                      `begins with "stm3"`,
		good[:10] + "+" + good[11:]:            `with '+' in place 10`,
		good[:36] + "?":                        `with '?' in place 36`,
		good[:4] + strings.Repeat("A", digits): "check value",
		"stm1AAAABAAAAAcAAAMAAJJAB1":           "of an earlier version of stemma (have stm1, want stm2)",
		"stm1AAAABAAAAAcAAAMAAJJAB?":           "of 26 characters",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: have %v, want %s", text, err, want)
		}
	}
	if _, err := Parse(Append(nil, ID{1, 1, 0})); err == nil ||
		!strings.Contains(err.Error(), "without a run number") {
		t.Errorf("without a run: have %v", err)
	}
}

// TestCheck compares the CRC with one computed bit by bit.
func TestCheck(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 1000 {
		id := random(r)
		f, run := Split(id.Hi, id.Lo), id.Run
		var bits []byte
		add := func(v uint64, n int) {
			for n--; n >= 0; n-- {
				bits = append(bits, byte(v>>n)&1)
			}
		}
		add(0, 10)
		add(run, 64)
		add(uint64(f.Node), layout.IDInternedBits)
		add(uint64(f.ID), layout.IDIdBits)
		add(uint64(f.Epoch), layout.IDEpochBits)
		add(uint64(f.PC), layout.IDPCBits)
		crc := uint16(0xffff)
		for _, bit := range bits {
			top := crc>>15 ^ uint16(bit)
			crc = crc<<1 ^ top*0x1021
		}
		if have := check(run, f); have != crc {
			t.Fatalf("run %#x, %+v: have %#x, want %#x", run, f, have, crc)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	var buf [Len]byte
	id := random(rand.New(rand.NewPCG(1, 1)))
	for b.Loop() {
		Append(buf[:0], id)
	}
}

func BenchmarkParse(b *testing.B) {
	text := string(Append(nil, random(rand.New(rand.NewPCG(1, 1)))))
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

// TestValues compares the table of values with the digits.
func TestValues(t *testing.T) {
	if len(values) != 256 {
		t.Fatalf("%d values, want 256", len(values))
	}
	for c := range 256 {
		want := strings.IndexByte(Digits, byte(c))
		if have := int(int8(values[c])); have != want {
			t.Errorf("character %q: have %d, want %d", rune(c), have, want)
		}
	}
}
