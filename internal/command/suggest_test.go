package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/command/report"
	"github.com/stemma-go/stemma/internal/engine"
	"github.com/stemma-go/stemma/internal/testing/recordtest"
	"github.com/stemma-go/stemma/profile"
)

// TestDidYouMean makes slips of all kinds.
func TestDidYouMean(t *testing.T) {
	inTemp(t)
	for args, want := range map[string]string{
		"reprot":                      `unknown command "reprot" (did you mean report?); run 'stemma help' for the list`,
		"help buidl":                  `help: unknown command "buidl" (did you mean build?)`,
		"nothing":                     `unknown command "nothing"; run`,
		"report -contxts":             `not defined: -contxts (did you mean -contexts?); run`,
		"report -x":                   `not defined: -x; run`,
		"report -metric=cal":          `unknown metric "cal" (want ` + strings.Join(report.Metrics(), ", ") + `)`,
		"report -metric=call":         `(did you mean calls?)`,
		"export -metric=call":         `(did you mean calls?)`,
		"build -engine=dace .":        `no such engine (have`,
		"build -engine=daccce .":      ` (did you mean dacce?)`,
		"run -enigne=dacce . x":       `run: -enigne: no such flag (did you mean -engine?); run 'stemma help run'`,
		"build -enigne dacce .":       `(did you mean -engine?)`,
		"test -recusrion=full .":      `(did you mean -recursion?)`,
		"report -func=main.gaurd":     `no function that was called matches main.gaurd (did you mean main.guard?)`,
		"report -func=^gaurd$":        `(did you mean main.guard?)`,
		"report -contexts -func=guad": `(did you mean main.guard?)`,
		"report -focus=sqaure":        `selected: 0 calls · 0 contexts · 0 functions (did you mean main.square?)`,
	} {
		_, stdout, stderr := runMain(strings.Fields(args)...)
		if !strings.Contains(stdout+stderr, want) {
			t.Errorf("stemma %s: have %s%s\nwant %s", args, stdout, stderr, want)
		}
	}
}

// TestCompletion completes command lines in each shell that is here.
func TestCompletion(t *testing.T) {
	for _, shell := range base.Shells() {
		t.Run(shell, func(t *testing.T) {
			path, err := exec.LookPath(shell)
			if err != nil {
				t.Skipf("no %s here; install it", shell)
			}
			code, script, stderr := runMain("completion", shell)
			if code != base.ExitOK {
				t.Fatal(stderr)
			}
			file := filepath.Join(t.TempDir(), "completion")
			if err := os.WriteFile(file, []byte(script), 0o666); err != nil {
				t.Fatal(err)
			}
			for _, test := range []struct {
				line string
				have []string // all of these
				no   string
			}{
				{"stemma re", []string{"report", "replay"}, "run"},
				{"stemma report -co", []string{"-contexts"}, "-func"},
				{"stemma build -engine ", engine.Names(), "-engine"},
				{"stemma build -engine=da", []string{"dacce"}, "lucce"},
				{"stemma report -by ", []string{"package", "goroutine"}, "cct"},
				{"stemma help ", commandNames(), "-man"},
				{"stemma completion ", base.Shells(), "report"},
			} {
				have := complete(t, path, shell, file, test.line)
				for _, want := range test.have {
					if !slices.ContainsFunc(have,
						func(s string) bool { return s == want || strings.HasSuffix(s, "="+want) }) {
						t.Errorf("%q: have %q, want %q", test.line, have, want)
					}
				}
				if slices.Contains(have, test.no) {
					t.Errorf("%q: have %q, which should not have %q", test.line, have, test.no)
				}
			}
		})
	}
}

// complete returns what a shell offers behind a line. zsh completes in an interactive shell
// only: there, functions of the test have the place of _arguments and _describe.
func complete(t *testing.T, path, shell, file, line string) []string {
	t.Helper()
	var cmd *exec.Cmd
	switch shell {
	case "bash":
		words := strings.ReplaceAll(line, "=", " = ")
		cmd = exec.Command(path, "--norc", "-c", `. "$1"; COMP_WORDS=($2); case "$2" in *" ") COMP_WORDS+=("");; esac
			COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _stemma; printf '%s\n' "${COMPREPLY[@]}"`, "bash", file, words)
	case "fish":
		cmd = exec.Command(path, "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, file, line)
	case "zsh":
		cmd = exec.Command(path, "-f", "-c", zshComplete, "zsh", file, line)
	}
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "TERM=dumb")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	var list []string
	for l := range strings.Lines(string(out)) {
		word, _, _ := strings.Cut(strings.TrimSpace(l), "\t")
		if last := line[strings.LastIndexAny(line, " =")+1:]; strings.HasPrefix(word, last) || shell != "zsh" {
			list = append(list, word) // zsh itself leaves out the others
		}
	}
	return list
}

