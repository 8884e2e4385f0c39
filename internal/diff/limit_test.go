package diff

import (
	"slices"
	"testing"
)

// TestLimitsOfInstantiations parses lists whose patterns are names with commas.
func TestLimitsOfInstantiations(t *testing.T) {
	for text, want := range map[string][]string{
		"calls>1%,ops>2%":                           {"", ""},
		"calls@main.Map[int,string]>0":              {"main.Map[int,string]"},
		"calls@main.Map[int,string]>0, ops>0":       {"main.Map[int,string]", ""},
		"ops@main.F[map[int]int,chan<- [2]int].*>1": {"main.F[map[int]int,chan<- [2]int].*"},
		"calls@main.Map[*>0,ops@main.f>1":           {"main.Map[*", "main.f"},
		"calls@main.f]>0,ops>1":                     {"main.f]", ""},
	} {
		limits, err := ParseLimits(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		var have []string
		for _, l := range limits {
			name := ""
			if l.Pattern != nil {
				name = l.Pattern.text
			}
			have = append(have, name)
		}
		if !slices.Equal(have, want) {
			t.Errorf("%s: have patterns %q, want %q", text, have, want)
		}
	}
}
