package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestStore collects what programs have recorded, and reads it by the commands of stemma, which finds stemma-fleet in
// $PATH: as docs/guide/fleet.md has it.
func TestStore(t *testing.T) {
	tool := e2e.Tool(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin, out, store := t.TempDir(), t.TempDir(), "file://"+t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "stemma-fleet")); err != nil {
		t.Fatal(err)
	}
	stemma := func(stdin string, args ...string) (stdout, stderr string, err error) {
		cmd := exec.Command(tool, args...)
		cmd.Dir = t.TempDir()
		cmd.Env = append(os.Environ(), asFleet+"=1", "PATH="+bin, "STEMMA_OUT="+out, "XDG_CACHE_HOME="+out)
		var o, e strings.Builder
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &o, &e
		err = cmd.Run()
		return o.String(), e.String(), err
	}
	rotating(t, out, 2, 5000)()
	ids := e2e.RunIn(t, out, e2e.Build(t, "here", "-engine=dacce", "-verify"))
	ids.OK(t)
	var id ctxid.ID
	if _, err := fmt.Sscanf(ids.Stdout, "%x %x %x", &id.Hi, &id.Lo, &id.Run); err != nil {
		t.Fatal(err)
	}
	if _, stderr, err := stemma("", "collect", "-once", "-delete", "-store="+store); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	text := string(ctxid.Append(nil, id))
	for _, c := range []struct {
		name, stdin string
		args        []string
		want        string // in what is printed; with "!" before it, in what it fails with
	}{
		{"sum", "", []string{"report", "-store", store, "-service=progress", "-since=1h", "-func=^main.step$"},
			"1,000,000"},
		{"window", "", []string{"report", "-store", store, "-service=progress", "-until=1h"}, "!no record"},
		{"service", "", []string{"report", "-store", store, "-service=other"}, "!no record"},
		{"useless", "", []string{"report", "-since=1h"}, "!give it with -store"},
		{"both", "", []string{"report", "-store", store, "x.stemma"}, "!give one of them"},
		{"before", "", []string{"diff", "-store", store, "-service=progress", "-since=1h"}, "!no record"},
		{"page", "", []string{"view", "-store", store, "-service=progress", "-o=page.html"}, ""},
		{"decode", "ctx=" + text + "\n", []string{"decode", "-store", store}, "[main]"},
		{"argument", "", []string{"decode", "-store", store, text}, "main.main"},
		{"outside", "", []string{"decode", "-store", store, "-until=1h", text}, "!no record of that run"},
		{"away", "", []string{"report", "-store", "nowhere://x"}, "!nowhere"},
	} {
		stdout, stderr, err := stemma(c.stdin, c.args...)
		want, fails := strings.CutPrefix(c.want, "!")
		said := stdout
		if fails {
			said = stderr
		}
		if (err != nil) != fails || !strings.Contains(said, want) {
			t.Errorf("%s: stemma %q: %v, want %q\n%s%s", c.name, c.args, err, c.want, stdout, stderr)
		}
	}
}
