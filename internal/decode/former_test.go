package decode_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/record/raw"
)

// TestFormer decodes IDs of release 0.1.0, whose records have layout 6. The random programs of TestRandom and
// TestLucceTheorem1 have left testdata/former there, with the encoders of that release, and each line has an ID and the
// stack that the release decoded it to: from several epochs of dacce, of versions beyond 63 bits of lucce.
func TestFormer(t *testing.T) {
	for engine, least := range map[string]int{"dacce": 30, "lucce": 40} {
		dir := filepath.Join("testdata", "former", engine)
		head, err := os.ReadFile(filepath.Join(dir, "cce"))
		if err != nil {
			t.Fatal(err)
		}
		if have := raw.Load[layout.Header](head).Version; have != 6 {
			t.Errorf("%s has layout %d, want 6", dir, have)
		}
		live, err := record.Open(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.ReadFile(dir + ".stemma")
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := record.Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := os.ReadFile(dir + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		for kind, rec := range map[string]*record.Record{"live directory": live, "sealed file": sealed} {
			d, decoded := decode.New(rec), 0
			for line := range strings.Lines(string(lines)) {
				text, want, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
				id, err := ctxid.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				s, err := d.Decode(id)
				if err != nil {
					t.Errorf("%s of %s: %s: %v", kind, engine, text, err)
				} else if have := string(s.AppendLine(nil, -1)); have != want {
					t.Errorf("%s of %s: %s: have %s, want %s", kind, engine, text, have, want)
				}
				decoded++
			}
			if decoded < least {
				t.Errorf("%s of %s: %d IDs, want %d", kind, engine, decoded, least)
			}
		}
	}
}
