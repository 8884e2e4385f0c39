package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
)

// What a file has answers to. What the page can do with them, zoom, sort and search, it does
// itself; rests stay closed.
const (
	fileBoxes     = 12000 // of the plot of all contexts, for each value
	fileSides     = 300   // of callers, and of callees of a function
	fileFunctions = 40    // that have callers, callees and source: so many of the first by each order
	fileRows      = 4000  // of the table
)

// Write writes a page that needs nothing else: the answers are in it. From then on the view has no other source than
// the page.
func (v *View) Write(w io.Writer) error {
	v.mu.Lock()
	v.o.Open = v.o.OpenPublic
	v.mu.Unlock()
	answers, err := v.answers()
	if err != nil {
		return err
	}
	data, err := packed(answers)
	if err != nil {
		return err
	}
	script, style := script(), asset("view.css")
	csp := "default-src 'none'; script-src '" + digest(script) + "'; style-src '" + digest(style) + "'; " +
		"img-src data:; base-uri 'none'; form-action 'none'"
	const head = `<meta charset="utf-8">`
	page := string(asset("view.html"))
	for _, r := range [][2]string{
		{head, head + "\n" + `<meta http-equiv="Content-Security-Policy" content="` + csp + `">`},
		{`<link rel="stylesheet" href="view.css">`, "<style>" + string(style) + "</style>"},
		{`<script src="view.js" defer></script>`, ""},
		{`</body>`, `<script type="text/plain" id="answers">` + data + "</script>\n" +
			"<script>" + string(script) + "</script>\n</body>"},
	} {
		if strings.Count(page, r[0]) != 1 {
			return fmt.Errorf("view.html: %s is there %d times, want once", r[0], strings.Count(page, r[0]))
		}
		page = strings.Replace(page, r[0], r[1], 1)
	}
	_, err = io.Copy(w, strings.NewReader(page))
	return err
}

// packed returns the answers as the page unpacks them: as JSON, compressed by gzip to an eighth or so, in base64, which
// no name can end.
func packed(answers map[string]json.RawMessage) (string, error) {
	var b strings.Builder
	text := base64.NewEncoder(base64.StdEncoding, &b)
	z, err := gzip.NewWriterLevel(text, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if err := errors.Join(json.NewEncoder(z).Encode(answers), z.Close(), text.Close()); err != nil {
		return "", err
	}
	return b.String(), nil
}

// digest names a script or style for a policy.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// An answerer collects answers by their questions.
type answerer struct {
	v   *View
	all map[string]json.RawMessage
	err error
}

// ask asks a question. Bounds are arguments that do not belong to the name of the answer.
func (a *answerer) ask(question string, args, bounds Args) any {
	if a.err != nil {
		return nil
	}
	all := url.Values{}
	for _, list := range []Args{args, bounds} {
		for k, v := range list {
			all[k] = v
		}
	}
	answer, err := a.v.Answer(question, Args(all))
	if err == nil {
		var b bytes.Buffer
		err = json.NewEncoder(&b).Encode(answer)
		a.all[question+"?"+url.Values(args).Encode()] = b.Bytes()
	}
	a.err = err
	return answer
}

// answers returns the answers that a file has.
func (v *View) answers() (map[string]json.RawMessage, error) {
	a := &answerer{v: v, all: make(map[string]json.RawMessage)}
	one := func(k, v string) Args { return Args{k: {v}} }
	bounds := func(n int) Args { return Args{"limit": {fmt.Sprint(n)}, "px": {"20000"}, "least": {"0"}} }
	info, ok := a.ask("info", nil, nil).(infoAnswer)
	if !ok {
		return nil, a.err
	}
	for _, value := range info.Values {
		name := value.Name
		for _, kind := range []string{kindContexts, kindGoroutines} {
			a.ask("flame", Args{"metric": {name}, "kind": {kind}}, bounds(fileBoxes))
			if info.Base != "" {
				a.ask("flame", Args{"metric": {name}, "kind": {kind}, "gone": {"1"}}, bounds(fileBoxes))
			}
		}
		rows := one("n", fmt.Sprint(fileRows))
		if info.Base != "" {
			rows["sort"] = []string{"change"}
		}
		a.ask("functions", one("metric", name), rows)
		for _, key := range v.first(name) {
			for _, kind := range []string{kindCallers, kindCallees} {
				args := Args{"metric": {name}, "kind": {kind}, "func": {key}}
				if info.Base != "" {
					args["gone"] = []string{"1"}
				}
				a.ask("flame", args, bounds(fileSides))
			}
			a.ask("source", Args{"metric": {name}, "func": {key}}, nil)
		}
	}
	if info.Epochs {
		a.ask("epochs", nil, nil)
	}
	return a.all, a.err
}

// first returns the keys of the functions that come first by some order.
func (v *View) first(value string) (keys []string) {
	for _, order := range []string{"self", "total", "change"} {
		answer, err := v.Answer("functions", Args{"metric": {value}, "sort": {order}, "n": {fmt.Sprint(fileFunctions)}})
		if f, ok := answer.(*functionsAnswer); ok && err == nil {
			for _, r := range f.Rows {
				if !slices.Contains(keys, r.Key) {
					keys = append(keys, r.Key)
				}
			}
		}
	}
	return keys
}
