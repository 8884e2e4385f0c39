package documents

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// actionRepository makes a repository of two commits. The second calls a function more often. The program leaves a
// temporary file, and fails if another run has left it.
const actionRepository = `
git init -q . && git config user.name t && git config user.email t@example.com
mkdir sub && cd sub
printf 'module example.com/m\n\ngo 1.26\n' >go.mod
cat >main.go <<'END'
package main

import (
	"fmt"
	"os"
)

//go:noinline
func query(n int) int { return n + 1 }

func load() (n int) {
	for range 2500 {
		n = query(n)
	}
	return n
}

func main() {
	fmt.Println(load())
	if _, err := os.OpenFile(os.TempDir()+"/left", os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		panic(err)
	}
}
END
cat >main_test.go <<'END'
package main

import "testing"

func TestLoad(t *testing.T) { load() }
END
git add . && git commit -qm one
sed -i s/2500/3000/ main.go && git commit -qam two
`

// TestAction runs the script of action.yml in a repository, as a runner of GitHub does.
func TestAction(t *testing.T) {
	e2e.NeedMore(t)
	tool := e2e.Tool(t)
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here; install it")
	}
	dir := t.TempDir()
	if out, err := exec.Command("bash", "-c", "cd "+dir+" && set -e"+actionRepository).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	type action struct {
		name, env, result, alarm string
		code                     int
	}
	for _, tt := range e2e.Few(3,
		action{"program", "BASE=HEAD~1 PROGRAM='. -x'", "exceeded", ".query `` |", 3},
		action{"tests", "BASE=HEAD~1", "exceeded", ".query `` |", 3},
		action{"wrong", "BASE=HEAD~1 PROGRAM=. LIMITS='-fail-over calls@no.such>1%'", "failed", "", 1},
		action{"same", "BASE=HEAD PROGRAM=.", "kept", "", 0},
		action{"quote", "BASE=HEAD~1 PROGRAM=. LIMITS=\"-gate -fail-over 'calls>0\"", "failed", "could not compare", 1},
		action{"no-build", "BASE=HEAD~1 PROGRAM=./none", "failed", "could not compare", 1},
		action{"limits", "BASE=HEAD~1 PROGRAM=. LIMITS='-fail-over calls>50%'", "kept", "", 0},
		// Another commit was merged into what the pull request is merged into: it is not the pull request's.
		action{"merged", "git checkout -q $(git commit-tree HEAD^{tree} -p HEAD -p HEAD~1 -m merge) && " +
			"PULL=$(git rev-parse HEAD^2) PROGRAM=. BASE=HEAD~2", "kept", "", 0},
	) {
		t.Run(tt.name, func(t *testing.T) {
			summary, output := filepath.Join(t.TempDir(), "summary"), filepath.Join(t.TempDir(), "output")
			cmd := exec.Command("bash", "-c", tt.env+" exec "+root+"/.github/action/compare.sh")
			cmd.Dir = filepath.Join(dir, "sub")
			cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(tool)+":"+os.Getenv("PATH"), "METRICS=calls",
				"GITHUB_STEP_SUMMARY="+summary, "GITHUB_OUTPUT="+output, "RUNNER_TEMP="+t.TempDir())
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("exit code %d, want %d\n%s", code, tt.code, e2e.Tail(string(out)))
			}
			text, err := os.ReadFile(summary)
			if err != nil || !strings.Contains(string(text), tt.alarm) {
				t.Errorf("summary: %v\n%s", err, text)
			}
			outputs, err := os.ReadFile(output)
			if err != nil || !strings.HasPrefix(string(outputs), "result="+tt.result+"\n") {
				t.Errorf("outputs: %v\n%s", err, outputs)
			}
			if marked := strings.Contains(string(out), "::error file=main.go"); marked != (tt.code == 3) {
				t.Errorf("annotation: have %t\n%s", marked, e2e.Tail(string(out)))
			}
		})
	}
	out, err := exec.Command("git", "-C", dir, "worktree", "list").Output()
	if err != nil || strings.Count(string(out), "\n") != 1 {
		t.Errorf("worktrees: %v\n%s", err, out)
	}
}

// TestActionInputs compares what action.yml passes on with what the script reads.
func TestActionInputs(t *testing.T) {
	yml, err := os.ReadFile("../../../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	sh, err := os.ReadFile("../../../../.github/action/compare.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^#   ([A-Z]+) `).FindAllStringSubmatch(string(sh), -1) {
		want := m[1] + ": ${{ inputs." + strings.ToLower(m[1])
		if m[1] == "PULL" {
			want = "PULL: ${{ !inputs.base && github.event.pull_request.head.sha"
		}
		if !strings.Contains(string(yml), want) {
			t.Errorf("action.yml: no %s", want)
		}
	}
}

// TestActionToFile lets the script print its summary into a file that has something already, and gets more: nothing is
// written over.
func TestActionToFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "out")
	cmd := exec.Command("bash", "-c", "{ echo before; bash .github/action/compare.sh; echo after; } >"+file)
	cmd.Dir = "../../../.."
	cmd.Env = append(os.Environ(), "BASE=", "GITHUB_STEP_SUMMARY=", "GITHUB_OUTPUT=", "RUNNER_TEMP="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); !strings.HasPrefix(s, "before\n❌ ") || !strings.HasSuffix(s, "\nafter\n") {
		t.Errorf("have %q", s)
	}
}
