package stemmahttp

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/profile"
)

// TestPprofRequests checks the answers of a program that stemma has not built, and to parameters that make no sense.
// The rest is tested in internal/testing/e2e.
func TestPprofRequests(t *testing.T) {
	for query, want := range map[string]struct {
		status int
		text   string
	}{
		"pprof":                     {500, "build it with stemma build"},
		"pprof?seconds=600&debug=1": {500, "build it with stemma build"},
		"pprof?seconds=-1":          {400, "seconds: have \"-1\", want a number from 0 to 600"},
		"pprof?debug=yes":           {400, "debug: have \"yes\", want 0 or 1"},
		"pprof?gc=1":                {400, "gc: stemma: the program is not built with -metrics=calls,alloc,inuse"},
		"samples?seconds=601":       {400, "seconds: have"},
		"heap":                      {404, "no page \"heap\"; want pprof or samples"},
		"":                          {200, "build it with stemma build"},
	} {
		w := httptest.NewRecorder()
		Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/stemma/"+query, nil))
		if w.Code != want.status || !strings.Contains(w.Body.String(), want.text) {
			t.Errorf("%q: have %d %q, want %d %q", query, w.Code, w.Body, want.status, want.text)
		}
	}
}

// TestMetrics reads the metrics of a query.
func TestMetrics(t *testing.T) {
	for text, want := range map[string][]string{
		"":                            nil,
		"metric=":                     nil,
		"metric=calls,wait":           {"calls", "wait"},
		"metric=calls&metric=wait":    {"calls", "wait"},
		"metric=a,b&token=1&metric=c": {"a", "b", "c"},
	} {
		values, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		var q query
		if err := q.parse(values); err != nil || !slices.Equal(q.metrics, want) {
			t.Errorf("%q: have %v, %v, want %v", text, q.metrics, err, want)
		}
	}
}

// TestChosen chooses the metrics of an answer.
func TestChosen(t *testing.T) {
	exact := profile.New(profile.Calls, profile.AllocSpace, profile.AllocObjects, profile.ContextCPU, profile.Wait,
		profile.Waits)
	both := profile.New(profile.Calls, profile.Samples)
	sampled := profile.New(profile.CPU, profile.Samples)
	for _, c := range []struct {
		p                  *profile.Profile
		asked, want, usual string
	}{
		{exact, "", "calls alloc_objects alloc_space cpu waits wait", "calls"},
		{exact, "alloc_space", "alloc_objects alloc_space", "alloc_space"},
		{exact, "wait,calls,waits", "waits wait calls", "wait"},
		{exact, "cpu", "cpu", "cpu"},
		{both, "calls,samples", "metric: of calls and samples one is exact, and the other sampled", ""},
		{exact, "inuse_space", "no inuse_space in this profile (have calls, alloc_space, alloc_objects, cpu, " +
			"wait, waits); build with -metrics=calls,alloc,inuse", ""},
		{exact, "heap", "unknown metric \"heap\"", ""},
		{sampled, "", "samples cpu", "cpu"},
	} {
		var asked []string
		if c.asked != "" {
			asked = strings.Split(c.asked, ",")
		}
		metrics, usual, err := chosen(c.p, asked)
		have := strings.Join(metrics, " ")
		if err != nil {
			have = err.Error()
		}
		if !strings.HasPrefix(have, c.want) || usual != c.usual {
			t.Errorf("%s: have %q, usual %q; want %q and %q", c.asked, have, usual, c.want, c.usual)
		}
	}
}
