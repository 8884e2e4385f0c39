package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Tools run the stemma command. They keep nothing, and may run at the same time.
type tools struct{ stemma string }

// exceeded is the exit code of stemma diff when a limit is.
const exceeded = 3

// patience is how long what is asked to end may take for it: stemma run still writes the record. Tests shorten it.
var patience = 10 * time.Second

// output runs stemma in a directory, and returns what it printed. When ctx is done it asks stemma to end, with all that
// it has started, and kills what does not.
func (t *tools) output(ctx context.Context, dir string, args []string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(ctx, t.stemma, args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = patience
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	err = cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // most likely nobody is left
	}
	return out.String(), problems.String(), err
}

// text returns what stemma printed, the end of it if it is long. A command that has failed is an error, with what it
// printed: it says what to do.
func (t *tools) text(ctx context.Context, dir string, args []string) (a answer, err error) {
	stdout, stderr, err := t.output(ctx, dir, args)
	if ctx.Err() != nil {
		return a, fmt.Errorf("the program was ended after its time; give it more seconds, or less to do: %s",
			tail(stderr, 2000))
	}
	if err != nil {
		return a, fmt.Errorf("stemma %s: %w\n%s", args[0], err, tail(stdout+stderr, maxBytes))
	}
	all := stdout + stderr
	a.Text = tail(all, maxBytes)
	if left := len(all) - len(a.Text); left > 0 {
		a.LeftOut = fmt.Sprintf("the first %d bytes of what was printed", left)
	}
	return a, nil
}

// tail returns the last lines of a text, of at most n bytes.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		s = rest
	}
	return strings.ToValidUTF8(s, "")
}

// rows returns the JSON of a report with so many rows, or fewer if it is too long.
func (t *tools) rows(ctx context.Context, dir string, args, files []string, rows int) (a answer, err error) {
	if rows <= 0 {
		rows = defaultRows
	}
	rows = min(rows, maxRows)
	choose := "choose with focus, ignore or function"
	if args[0] == "diff" {
		choose = "ask for one metric, or for other limits"
	}
	for n := rows; ; n /= 2 {
		full := append(append(append([]string(nil), args...), fmt.Sprint("-top=", n)), "--")
		stdout, stderr, err := t.output(ctx, dir, append(full, files...))
		var exit *exec.ExitError
		over := errors.As(err, &exit) && exit.ExitCode() == exceeded && args[0] == "diff"
		if err != nil && !over {
			return a, fmt.Errorf("stemma %s: %w\n%s", args[0], err, tail(stderr, maxBytes))
		}
		if err := json.Unmarshal([]byte(stdout), &a.Result); err != nil {
			return a, fmt.Errorf("stemma %s: not JSON: %w", args[0], err)
		}
		listed := shorten(a.Result, n)
		text, err := json.Marshal(a.Result)
		if err != nil {
			return a, err
		}
		if len(text) > maxBytes && n > 1 {
			continue
		}
		if len(text) > maxBytes {
			return a, fmt.Errorf("one row has %d bytes, and an answer at most %d; %s", len(text), maxBytes, choose)
		}
		a.Text = tail(stderr, maxBytes/4)
		a.LeftOut = leftOut(listed, n, rows, choose)
		return a, nil
	}
}

// shorten returns how many rows the longest list of an answer has, which it shortens to n: stemma diff prints all that
// exceeds a limit, or varies, whatever is asked for.
func shorten(result any, n int) (longest int) {
	switch result := result.(type) {
	case map[string]any:
		for key, value := range result {
			list, ok := value.([]any)
			switch key {
			case "functions", "groups", "contexts", "goroutines", "rows", "over", "varying":
				if longest = max(longest, len(list)); ok && len(list) > n {
					result[key] = list[:n]
				}
			case "values", "limits":
				longest = max(longest, shorten(value, n))
			}
		}
	case []any:
		for _, one := range result {
			longest = max(longest, shorten(one, n))
		}
	}
	return longest
}

// leftOut says what rows an answer lacks, which has n where so many were asked for.
func leftOut(listed, n, rows int, choose string) string {
	switch {
	case n < rows:
		return fmt.Sprintf("rows beyond the first %d, since an answer has at most %d bytes; %s", n, maxBytes, choose)
	case listed >= n && rows < maxRows:
		return fmt.Sprintf("there may be more than these %d rows; ask for up to %d with rows, or %s", n, maxRows,
			choose)
	case listed >= n:
		return fmt.Sprintf("there may be more than these %d rows; %s", n, choose)
	}
	return ""
}
