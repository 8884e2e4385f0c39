package replay

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Formats lists what [Result.Write] can write.
func Formats() []string { return []string{"text", "json", "csv"} }

// Write writes a result in one of the formats. CSV has a row for each encoder with
// the facts about the program repeated in each.
func (r *Result) Write(w io.Writer, format string) error {
	switch format {
	case "text":
		return r.writeText(w)
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "\t")
		return enc.Encode(r)
	case "csv":
		return r.writeCSV(w)
	}
	return fmt.Errorf("unknown format %q; have %s", format, strings.Join(Formats(), ", "))
}

// A column is a figure in the two forms of a table. Where a figure means nothing
// for an encoder it is zero, which text shows as a dash.
type column struct {
	text, csv string
	value     func(*Row) any
}

// columns are in the order of the DACCE paper's table 1, with what it lacks behind.
var columns = []column{
	{"nodes", "nodes", func(r *Row) any { return r.Nodes }},
	{"edges", "edges", func(r *Row) any { return r.Edges }},
	{"encoded", "encoded", func(r *Row) any { return r.Encoded }},
	{"left out", "left_out", func(r *Row) any { return r.LeftOut }},
	{"numCC", "numcc", func(r *Row) any { return r.NumCC }},
	{"maxID", "max_id", func(r *Row) any { return r.MaxID }},
	{"ccStack", "ccstack_ops", func(r *Row) any { return r.StackOps }},
	{"depth", "ccstack_mean", func(r *Row) any { return r.StackMean }},
	{"max", "ccstack_max", func(r *Row) any { return r.StackMax }},
	{"compares", "compares", func(r *Row) any { return r.Compares }},
	{"epochs", "epochs", func(r *Row) any { return r.Epochs }},
	{"costs(us)", "encode_us", func(r *Row) any { return r.EncodeUS }},
	{"interned", "interned", func(r *Row) any { return r.Interned }},
	{"log", "log_entries", func(r *Row) any { return r.LogEntries }},
	{"log bytes", "log_bytes", func(r *Row) any { return r.LogBytes }},
	{"memory", "memory_bytes", func(r *Row) any { return r.Bytes }},
	{"truncated", "truncated", func(r *Row) any { return r.Truncated }},
	{"collisions", "collisions", func(r *Row) any { return r.Collisions }},
	{"checked", "checked", func(r *Row) any { return r.Checked }},
	{"wrong", "mismatches", func(r *Row) any { return r.Mismatches }},
}

// cell returns a figure as text has it. Large ones are rounded, as in the paper.
func cell(v any) string {
	switch x := v.(type) {
	case float64:
		if x == 0 {
			return "-"
		}
		return strconv.FormatFloat(x, 'f', 2, 64)
	case uint64:
		if x >= 1e9 {
			return strconv.FormatFloat(float64(x), 'E', 1, 64)
		}
	}
	if s := fmt.Sprint(v); s != "0" {
		return s
	}
	return "-"
}

func (r *Result) writeText(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "%s: calls %d · contexts %d · goroutines %d · frames at most %d\n",
		r.Name, r.Calls, r.Contexts, r.Goroutines, r.MaxDepth); err != nil {
		return err
	}
	for _, note := range r.Notes {
		if _, err := fmt.Fprintf(w, "note: %s\n", note); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "encoder\t")
	for _, c := range columns {
		fmt.Fprintf(tw, "%s\t", c.text)
	}
	fmt.Fprintln(tw)
	for i := range r.Rows {
		row := &r.Rows[i]
		fmt.Fprintf(tw, "%s\t", row.Encoder)
		for _, c := range columns {
			fmt.Fprintf(tw, "%s\t", cell(c.value(row)))
		}
		fmt.Fprintln(tw)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		if row.Note != "" {
			if _, err := fmt.Fprintf(w, "%s: %s\n", row.Encoder, row.Note); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Result) writeCSV(w io.Writer) error {
	cw := csv.NewWriter(w)
	head := []string{"name", "calls", "contexts", "goroutines", "max_depth", "encoder"}
	for _, c := range columns {
		head = append(head, c.csv)
	}
	if err := cw.Write(append(head, "note")); err != nil {
		return err
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		line := []string{r.Name, fmt.Sprint(r.Calls), fmt.Sprint(r.Contexts), fmt.Sprint(r.Goroutines),
			fmt.Sprint(r.MaxDepth), row.Encoder}
		for _, c := range columns {
			line = append(line, fmt.Sprint(c.value(row)))
		}
		if err := cw.Write(append(line, row.Note)); err != nil {
			return err
		}
	}
	cw.Flush()
	return cw.Error()
}
