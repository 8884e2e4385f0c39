package documents

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeGH notes its arguments and the body that it is given, and answers as GitHub does: FOUND has the comments.
const fakeGH = `#!/usr/bin/env bash
echo "$*" >>"$NOTES"
for arg; do
	case $arg in
	body=@*) cp "${arg#body=@}" "$NOTES.body" ;;
	esac
	[ "${last:-}" != --body-file ] || cp "$arg" "$NOTES.body"
	last=$arg
done
case "$*" in
*"$FAILS"*) echo "gh: Not Found (HTTP 404)" >&2; exit 1 ;;
*--jq*) printf "$FOUND" ;;
esac
`

// TestActionComment writes comments where there is one, where there is none, where GitHub refuses it, and longer than
// it takes.
func TestActionComment(t *testing.T) {
	sh, err := filepath.Abs("../../../../.github/action/comment.sh")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat(strings.Repeat("ä", 100)+"\n", 1000)
	for _, tt := range []struct {
		name, found, fails, summary string
		call                        string // the last one
		warns, whole                bool
	}{
		{"none", "", "nothing", "kept\n", "pr comment 7 --repo o/r --body-file ", false, true},
		{"found", `4\n5\n`, "nothing", "kept\n", "api --method PATCH repos/o/r/issues/comments/5 ", false, true},
		{"no pull request", "", "--jq", "kept\n", "api --paginate repos/o/r/issues/7/comments ", true, false},
		{"read-only", "", "pr comment", "kept\n", "pr comment 7 ", true, true},
		{"read-only found", "5", "PATCH", "kept\n", "api --method PATCH ", true, true},
		{"long", "", "nothing", long, "pr comment 7 ", false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			summary, notes := filepath.Join(dir, "summary"), filepath.Join(dir, "notes")
			for name, text := range map[string]string{"gh": fakeGH, "summary": tt.summary} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command("bash", sh)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "NOTES="+notes, "FOUND="+tt.found,
				"FAILS="+tt.fails, "NUMBER=7", "GITHUB_REPOSITORY=o/r", "WHAT=job", "SUMMARY="+summary)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if warns := strings.Contains(string(out), "::warning "); warns != tt.warns {
				t.Errorf("a warning: have %t, want %t\n%s", warns, tt.warns, out)
			}
			calls, _ := os.ReadFile(notes)
			lines := strings.Split(strings.TrimSpace(string(calls)), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, tt.call) {
				t.Errorf("the last call: have %q, want %q", last, tt.call)
			}
			body, _ := os.ReadFile(notes + ".body")
			if tt.whole && !strings.HasSuffix(string(body), " -->\n"+tt.summary) {
				t.Errorf("body: have %q", body)
			}
			const more = "The rest is too long for a comment. The summary of the job has all of it.\n"
			if cut := strings.HasSuffix(string(body), more); len(body) > 65536 || cut != (len(tt.summary) > 65536) {
				t.Errorf("a body of %d bytes, cut: %t", len(body), cut)
			}
		})
	}
}

// TestActionCommentsPullRequestsOnly finds the condition of the step: other events have no number.
func TestActionCommentsPullRequestsOnly(t *testing.T) {
	yml, err := os.ReadFile("../../../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	const number = "github.event.pull_request.number"
	for step := range strings.SplitSeq(string(yml), "\n    - ") {
		condition, rest, _ := strings.Cut(step, "\n")
		if strings.Contains(rest, "NUMBER: ${{ "+number+" }}") && !strings.Contains(condition, "&& "+number+" &&") {
			t.Errorf("a step that needs %s runs without: %s", number, condition)
		}
	}
}