// zshComplete reads the script and prints what it tells zsh: of a command the words, of a flag
// what it takes.
const zshComplete = `
compdef() { }
_describe() { print -rl -- "${(@P)2%%:*}" }
_arguments() {
	local spec
	if [[ $1 == -C ]]; then
		state=argument
		(( CURRENT == 2 )) && state=command
		words=("${(@)words[2,-1]}")
		return
	fi
	for spec; do
		if [[ $last == -*=* || $before == -* ]]; then
			local flag=${before:#[^-]*}
			[[ $last == -*=* ]] && flag=${last%%=*}
			[[ $spec == $flag=\[* ]] && print -rl -- ${=${${spec##*:\(}%\)}}
		elif [[ $last == -* && $spec == -* ]]; then
			print -r -- ${${spec%%\[*}%=}
		elif [[ $last != -* && $spec == 1:* ]]; then
			print -rl -- ${=${${spec##*:\(}%\)}}
		fi
	done
	return 0
}
source $1
words=(${=2}); [[ $2 == *" " ]] && words+=("")
CURRENT=$#words last=$words[-1] before=$words[-2]
_stemma
`

// TestManual has groff read the manual page.
func TestManual(t *testing.T) {
	code, page, stderr := runMain("help", "-man")
	if code != base.ExitOK {
		t.Fatal(stderr)
	}
	for _, c := range commands() {
		if !strings.Contains(page, "\n.SS "+c.Name+"\n") {
			t.Errorf("no section about %s", c.Name)
		}
	}
	if strings.Contains(page, "-verify\\ ") || strings.Contains(page, ".B \\-verify\n") {
		t.Error("the hidden flag -verify is in the manual")
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff here; install it")
	}
	cmd := exec.Command(groff, "-man", "-ww", "-Tutf8", "-rLL=100n")
	cmd.Stdin = strings.NewReader(page)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Errorf("groff: %v\n%s", err, errs.String())
	}
	if !strings.Contains(string(out), "stemma.out/NAME") && !strings.Contains(string(out), "STEMMA_OUT") {
		t.Errorf("the page does not show what it says:\n%.2000s", out)
	}
}

// TestSampledCalls checks that samples of calls are not said to be of time, also beside the exact tree, whose engine
// the record has.
func TestSampledCalls(t *testing.T) {
	p := profile.New(profile.Calls, profile.Samples)
	p.Processes = []profile.Process{{Engine: "cct", Sampling: &profile.Sampling{Sampler: "acct"}}}
	p.Column("samples").Values[0] = 2
	if have := report.SamplingLines(p); !slices.Equal(have, []string{"2 samples of calls"}) {
		t.Errorf("have %q", have)
	}
	p.Processes[0].Sampling.Sampler = "isps"
	if have := report.SamplingLines(p); len(have) != 2 || !strings.Contains(have[0], "on CPU") {
		t.Errorf("have %q", have)
	}
}

// TestSimilarityOfNothing compares what has no counts.
func TestSimilarityOfNothing(t *testing.T) {
	_, contexts, _, _ := recordtest.Shop(t)
	inTemp(t)
	for args, want := range map[string]string{
		contexts + " " +
			contexts: "a record of context IDs has no counts to compare; see stemma decode and stemma events",
	} {
		code, stdout, stderr := runMain(append([]string{"similarity"}, strings.Fields(args)...)...)
		if code != base.ExitFailure || !strings.Contains(stderr, want) || strings.Contains(stdout, "%") {
			t.Errorf("similarity %s: exit code %d, have %s%s\nwant %s", args, code, stdout, stderr, want)
		}
	}
}

// TestDecodeNothing checks that decode says once that there is no record.
func TestDecodeNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	_, stderr, code := mainOf(t, "text\n", "decode")
	if code != base.ExitUsage && code != base.ExitFailure || strings.Count(stderr, "no record given") != 1 ||
		!strings.Contains(stderr, "there is still no record") {
		t.Errorf("exit code %d, stderr %s", code, stderr)
	}
}
