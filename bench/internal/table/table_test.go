package table

import (
	"strings"
	"testing"
)

var sample = Table{
	Title: "Heights", Left: 1,
	Head:  []string{"name", "m"},
	Rows:  [][]string{{"Ä|b", "8.5"}, {"hill", "120"}},
	Notes: []string{"Above the sea."},
}

func TestText(t *testing.T) {
	var b strings.Builder
	if err := sample.Text(&b); err != nil {
		t.Fatal(err)
	}
	want := "Heights\n\nname    m\nÄ|b   8.5\nhill  120\n\nAbove the sea.\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := sample.Markdown(&b); err != nil {
		t.Fatal(err)
	}
	want := "## Heights\n\n| name | m |\n| --- | ---: |\n| Ä\\|b | 8.5 |\n| hill | 120 |\n\nAbove the sea.\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

func TestCSV(t *testing.T) {
	var b strings.Builder
	if err := sample.CSV(&b); err != nil {
		t.Fatal(err)
	}
	if want := "name,m\nÄ|b,8.5\nhill,120\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
