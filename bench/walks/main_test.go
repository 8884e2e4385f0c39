package main

import (
	"strings"
	"testing"
)

func TestPackages(t *testing.T) {
	walk := strings.Fields("internal/a.f internal/a.(*T).g profile.New internal/a.h internal/b/c.f[go.shape.x/y.z] " +
		"internal/a.f internal/d.f.func1 internal/b/c.g")
	path, rooms, returns := packages(walk)
	want := "internal/a internal/b/c internal/a internal/d internal/b/c"
	if strings.Join(path, " ") != want || rooms != 3 || returns != 2 {
		t.Errorf("%q: %d rooms, %d returns, want %q: 3, 2", path, rooms, returns, want)
	}
}
