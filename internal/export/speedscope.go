package export

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/profile"
)

// The file format of speedscope.app, as far as it is used here.
type (
	speedscopeFrame struct {
		Name string `json:"name"`
		File string `json:"file,omitempty"`
		Line int    `json:"line,omitempty"`
	}
	speedscopeShared struct {
		Frames []speedscopeFrame `json:"frames"`
	}
	speedscopeProfile struct {
		Type       string     `json:"type"`
		Name       string     `json:"name"`
		Unit       string     `json:"unit"`
		StartValue uint64     `json:"startValue"`
		EndValue   uint64     `json:"endValue"`
		Samples    [][]uint32 `json:"samples"`
		Weights    []uint64   `json:"weights"`
	}
	speedscopeFile struct {
		Schema   string              `json:"$schema"`
		Exporter string              `json:"exporter"`
		Shared   speedscopeShared    `json:"shared"`
		Profiles []speedscopeProfile `json:"profiles"`
	}
)

// writeSpeedscope writes a sampled profile with a sample for each context,
// whose weight is the calls.
// The unit is "none" where a width is a number. Sites do not appear, since a
// frame of the format has one place only, which is where the function begins.
func writeSpeedscope(w io.Writer, p *profile.Profile, t *cct.Tree) error {
	name, unit := command(p), t.Type.Unit
	if unit == profile.Calls.Unit {
		unit = "none"
	}
	prof := speedscopeProfile{Type: "sampled", Name: name, Unit: unit, Samples: [][]uint32{}, Weights: []uint64{}}
	frames := make([]speedscopeFrame, len(t.Funcs), len(t.Funcs)+1)
	for i, f := range t.Funcs {
		frames[i] = speedscopeFrame{f.Name, f.File, f.Line}
	}
	frames = append(frames, speedscopeFrame{Name: GoStart})
	for i, n := range t.Nodes {
		if n.Count == 0 {
			continue
		}
		prof.Samples = append(prof.Samples, speedscopeStack(t, uint32(i)))
		prof.Weights = append(prof.Weights, n.Count)
		prof.EndValue += n.Count
	}
	b, err := json.Marshal(speedscopeFile{"https://www.speedscope.app/file-format-schema.json", "stemma",
		speedscopeShared{frames}, []speedscopeProfile{prof}})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", b)
	return err
}

// speedscopeStack returns the frames of context n, outermost first.
// A frame is an index into the shared list: that of the function in t.Funcs, or one
// more than the last of those for the start of a goroutine.
func speedscopeStack(t *cct.Tree, n uint32) []uint32 {
	var stack []uint32
	for ; n != 0; n = t.Nodes[n].Parent {
		stack = append(stack, t.Nodes[n].Func)
		if t.Sites[t.Nodes[n].Site].Via == cct.ViaGo {
			stack = append(stack, uint32(len(t.Funcs)))
		}
	}
	for i, j := 0, len(stack)-1; i < j; i, j = i+1, j-1 {
		stack[i], stack[j] = stack[j], stack[i]
	}
	return stack
}
