package profile_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// exercise calls everything that takes a profile: what a reader accepted must
// be valid, and survive.
func exercise(t *testing.T, p *profile.Profile) {
	if err := p.CheckValid(); err != nil {
		t.Fatalf("a reader accepted an invalid profile: %v", err)
	}
	p.Lost()
	p.Full()
	p.Homes()
	text := mustText(t, p)
	back, err := profile.Read(bytes.NewReader(mustWrite(t, p)))
	if err != nil {
		t.Fatalf("reading what was written: %v", err)
	}
	if again := mustText(t, back); again != text {
		t.Fatalf("a round trip changes the profile from\n%s\nto\n%s", text, again)
	}
	if merged := mustMerge(t, p, otherRun(p)); sum(merged) != 2*sum(p) {
		t.Fatal("merging loses counts")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(mustWrite(f, mustLive(f, recordtest.Shapes())))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := profile.Read(bytes.NewReader(data)); err == nil {
			exercise(t, p)
		}
	})
}

func FuzzParseText(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := profile.ParseText(io.LimitReader(bytes.NewReader([]byte(text)), 1<<20)); err == nil {
			exercise(t, p)
		}
	})
}
