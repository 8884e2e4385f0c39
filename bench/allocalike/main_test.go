package main

import "testing"

// TestBySize compares runs of two builds: only sizes that differ in all runs count.
func TestBySize(t *testing.T) {
	var runs [2][]map[uint64]uint64
	for i, lines := range [][]string{{" 10 1 960 8 3 480 4 704 0\n", " 12 1 960 8 5 480 4 704 0\n"},
		{" 11 1 1184 8 4 480 2 704 2\n", " 11 1 1184 8 9 480 1 704 3\n"}} {
		for _, line := range lines {
			a, by, err := parse(line)
			if err != nil || a[0] < 10 || a[1] < 960 || len(by) != 3 {
				t.Fatalf("%q: have %v, %v, %v", line, a, by, err)
			}
			runs[i] = append(runs[i], by)
		}
	}
	if have, want := bySize(runs[0], runs[1]), "480:-2 704:+2"; have != want {
		t.Errorf("have %q, want %q", have, want)
	}
	for _, line := range []string{"", " 1 2\n", " 1 2 3 x\n"} {
		if _, _, err := parse(line); err == nil {
			t.Errorf("%q: no error", line)
		}
	}
}
