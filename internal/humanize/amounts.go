package humanize

import (
	"fmt"
	"time"

	"github.com/stemma-go/stemma/profile"
)

// Bytes returns a size for people to read.
func Bytes(n uint64) string {
	switch {
	case n >= 10e9:
		return fmt.Sprintf("%.0f GB", float64(n)/1e9)
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.0f kB", float64(n+999)/1e3)
}

// Value returns a value with its unit, in at most five digits if it is a time.
func Value(v uint64, unit string) string {
	switch unit {
	case "":
		return "-"
	case "bytes":
		return Commas(v) + " B"
	}
	d := time.Duration(min(v, 1<<63-1))
	for step := time.Duration(1); ; step *= 10 {
		if d/step < 100_000 {
			return d.Round(step).String()
		}
	}
}

// Ago returns a duration in words, in the largest unit that it has two of.
func Ago(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{24 * time.Hour, "days"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if d >= 2*u.unit {
			return fmt.Sprintf("%d %s ago", d/u.unit, u.name)
		}
	}
	return "just now"
}

// Shorten cuts s to n characters, the last of which tells that it was cut.
// A character is a rune: it never cuts one in two.
func Shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Amount writes a value in its unit.
func Amount(t profile.Metric, n uint64) string {
	if t.Unit == "nanoseconds" {
		return Milliseconds(n)
	}
	return Commas(n)
}

// Milliseconds writes a number of nanoseconds.
func Milliseconds(ns uint64) string {
	return fmt.Sprintf("%s.%03d ms", Commas(ns/1e6), ns/1e3%1e3)
}
