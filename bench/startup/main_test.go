package main

import (
	"slices"
	"testing"
)

func TestOver(t *testing.T) {
	for _, tt := range []struct {
		ms, kb float64
		size   int64
		want   []string
	}{
		{7.9, 3000, 1 << 20, nil},
		{8.1, 3000, 0, []string{"time"}},
		{1, 3100, 1<<20 + 1, []string{"memory", "record"}},
	} {
		b := &build{times: []float64{0, tt.ms, 90}, memory: []float64{tt.kb}, size: tt.size}
		if have := b.over(3, 2000); !slices.Equal(have, tt.want) {
			t.Errorf("%+v: have %q", tt, have)
		}
	}
}
