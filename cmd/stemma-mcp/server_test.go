package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connect returns a session with a server that runs the stemma of this tree, and a record.
func connect(t *testing.T) (s *mcp.ClientSession, record string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(t.TempDir(), "stemma")
	build := exec.Command("go", "build", "-o", tool, "./cmd/stemma")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx := context.Background()
	client, server := mcp.NewInMemoryTransports()
	if _, err := newServer(tool).Connect(ctx, server, nil); err != nil {
		t.Fatal(err)
	}
	s, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, client, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, filepath.Join(root, "internal", "command", "testdata", "former", "sealed.stemma")
}

// call calls a tool, and returns its answer as text.
func call(t *testing.T, s *mcp.ClientSession, name string, args map[string]any) (text string, failed bool) {
	t.Helper()
	r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, c := range r.Content {
		if c, ok := c.(*mcp.TextContent); ok {
			text += c.Text
		}
	}
	if len(text) > 2*maxBytes {
		t.Errorf("%s: an answer of %d bytes", name, len(text))
	}
	return text, r.IsError
}

// TestTools calls the tools that read, on a real record, and asks for what is not there.
func TestTools(t *testing.T) {
	s, record := connect(t)
	for _, c := range []struct {
		tool   string
		args   map[string]any
		want   string
		failed bool
	}{
		{"report", map[string]any{"record": record, "rows": 2}, `"functions":[`, false},
		{"report", map[string]any{"record": record, "rows": 1}, `"leftOut":"there may be more than these 1 rows`, false},
		{"report", map[string]any{"record": record, "by": "package"}, `"groups":[`, false},
		{"func", map[string]any{"record": record, "function": "main"}, `"callees"`, false},
		{"contexts", map[string]any{"record": record, "rows": 3}, `"stack"`, false},
		{"diff", map[string]any{"base": record, "new": record}, `"result"`, false},
		{"report", map[string]any{"record": "none.stemma"}, "none.stemma", true},
		{"report", map[string]any{"record": record, "metric": "ops"}, "ops", true},
		{"decode", map[string]any{"ids": []string{}}, "want 1 to 200", true},
		{"build", map[string]any{"packages": []string{"-x"}}, "flags go into flags", true},
	} {
		text, failed := call(t, s, c.tool, c.args)
		if failed != c.failed || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: failed %v, have %.600s, want %s", c.tool, c.args, failed, text, c.want)
		}
		if !failed && !json.Valid([]byte(text)) {
			t.Errorf("%s: not JSON: %.200s", c.tool, text)
		}
	}
}

// TestBuilds builds and runs a program, which takes minutes the first time.
func TestBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program; run without -short")
	}
	s, _ := connect(t)
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n",
		"main.go": "package main\n\n//go:noinline\nfunc f() {}\n\nfunc main() { f() }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if text, failed := call(t, s, "build", map[string]any{"dir": dir, "packages": []string{"."}}); failed {
		t.Fatal(text)
	}
	if text, failed := call(t, s, "run", map[string]any{"dir": dir, "package": ".", "output": "p.stemma"}); failed {
		t.Fatal(text)
	}
	text, failed := call(t, s, "func", map[string]any{"dir": dir, "record": "p.stemma", "function": `main\.f$`})
	if failed || !strings.Contains(text, `"calls":1`) {
		t.Error(text)
	}
}

// TestTail: the last lines, whole.
func TestTail(t *testing.T) {
	if have := tail("one\ntwo\nthree\n", 9); have != "three\n" {
		t.Errorf("have %q", have)
	}
	if have := tail("one\n", 9); have != "one\n" {
		t.Errorf("have %q", have)
	}
}

// TestLimits has limits that many functions exceed: of each list there are as many as were asked for, and the answer
// says that there are more.
func TestLimits(t *testing.T) {
	var over []any
	for range 300 {
		over = append(over, map[string]any{"name": strings.Repeat("f", 200), "base": 1, "new": 2})
	}
	text, err := json.Marshal(map[string]any{"values": []any{map[string]any{"name": "calls", "rows": over[:2]}},
		"limits": []any{map[string]any{"limit": "calls/function>0", "over": over}}})
	if err != nil {
		t.Fatal(err)
	}
	tool := filepath.Join(t.TempDir(), "stemma")
	script := "#!/bin/sh\ncat <<'END'\n" + string(text) + "\nEND\nexit 3\n" // a limit is exceeded
	if err := os.WriteFile(tool, []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	a, err := (&tools{stemma: tool}).diff(t.Context(), diffInput{Base: "a", New: "b", Rows: 2})
	if err != nil {
		t.Fatal(err)
	}
	have, _ := json.Marshal(a.Result)
	if n := strings.Count(string(have), `"base"`); n != 4 {
		t.Errorf("%d rows in %.200s, want 2 of each list", n, have)
	}
	const want = "there may be more than these 2 rows; ask for up to 200 with rows, or ask for one metric, or for " +
		"other limits"
	if a.LeftOut != want {
		t.Errorf("have %q, want %q", a.LeftOut, want)
	}
}

// TestTime has no more time for a program that goes on: what stemma has started ends as well, also what does not heed
// that it is asked to.
func TestTime(t *testing.T) {
	before := patience
	patience = 500 * time.Millisecond
	t.Cleanup(func() { patience = before })
	for _, heeds := range []string{"", `trap "" TERM; `} {
		dir := t.TempDir()
		tool, pid := filepath.Join(dir, "stemma"), filepath.Join(dir, "pid")
		script := "#!/bin/sh\ntrap 'echo sealed >&2; exit 1' TERM\nsh -c '" + heeds +
			"echo $$ >" + pid + ".new; mv " + pid + ".new " + pid + "; sleep 60; :' &\nwait\n"
		if err := os.WriteFile(tool, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			for ctx.Err() == nil {
				if _, err := os.Stat(pid); err == nil {
					cancel()
				}
				time.Sleep(10 * time.Millisecond)
			}
		}()
		_, err := (&tools{stemma: tool}).text(ctx, dir, []string{"run", "x"})
		if err == nil || !strings.Contains(err.Error(), "sealed") {
			t.Errorf("%q: %v", heeds, err)
		}
		text, err := os.ReadFile(pid)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		for tries := 0; syscall.Kill(n, 0) == nil; tries++ {
			if state, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n)); strings.Contains(string(state), ") Z ") {
				break // nobody has waited for it
			}
			if tries == 100 {
				t.Fatalf("%q: the program goes on", heeds)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}
