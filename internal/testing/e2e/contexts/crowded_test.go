package contexts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stemma-go/stemma/internal/ctxid"
	"github.com/stemma-go/stemma/internal/decode"
	"github.com/stemma-go/stemma/internal/record"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestCrowded runs a program with few addresses. It has more functions than there is room for then, and a goroutine
// that is deeper than a walk of its stack has room for when it is re-encoded. Its contexts are whole, or cut with a
// reason.
func TestCrowded(t *testing.T) {
	e2e.NeedMore(t)
	const funcs, sites, deep = 80, 1000, 107_000
	dir := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module crowded\n\ngo 1.26\n",
		"main.go": fmt.Sprintf(crowdedMain, deep), "functions.go": crowdedFunctions(funcs, sites)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, engine := range []string{"dacce", "lucce"} {
		t.Run(engine, func(t *testing.T) {
			if engine == "lucce" {
				e2e.NeedFull(t)
			}
			exe, out := e2e.BuildDir(t, dir, "-engine="+engine), t.TempDir()
			cmd := exec.Command("/bin/sh", "-c", "ulimit -v 1000000; exec "+exe)
			cmd.Env = append(os.Environ(), "STEMMA_OUT="+out, "STEMMA_REENCODE_US=1000")
			said, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, said)
			}
			dirs, _ := filepath.Glob(filepath.Join(out, "*"))
			if len(dirs) != 1 {
				t.Fatalf("records %v, want one", dirs)
			}
			rec, err := record.Open(os.DirFS(dirs[0]))
			if err != nil {
				t.Fatal(err)
			}
			d := decode.New(rec)
			path := func(line string) (names []string, cut bool) {
				var id ctxid.ID
				if n, _ := fmt.Sscanf(line, "%x %x %x", &id.Hi, &id.Lo, &id.Run); n != 3 {
					t.Fatalf("output %q", said)
				}
				s, err := d.Decode(id)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range s.Path() {
					names = append(names, f.Func)
				}
				return names, s.Cut() != ""
			}
			lines := strings.Split(string(said), "\n")
			if names, cut := path(lines[0]); cut || len(names) != deep+2 {
				t.Errorf("a goroutine %d deep: %d functions, cut: %v", deep+2, len(names), cut)
			}
			names, cut := path(lines[1])
			if !cut || len(names) > 1 || rec.IDs.Stats.Truncated == 0 {
				t.Errorf("beyond the functions that there is room for: %v, cut: %v", names, cut)
			}
		})
	}
}

// crowdedMain takes a context in a deep recursion, after re-encodings, and one in the last of many functions.
const crowdedMain = `package main

import (
	"fmt"
	"time"
	_ "unsafe"
)

//go:linkname api runtime.stemmaAPI2
var api *struct{ here func() (hi, lo, run uint64) }

//go:noinline
func here() int {
	hi, lo, run := api.here()
	fmt.Printf("%%x %%x %%x\n", hi, lo, run)
	return 0
}

//go:noinline
func leaf(n int) int { fmt.Println(n); return n }

//go:noinline
func wait() {
	for began := time.Now(); time.Since(began) < 200*time.Millisecond; {
		time.Sleep(time.Millisecond)
	}
}

//go:noinline
func down(n int) int {
	if n == 0 {
		wait()
		return here()
	}
	return down(n-1) + 1
}

func main() {
	down(%d - 1)
	f0(-1)
}
`

// crowdedFunctions returns the source of functions that call each other in a row, each of which has many call sites.
func crowdedFunctions(funcs, sites int) string {
	var b strings.Builder
	b.WriteString("package main\n")
	for i := range funcs {
		fmt.Fprintf(&b, "\nfunc f%d(k int) int {\n\tswitch k {\n", i)
		for k := range sites {
			fmt.Fprintf(&b, "\tcase %d:\n\t\treturn leaf(%d)\n", k, k)
		}
		next := fmt.Sprintf("f%d(k)", i+1)
		if i == funcs-1 {
			next = "here()"
		}
		fmt.Fprintf(&b, "\t}\n\treturn %s + 1\n}\n", next)
	}
	return b.String()
}
