package papers

import (
	"strconv"
	"testing"
)

func TestTablesAreRectangular(t *testing.T) {
	for _, name := range Names() {
		tab, err := Table(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(tab.Rows) < 8 || tab.Notes[0] == "" {
			t.Errorf("%s: %d rows, note %q", name, len(tab.Rows), tab.Notes[0])
		}
		for _, r := range tab.Rows {
			if len(r) != len(tab.Head) {
				t.Errorf("%s: row %q has %d cells, want %d", name, r[0], len(r), len(tab.Head))
			}
		}
	}
	if _, err := Table("dacce2"); err == nil {
		t.Error("no error for a table that does not exist")
	}
}

// Ratios in the tables follow from the times beside them: a figure that was
// copied wrongly shows here.
func TestRatiosFollowFromTimes(t *testing.T) {
	for _, name := range []string{"cccp3", "cccp4", "cccp5", "cccp6"} {
		tab, err := Table(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range tab.Rows {
			base := number(t, r[2])
			for i := 3; i+1 < len(r) && r[i] != ""; i += 2 {
				got, want := number(t, r[i+1]), number(t, r[i])/base
				if got/want > 1.02 || want/got > 1.02 {
					t.Errorf("%s: %s: ratio %v, but the times give %.2f", name, r[0], got, want)
				}
			}
		}
	}
}

// Shares of one program add up to 100 %.
func TestSharesAddUp(t *testing.T) {
	tab, err := Table("cccp2")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range tab.Rows {
		sum := 0.0
		for _, cell := range r[2:] {
			sum += number(t, cell)
		}
		if sum < 99.9 || sum > 100.1 {
			t.Errorf("%s: shares add up to %.2f %%", r[0], sum)
		}
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
