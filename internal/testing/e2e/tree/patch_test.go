package tree

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/goroot/layout"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// jumpLength is how long the jump through RDX is that libraries write over the beginning of a
// function, to patch it while it runs. They copy the instructions that it replaces elsewhere, with
// such a jump to what comes behind them.
const jumpLength = 12

// TestPatchable looks at functions as such libraries want them, compiled with -N -l: nothing is in RDX where
// they jump back into one of them, unless it is a closure.
func TestPatchable(t *testing.T) {
	e2e.NeedMore(t)
	e2e.OnlyHost(t, "it knows the machine code of this machine")
	exe := e2e.Build(t, "patched", "-gcflags=-N -l")
	out, err := exec.Command("go", "tool", "objdump", "-s", `^main\.`, exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	functions, nodes := 0, 0
	for _, text := range bytes.Split(out, []byte("TEXT "))[1:] {
		name, _, _ := strings.Cut(string(text), "(SB)")
		functions++
		found, live := nodeAtJump(t, text)
		if found {
			nodes++
		}
		if live != "" {
			t.Errorf("%s: RDX is used behind the first %d bytes: %s", name, jumpLength, live)
		}
	}
	if functions < 4 || nodes < 3 {
		t.Errorf("of %d functions %d look for their node in their first %d bytes", functions, nodes, jumpLength)
	}
}

var (
	cellOperand = fmt.Sprintf("%#x(R14)", layout.GCtx)
	objdumpLine = regexp.MustCompile(`^\s+\S+:-?\d+\s+0x([0-9a-f]+)\s+[0-9a-f]+\s+(\S+)\s*(.*?)\s*$`)
)

// nodeAtJump reports whether the first instructions of a function, as objdump lists them, load the cell from
// g, and which instruction behind them uses what they have left in RDX.
func nodeAtJump(t *testing.T, text []byte) (found bool, live string) {
	var entry uint64
	written := false
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		m := objdumpLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		pc, err := strconv.ParseUint(m[1], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if entry == 0 {
			entry = pc
		}
		args := strings.Split(m[3], ", ")
		to := args[len(args)-1]
		switch before := pc < entry+jumpLength; {
		case before:
			found = found || args[0] == cellOperand
			written = written || to == "DX"
		case !written:
			return found, ""
		case strings.Contains(strings.Join(args[:len(args)-1], " "), "DX") || strings.Contains(to, "(DX"):
			return found, m[2] + " " + m[3]
		case to == "DX":
			return found, ""
		}
	}
	return found, ""
}
