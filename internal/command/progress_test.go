package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stemma-go/stemma/internal/testing/recordtest"
)

// A slow writer takes a minute for its first line.
type slow struct {
	bytes.Buffer
	late bool
}

func (s *slow) Write(b []byte) (int, error) {
	if !s.late {
		s.late = true
		time.Sleep(time.Minute)
	}
	return s.Buffer.Write(b)
}

// TestLateCommands runs commands that take long: they say what they do. A log that a program is still writing is waited
// for in silence.
func TestLateCommands(t *testing.T) {
	_, path, id, _ := recordtest.Shop(t)
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte(strings.Repeat("ctx="+id+"\n", 3)), 0o666); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"stemma: decode, 0.0 of 0.0 MB, 20 s\n": {"decode", path},
		"stemma: decode, 20 s\n":                {"decode", path, id},
		"stemma: doctor, 20 s\n":                {"doctor"},
	} {
		synctest.Test(t, func(t *testing.T) {
			in, err := os.Open(log)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			var out slow
			var errs bytes.Buffer
			Main(args, in, &out, &errs)
			if !strings.Contains(errs.String(), want) || out.Len() == 0 {
				t.Errorf("%q: no %q in %q", args, want, errs.String())
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		var out slow
		var errs bytes.Buffer
		code := Main([]string{"decode", path}, strings.NewReader("ctx="+id+"\n"), &out, &errs)
		if code != 0 || errs.Len() > 0 || !strings.Contains(out.String(), "main.pay") {
			t.Errorf("code %d: %q, %q", code, errs.String(), out.String())
		}
	})
}
