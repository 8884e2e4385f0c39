package diff

import (
	"encoding/json"
	"io"

	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/diff"
)

// JSONForms are the values that -format=json prints, by the names of their schemas in docs/reference/schemas.
var JSONForms = map[string]any{"diff": JsonDiff{}, "diff-benchmarks": jsonBenchmarks{}}

// The JSON form. Lists are complete unless -top is given.
type (
	JsonDiff struct {
		Base    []report.JsonRecord `json:"base"`
		New     []report.JsonRecord `json:"new"`
		Notes   []string            `json:"notes"`
		By      string              `json:"by"`
		Values  []jsonValue         `json:"values"`
		Matched []jsonMatched       `json:"matched"`
		Limits  []jsonLimit         `json:"limits"`
	}
	jsonValue struct {
		Name string    `json:"name"`
		Unit string    `json:"unit"`
		Base uint64    `json:"base"`
		New  uint64    `json:"new"`
		Rows []JsonRow `json:"rows"`
		// what is in neither of these: the outermost contexts that vary from run to run, and all that lies there
		Varying     []jsonVarying `json:"varying"`
		BaseVarying uint64        `json:"baseVarying"`
		NewVarying  uint64        `json:"newVarying"`
		BaseChance  uint64        `json:"baseChance"` // what Go does by chance, which is in none of these, either
		NewChance   uint64        `json:"newChance"`
	}
	jsonVarying struct {
		Name  string             `json:"name"`
		By    uint64             `json:"by"`
		Stack []report.JsonFrame `json:"stack"`
	}
	JsonRow struct {
		Name    string             `json:"name"`
		Change  string             `json:"change"`
		Base    uint64             `json:"base"`
		New     uint64             `json:"new"`
		File    string             `json:"file,omitempty"`
		Line    int                `json:"line,omitempty"`
		How     string             `json:"how,omitempty"`
		Was     string             `json:"was,omitempty"`
		WasFile string             `json:"wasFile,omitempty"`
		WasLine int                `json:"wasLine,omitempty"`
		Stack   []report.JsonFrame `json:"stack,omitempty"`
	}
	jsonMatched struct {
		Name    string `json:"name"`
		How     string `json:"how"`
		Was     string `json:"was,omitempty"`
		File    string `json:"file,omitempty"`
		Line    int    `json:"line,omitempty"`
		WasFile string `json:"wasFile,omitempty"`
		WasLine int    `json:"wasLine,omitempty"`
	}
	jsonLimit struct {
		Limit string    `json:"limit"`
		Soft  bool      `json:"soft"`
		Kept  bool      `json:"kept"`
		Base  uint64    `json:"base"`
		New   uint64    `json:"new"`
		Over  []JsonRow `json:"over"`
	}
)

// writeJSON prints all of it as one object.
func (c *Result) writeJSON(w io.Writer) error {
	out := JsonDiff{Base: report.JsonRecords(c.sources[0]), New: report.JsonRecords(c.sources[1]),
		Notes: append([]string{}, c.notes...), By: c.o.Scope.String(),
		Values: []jsonValue{}, Matched: []jsonMatched{}, Limits: []jsonLimit{}}
	for _, v := range c.d.Values {
		jv := jsonValue{v.Name, v.Unit, v.Base, v.New, []JsonRow{}, []jsonVarying{}, v.Varying[0], v.Varying[1],
			v.Chance[0], v.Chance[1]}
		for _, x := range c.d.VaryingContexts(v) {
			jv.Varying = append(jv.Varying, jsonVarying{x.Func, x.By, report.JsonStack(x.Stack)})
		}
		rows, _ := c.rows(v)
		for _, r := range rows {
			jv.Rows = append(jv.Rows, jsonRowOf(r))
		}
		out.Values = append(out.Values, jv)
	}
	for _, r := range c.d.Matched() {
		out.Matched = append(out.Matched, jsonMatched{r.Name, r.How, r.Was, r.File, r.Line, r.WasFile, r.WasLine})
	}
	for _, r := range c.results {
		l := jsonLimit{r.Text, r.Soft, len(r.Over) == 0, r.Base, r.New, []JsonRow{}}
		for _, i := range r.Over {
			l.Over = append(l.Over, jsonRowOf(c.d.Over(r, i)))
		}
		out.Limits = append(out.Limits, l)
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "\t")
	return enc.Encode(out)
}

func jsonRowOf(r diff.Row) JsonRow {
	j := JsonRow{r.Name, r.Change(), r.Base, r.New, r.File, r.Line, r.How, r.Was, "", 0, report.JsonStack(r.Stack)}
	if r.How != "" {
		j.WasFile, j.WasLine = r.WasFile, r.WasLine
	}
	return j
}
