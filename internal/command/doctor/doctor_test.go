package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// healthy returns a doctor of a machine without limits, and what it prints.
func healthy() (*doctor, *bytes.Buffer) {
	var out bytes.Buffer
	return &doctor{
		w:     &out,
		limit: func(int) (uint64, bool) { return 0, false },
		disk:  func(string) (uint64, bool, error) { return 1 << 40, false, nil },
	}, &out
}

// TestDoctorFindings makes machines ill, one way each.
func TestDoctorFindings(t *testing.T) {
	t.Chdir(t.TempDir())
	limited := func(d *doctor, resource int, most uint64) {
		d.limit = func(r int) (uint64, bool) { return most, r == resource }
	}
	for name, test := range map[string]struct {
		ill   func(d *doctor)
		check func(d *doctor)
		want  string
		fails int
	}{
		"healthy": {func(*doctor) {}, (*doctor).fileSize, "ok    ulimit -f      unlimited\n", 0},
		"small files": {func(d *doctor) { limited(d, limitFileSize, 1<<20) }, (*doctor).fileSize,
			"FAIL  ulimit -f      records: files may have ", 1},
		"large files": {func(d *doctor) { limited(d, limitFileSize, 1<<31) }, (*doctor).fileSize,
			"ok    ulimit -f ", 0},
		"address space": {func(d *doctor) { limited(d, limitAddressSpace, 1<<30) }, (*doctor).addressSpace,
			"or set STEMMA_TREE_SIZE to fewer bytes\n", 1},
		"room": {func(d *doctor) { limited(d, limitAddressSpace, 1<<50) }, (*doctor).addressSpace,
			"ok    ulimit -v ", 0},
		"no timers": {func(d *doctor) { limited(d, limitTimers, 1) }, (*doctor).timers,
			"FAIL  ulimit -i      -engine=sample: the kernel gives you 1 timer,", 1},
		"few timers": {func(d *doctor) { limited(d, limitTimers, 900) }, (*doctor).timers,
			"note  ulimit -i      -engine=sample: the kernel gives you 900 timers; threads beyond 450", 0},
		"noexec": {func(d *doctor) { d.disk = func(string) (uint64, bool, error) { return 0, true, nil } },
			(*doctor).temporary, "(noexec); set TMPDIR\n", 1},
		"full": {func(d *doctor) { d.disk = func(string) (uint64, bool, error) { return 1, false, nil } },
			(*doctor).records, "note  record disk ", 0},
		"no temporary": {func(*doctor) { t.Setenv("TMPDIR", "/nowhere") }, (*doctor).temporary,
			"FAIL  temporary      run and verify: /nowhere: ", 1},
		"nowhere at all": {func(*doctor) { t.Setenv("TMPDIR", "/dev/null"); t.Setenv("STEMMA_OUT", "/dev/null/x") },
			(*doctor).records, "FAIL  records        /dev/null/x: ", 1},
		"fallback": {func(*doctor) { t.Setenv("TMPDIR", t.TempDir()); t.Setenv("STEMMA_OUT", "/dev/null/x") },
			(*doctor).records,
			"note  records        /dev/null/x: ", 0},
	} {
		d, out := healthy()
		test.ill(d)
		test.check(d)
		if !strings.Contains(out.String(), test.want) || d.failed != test.fails {
			t.Errorf("%s: have %s(%d failed), want %s(%d)", name, out, d.failed, test.want, test.fails)
		}
		t.Setenv("TMPDIR", t.TempDir())
		t.Setenv("STEMMA_OUT", "")
	}
}

// TestDoctorCache checks a cache of others, and that the doctor leaves nothing behind.
func TestDoctorCache(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("STEMMA_CACHE", filepath.Join(dir, "stemma"))
	d, out := healthy()
	d.cache()
	if !strings.Contains(out.String(), "FAIL  cache") || d.failed != 1 {
		t.Errorf("a cache that all may write to: have %s", out)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	d, out = healthy()
	d.cache()
	if d.failed != 0 {
		t.Errorf("have %s", out)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}
