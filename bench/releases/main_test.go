package main

import (
	"slices"
	"testing"
)

func TestReleasesIn(t *testing.T) {
	have, err := releasesIn("stemma (devel)\nsupports go1.26.9 to go1.26.11 and go1.27.4\ngo go1.26.8 linux/amd64 in " +
		"/usr/local/go\n")
	want := []string{"go1.26.9", "go1.26.10", "go1.26.11", "go1.27.4"}
	if err != nil || !slices.Equal(have, want) {
		t.Errorf("have %q, %v", have, err)
	}
	if have, err := releasesIn("stemma (devel)\n"); err == nil {
		t.Errorf("no ranges: have %q", have)
	}
}
