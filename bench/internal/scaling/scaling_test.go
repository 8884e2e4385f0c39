package scaling

import (
	"strings"
	"testing"

	"github.com/stemma-go/stemma/bench/internal/session"
)

func TestDimensions(t *testing.T) {
	quick := &session.Session{Options: &session.Options{Quick: true}}
	whole := &session.Session{Options: new(session.Options)}
	for _, d := range dimensions() {
		n := len(sizes(quick, d))
		if n < 3 {
			t.Errorf("%s: -quick has %d points, of which no law can be made", d.name, n)
		}
		if all := len(sizes(whole, d)); all <= n && d.name != "goroutines" && all < 5 {
			t.Errorf("%s: %d points, with -quick %d", d.name, all, n)
		}
		for i := range d.sizes[1:] {
			if d.sizes[i+1] <= d.sizes[i] {
				t.Errorf("%s: sizes %v do not grow", d.name, d.sizes)
			}
		}
	}
	if Time(quick) >= Time(whole) {
		t.Error("-quick takes no less time")
	}
}

func TestLawOfMemoryIsThatOfWhatIsAdded(t *testing.T) {
	c := &curve{unit: "bytes"}
	for _, n := range []float64{1, 10, 100, 1000} {
		c.add(n, 5000+8*n)
	}
	if got := c.law(); !strings.HasPrefix(got, "bytes = 5008 + ") || !strings.Contains(got, "· x^1.0") ||
		!strings.Contains(got, "3 points") {
		t.Errorf("got %s", got)
	}
	if got := (&curve{unit: "bytes"}).law(); !strings.Contains(got, "none") {
		t.Errorf("without points: %s", got)
	}
}

func TestShort(t *testing.T) {
	for v, want := range map[float64]string{1.234: "1.23", 99.999: "100.00", 100.4: "100", 12345678: "12345678"} {
		if got := short(v); got != want {
			t.Errorf("%v is %s, want %s", v, got, want)
		}
	}
}
