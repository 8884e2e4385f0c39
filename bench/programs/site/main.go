// Site renders generated Markdown with goldmark and lays the pages out with
// html/template: closures and interface methods in a tree walk, reflection in
// the templates, and panics that text/template recovers.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"hash"
	"html/template"
	"os"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

func main() {
	n := flag.Int("n", 8, "how often the site is built")
	pages := flag.Int("pages", 48, "pages of the site")
	flag.Parse()
	s := newSite(*pages)
	sum := sha256.New()
	failed := 0
	for range *n {
		k, err := s.build(sum)
		if err != nil {
			fmt.Fprintln(os.Stderr, "site:", err)
			os.Exit(1)
		}
		failed += k
	}
	fmt.Printf("checksum site %x failed=%d\n", sum.Sum(nil)[:12], failed)
}

// site is the sources of a site and what turns them into pages.
type site struct {
	sources  [][]byte
	markdown goldmark.Markdown
	layout   *template.Template
}

// entry is a heading of a page, with those below it.
type entry struct {
	Level    int
	Anchor   string
	Title    string
	Children []*entry
}

// page is what the layout shows.
type page struct {
	Number  int
	Outline []*entry
	Counts  map[string]int
	Body    template.HTML
}

func newSite(pages int) *site {
	s := &site{
		markdown: goldmark.New(
			goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList, extension.Typographer),
			goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithAttribute())),
		layout: template.Must(template.New("page").Funcs(template.FuncMap{
			"title": func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
			"limit": limit,
		}).Parse(layout)),
	}
	for i := range pages {
		s.sources = append(s.sources, source(i))
	}
	return s
}

// limit panics for large numbers, which text/template makes an error of.
func limit(n int) (int, error) {
	if n > 1300 {
		panic(errors.New("too many words"))
	}
	return n, nil
}

// build adds all pages to sum and returns how many had a template that failed.
func (s *site) build(sum hash.Hash) (failed int, err error) {
	for i, src := range s.sources {
		doc := s.markdown.Parser().Parse(text.NewReader(src))
		p := page{Number: i, Counts: make(map[string]int)}
		p.Outline = outline(doc, src, p.Counts)
		var body bytes.Buffer
		if err := s.markdown.Renderer().Render(&body, src, doc); err != nil {
			return failed, err
		}
		p.Body = template.HTML(body.String())
		if err := s.layout.Execute(sum, p); err != nil {
			failed++
			fmt.Fprintln(sum, err)
		}
	}
	return failed, nil
}

// outline returns the headings of doc as a tree and counts its nodes by kind
// and its words.
func outline(doc ast.Node, src []byte, counts map[string]int) []*entry {
	root := &entry{}
	open := []*entry{root}
	_ = ast.Walk(doc, func(n ast.Node, enter bool) (ast.WalkStatus, error) {
		if !enter {
			return ast.WalkContinue, nil
		}
		counts[n.Kind().String()]++
		switch n := n.(type) {
		case *ast.Heading:
			anchor, _ := n.AttributeString("id")
			e := &entry{Level: n.Level, Anchor: fmt.Sprintf("%s", anchor), Title: string(n.Lines().Value(src))}
			for len(open) > 1 && open[len(open)-1].Level >= e.Level {
				open = open[:len(open)-1]
			}
			parent := open[len(open)-1]
			parent.Children = append(parent.Children, e)
			open = append(open, e)
		case *ast.Text:
			counts["words"] += len(strings.Fields(string(n.Value(src))))
		}
		return ast.WalkContinue, nil
	})
	return root.Children
}

const layout = `{{define "outline"}}<ol>{{range .}}<li class="h{{.Level}}"><a href="#{{.Anchor}}">{{.Title | title | printf "%.40s"}}</a>
{{- with .Children}}{{template "outline" .}}{{end}}</li>{{end}}</ol>{{end -}}
<!doctype html><html><head><title>Page {{.Number}}</title>
<script>const counts = {{.Counts}}, n = {{.Number}};</script>
<style>p { margin: {{.Number}}px }</style></head>
<body data-page="{{.Number}}">{{template "outline" .Outline}}
{{range $kind, $count := .Counts}}{{if gt $count 3}}<a href="/find?kind={{$kind}}&amp;count={{$count}}">{{$kind}}: {{$count}}</a>{{else if eq $count 1}}{{$kind}}{{end}} {{end}}
<article>{{.Body}}</article><footer>{{index .Counts "words" | limit}} words</footer></body></html>
`
