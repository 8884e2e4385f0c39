// Package table writes tables as text, Markdown and CSV.
package table

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Table is a table of text cells. Each row has as many as Head.
type Table struct {
	Name  string // of its CSV file, without .csv
	Title string
	Left  int // columns aligned to the left; the others hold numbers
	Head  []string
	Rows  [][]string
	Notes []string // paragraphs below the table
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Text writes t for a terminal.
func (t *Table) Text(w io.Writer) error {
	widths := t.widths()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", t.Title)
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		line := ""
		for i, cell := range row {
			line += t.pad(cell, widths[i], i) + "  "
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes t as a section of a document.
func (t *Table) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n| %s |\n|", t.Title, strings.Join(t.Head, " | "))
	for i := range t.Head {
		if i < t.Left {
			b.WriteString(" --- |")
		} else {
			b.WriteString(" ---: |")
		}
	}
	b.WriteByte('\n')
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// CSV writes the head and the rows of t.
func (t *Table) CSV(w io.Writer) error {
	c := csv.NewWriter(w)
	return c.WriteAll(append([][]string{t.Head}, t.Rows...))
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

func (t *Table) pad(cell string, width, column int) string {
	space := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
	if column < t.Left {
		return cell + space
	}
	return space + cell
}
