package measure

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRecord records a program with each engine and reads what it left, as rounds do.
func TestRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs with each engine; go test without -short does")
	}
	dir := t.TempDir()
	command := func(env []string, name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{Stemma: filepath.Join(dir, "stemma")}
	command(nil, "go", "build", "-C", root, "-o", b.Stemma, "./cmd/stemma")
	const source = "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(\"hello\") }\n"
	if err := os.WriteFile(filepath.Join(dir, "hello.go"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"cct", "dacce", "lucce", "pcce", "sample", "acct"} {
		out := filepath.Join(dir, "out."+engine)
		exe := filepath.Join(dir, engine)
		command(nil, b.Stemma, "build", "-engine="+engine, "-o", exe, "hello.go")
		command([]string{"STEMMA_OUT=" + out}, exe)
		r, err := b.Record(out)
		if err != nil {
			t.Errorf("%s: %v", engine, err)
			continue
		}
		encoded := engine == "dacce" || engine == "lucce" || engine == "pcce"
		if r.Engine != engine || r.Bytes == 0 || (r.Encoding != nil && r.Encoding.Functions > 0) != encoded ||
			(r.Calls > 0) != (engine == "cct") {
			t.Errorf("%s: %+v, encoding %+v", engine, r, r.Encoding)
		}
	}
}
