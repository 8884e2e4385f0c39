package page

import (
	"bytes"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/stemma-go/stemma/internal/cct"
)

// A sourceAnswer is a function's source with what its lines have: of calls, those that a
// line makes; of samples, those that were taken in it. The lines and what is not drawn
// have all that is the function's.
type sourceAnswer struct {
	Generation int          `json:"gen"`
	Unit       string       `json:"unit"`
	Function   functionInfo `json:"function"`
	Lines      []sourceLine `json:"lines"`
	Rest       lineSum      `json:"rest"` // in other files, on lines that are not shown, or on no known line
	All        lineSum      `json:"all"`
	Why        string       `json:"why,omitempty"` // there is no text
}

type sourceLine struct {
	Line int    `json:"line"`
	Text string `json:"text"`
	lineNumbers
}

// lineNumbers are what a line has: of its own, and with what is called below it.
type lineNumbers struct {
	Self    uint64 `json:"self,omitempty"`
	Total   uint64 `json:"total,omitempty"`
	Base    uint64 `json:"base,omitempty"`
	BaseAll uint64 `json:"baseTotal,omitempty"`
}

type lineSum struct {
	Lines int    `json:"lines"`
	Self  uint64 `json:"self"`
	Base  uint64 `json:"base,omitempty"`
}

func (s *lineSum) add(n lineNumbers) {
	s.Lines++
	s.Self += n.Self
	s.Base += n.Base
}

// A linePlace is a line of a function.
type linePlace struct {
	fn, file string
	line     int
}

// lineTable returns what each line has, as report -by=line does.
func (m *model) lineTable(s *dataset) (map[linePlace]*lineNumbers, error) {
	if s.lines != nil {
		return s.lines, nil
	}
	trees := slices.Clone(s.sides)
	if s.typ.Sampled && m.diff == nil {
		t, err := cct.OfLines(m.data.Record.Profile, s.typ.Name)
		if err != nil {
			return nil, err
		}
		trees[sideNew] = t.Select(s.selection)
	}
	table := make(map[linePlace]*lineNumbers)
	for side, t := range trees {
		groups, err := t.By("line")
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			at := linePlace{g.Name, g.File, g.Line}
			n := table[at]
			if n == nil {
				n = new(lineNumbers)
				table[at] = n
			}
			// The places of one line that differ in how they enter are several groups.
			if side == sideNew {
				n.Self, n.Total = n.Self+g.Self, n.Total+g.Total
			} else {
				n.Base, n.BaseAll = n.Base+g.Self, n.BaseAll+g.Total
			}
		}
	}
	s.lines = table
	return table, nil
}

// Bounds of what is read and shown of a source file.
const (
	maxSource = 8 << 20
	maxLines  = 3000

	longestLine = 8 * maxName // bytes of a line that are looked at
)

// source answers with a function's source. Arguments: value, func, and a selection.
func (m *model) source(a Args) (*sourceAnswer, error) {
	s, err := m.set(a.get("metric"), a.selection())
	if err != nil {
		return nil, err
	}
	fn, err := s.function(a.get("func"))
	if err != nil {
		return nil, err
	}
	table, err := m.lineTable(s)
	if err != nil {
		return nil, err
	}
	f := s.tree().Funcs[fn]
	ans := &sourceAnswer{Generation: m.generation, Unit: s.typ.Unit, Lines: []sourceLine{}}
	ans.Function.funcInfo = describe(f)
	for _, r := range s.functionRows() {
		if r.fn == fn {
			ans.Function.numbers = r.numbers
		}
	}
	own, last := make(map[int]lineNumbers), 0
	for at, n := range table {
		if at.fn != f.Name {
			continue
		}
		ans.All.add(*n)
		if at.file == f.File && at.line > 0 {
			own[at.line] = *n
			last = max(last, at.line)
		}
	}
	ans.Rest = ans.All
	text, why := m.o.text(f.File)
	ans.Why = why
	for _, line := range extent(f, text, own, last) {
		n := own[line]
		ans.Lines = append(ans.Lines, sourceLine{line, lineOf(text, line), n})
		if _, ok := own[line]; ok {
			ans.Rest.Lines--
			ans.Rest.Self -= n.Self
			ans.Rest.Base -= n.Base
		}
	}
	return ans, nil
}

// extent returns the lines that are shown: those of the function, as far as they can be told;
// of a file that is not there those that have a value.
func extent(f cct.Func, text []string, own map[int]lineNumbers, last int) (lines []int) {
	if text == nil {
		for line := range own {
			lines = append(lines, line)
		}
		slices.Sort(lines)
		return lines[:min(len(lines), maxLines)]
	}
	first := f.Line
	for line := range own {
		if first == 0 || line < first {
			first = line
		}
	}
	// The end of a declaration is the next line with nothing but a brace at its beginning.
	end := max(last, first)
	for line := first; line > 0 && line <= len(text); line++ {
		if strings.HasPrefix(text[line-1], "}") {
			end = max(end, line)
			break
		}
	}
	for line := first; line > 0 && line <= min(end, len(text), first+maxLines); line++ {
		lines = append(lines, line)
	}
	return lines
}

func lineOf(text []string, line int) string {
	if line > len(text) {
		return ""
	}
	return text[line-1]
}

// text returns the lines of a file of source, or why there are none. A record may name any
// file: only what can be source is opened.
func (o *Options) text(file string) (lines []string, why string) {
	if file == "" || o.Open == nil {
		return nil, "the record does not know the file"
	}
	switch path.Ext(strings.ReplaceAll(file, `\`, "/")) {
	case ".go", ".s", ".c", ".h", ".cc", ".cpp", ".y", ".rl":
	default:
		return nil, cut(file) + " is no file of source"
	}
	r, err := o.Open(file)
	if err != nil {
		return nil, cut(err.Error())
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxSource+1))
	if err != nil {
		return nil, cut(err.Error())
	}
	if len(b) > maxSource || bytes.IndexByte(b, 0) >= 0 {
		return nil, cut(file) + " is no file of source"
	}
	lines = []string{}
	for line := range strings.Lines(string(b)) { // of any length: generated code has long ones
		line = strings.TrimRight(line[:min(len(line), longestLine)], "\r\n")
		lines = append(lines, cut(strings.ReplaceAll(line, "\t", "    ")))
	}
	return lines, ""
}
