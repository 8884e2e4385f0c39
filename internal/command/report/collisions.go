package report

import (
	"fmt"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/profile"
)

// collisionsOf returns the fingerprints that stand for several contexts in a sum of processes. Those of one process are
// not looked for.
func collisionsOf(p *profile.Profile, t *cct.Tree) (list []jsonCollision) {
	if len(p.Processes) < 2 {
		return nil
	}
	prints := t.Fingerprints()
	for _, pair := range prints.Collisions() {
		list = append(list, jsonCollision{prints.Of(pair[0]).Functions,
			[2]string{prints.Text(pair[0]), prints.Text(pair[1])}})
	}
	return list
}

// collided returns a warning about fingerprints that stand for several contexts, "" if there are none.
func collided(list []jsonCollision) string {
	if len(list) == 0 {
		return ""
	}
	first := list[0]
	text := func(i int) string { return strings.ReplaceAll(first.Functions[i], "\n", " → ") }
	return fmt.Sprintf("%s %s for several contexts, first %s: %s; and %s",
		humanize.Plural(len(list), "fingerprint"), humanize.Noun(len(list), "stands", "stand"),
		first.Fingerprint, text(0), text(1))
}

// Collided returns a warning about fingerprints that stand for several contexts in a sum of processes, "" if there are
// none.
func Collided(p *profile.Profile) string {
	if len(p.Processes) < 2 || len(p.Columns) == 0 {
		return ""
	}
	t, err := cct.Of(p, "")
	if err != nil {
		return ""
	}
	return collided(collisionsOf(p, t))
}
