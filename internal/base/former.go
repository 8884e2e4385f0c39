package base

import (
	"fmt"
	"io"
	"strings"

	"github.com/stemma-go/stemma/profile"
)

// Former says that what was typed has another name now. Each former name is accepted for one release.
func Former(stderr io.Writer, typed, now string) {
	fmt.Fprintf(stderr, "stemma: %s is called %s now; the next release does not take the former name\n", typed, now)
}

// CurrentMetrics replaces former names in a list of metrics with commas between them, the value of -metric, and
// reports each.
func CurrentMetrics(stderr io.Writer, list *string) {
	names := strings.Split(*list, ",")
	for i, name := range names {
		if now := profile.CurrentName(name); now != name {
			Former(stderr, "-metric="+name, now)
			names[i] = now
		}
	}
	*list = strings.Join(names, ",")
}
