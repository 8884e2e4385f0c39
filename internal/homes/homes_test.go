package homes_test

import (
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/rt/fold"
	"github.com/stemma-go/stemma/internal/homes"
	"github.com/stemma-go/stemma/internal/testing/foldtest"
)

// letters is a path of package foldtest. The L in it are labels, at which a path ends.
type letters string

func (l letters) Func(n uint32) byte              { return l[n] }
func (l letters) Kind(n uint32) fold.Kind         { return foldtest.Kind(l[n]) }
func (l letters) Up(n uint32) (up uint32, _ bool) { return n - 1, n > 0 && l[n] != 'L' }

// TestWalk compares the homes in a tree of all short paths with those that package fold finds one by one.
func TestWalk(t *testing.T) {
	const all = "FGabw!L"
	numbers, parents, paths := map[string]uint32{"": 0}, []uint32{0}, []string{""}
	for path := range foldtest.Paths(all, 5) {
		numbers[path] = uint32(len(paths))
		parents, paths = append(parents, numbers[path[:len(path)-1]]), append(paths, path)
	}
	p, entered := homes.New(128), 0
	homes.Walk(len(paths)-1, func(n uint32) uint32 { return parents[n] }, func(n uint32) {
		entered++
		path := paths[n]
		last := len(path) - 1
		call := path[last]
		have, want := p.Enter(n, uint32(call), foldtest.Kind(call)), n
		if call == 'L' {
			p.Cut(n)
		}
		if kind := foldtest.Kind(call); kind != fold.None && last > 0 {
			if home, ok := fold.Home(letters(path[:last]), uint32(last-1), call, kind); ok {
				want = numbers[path[:home+1]]
			}
		}
		if have != want {
			t.Fatalf("%s leads back to %q, want %q", path, paths[have], paths[want])
		}
	}, func(uint32) { p.Leave() })
	if entered != len(paths)-1 {
		t.Errorf("%d of %d places", entered, len(paths)-1)
	}
}
