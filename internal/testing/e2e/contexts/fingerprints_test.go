package contexts

import (
	"fmt"
	"hash/fnv"
	"maps"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/fingerprint"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestFingerprints compares fingerprints, of IDs and of nodes of an exact tree, with hashes of texts that program
// fingerprints has.
func TestFingerprints(t *testing.T) {
	e2e.NeedMore(t)
	for _, engine := range []string{"dacce", "cct"} {
		t.Run(engine, func(t *testing.T) {
			r := e2e.Run(t, e2e.Build(t, "fingerprints", "-engine="+engine))
			r.OK(t)
			want := make(map[fingerprint.Value]string)
			ids := make(map[ctxid.ID]string)
			for line := range strings.Lines(r.Stdout) {
				var id ctxid.ID
				var text string
				if _, err := fmt.Sscanf(line, "%x %x %x %s", &id.Hi, &id.Lo, &id.Run, &text); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				h := fnv.New64a()
				h.Write([]byte(strings.ReplaceAll(afterIDs(line)+"|main.mark", "|", "\n")))
				want[fingerprint.Value(h.Sum64())] = afterIDs(line)
				ids[id] = afterIDs(line)
			}
			if len(want) < 15 {
				t.Fatalf("%d texts, want 15 and more:\n%s", len(want), r.Stdout)
			}
			rec := r.Record(t)
			have := make(map[fingerprint.Value]string)
			if rec.IDs == nil {
				tree := cct.New(rec.Profile)
				prints := tree.Fingerprints()
				for i, n := range tree.Nodes {
					if tree.Funcs[n.Func].Name == "main.mark" && n.Count > 0 {
						have[prints.Of(uint32(i)).Functions] = prints.Text(uint32(i))
					}
				}
			} else {
				decoder, prints := decode.New(rec), new(decode.Fingerprints)
				for id := range ids {
					stack, err := decoder.Decode(id)
					if err != nil {
						t.Fatal(err)
					}
					have[prints.Of(stack).Functions] = prints.Text(stack)
				}
			}
			compare(t, have, want)
		})
	}
}

// afterIDs returns the text in a line.
func afterIDs(line string) string {
	return strings.SplitN(strings.TrimSpace(line), " ", 4)[3]
}

// compare compares fingerprints, each with its text.
func compare(t *testing.T, have, want map[fingerprint.Value]string) {
	t.Helper()
	for v, text := range maps.All(want) {
		if have[v] == "" {
			t.Errorf("%v is not there: %s", v, text)
		}
	}
	for v, text := range maps.All(have) {
		if want[v] == "" {
			t.Errorf("%v is not wanted: %s", v, strings.ReplaceAll(text, "\n", "|"))
		}
	}
}
