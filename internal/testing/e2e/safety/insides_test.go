package safety

import (
	"debug/dwarf"
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// TestInsides runs code that knows the inside of the runtime: no field of g, m and p is
// anywhere else than in plain Go, and where there is no g nothing is done with it.
func TestInsides(t *testing.T) {
	e2e.NeedMore(t)
	e2e.NeedBuilds(t)
	plain := filepath.Join(t.TempDir(), "plain")
	cmd := exec.Command("go", "build", "-o", plain, ".")
	cmd.Dir = e2e.Program("insides")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := runtimeFields(t, plain)
	if want["g.goid"] == 0 || want["m.curg"] == 0 || want["p.status"] == 0 {
		t.Fatalf("fields of plain Go: %v", want)
	}
	env := []string{fmt.Sprint("GOID=", want["g.goid"]), "GODEBUG=asyncpreemptoff=1"} // a preemption needs g
	e2e.Run(t, plain, env...).OK(t)

	for _, b := range e2e.Builds(t, "insides") {
		t.Run(b[0], func(t *testing.T) {
			exe := e2e.Build(t, "insides", b[1:]...)
			have := runtimeFields(t, exe)
			for name, offset := range want {
				if have[name] != offset {
					t.Errorf("runtime.%s is at %d, in plain Go at %d", name, have[name], offset)
				}
			}
			r := e2e.Run(t, exe, env...)
			r.OK(t)
			if b[0] == "cct" {
				e2e.Check(t, cct.New(r.Read(t)), e2e.SourceWants(t, "insides"), b[0])
			}
		})
	}
}

// runtimeFields returns the offsets of the fields of g, m and p, as the debug
// information of an executable has them.
func runtimeFields(t *testing.T, exe string) map[string]int64 {
	t.Helper()
	f, err := elf.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]int64{}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return fields
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		if e.Tag != dwarf.TagStructType || name != "runtime.g" && name != "runtime.m" && name != "runtime.p" {
			continue
		}
		typ, err := d.Type(e.Offset)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range typ.(*dwarf.StructType).Field {
			fields[name[len("runtime."):]+"."+field.Name] = field.ByteOffset
		}
	}
}
