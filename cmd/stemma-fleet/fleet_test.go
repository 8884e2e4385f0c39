package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/bucket"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/fetch"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink/sinktest"
	"github.com/stemma-go/stemma/internal/cct"
	"github.com/stemma-go/stemma/internal/record/store"
	"github.com/stemma-go/stemma/internal/testing/e2e"
)

// asFleet makes the binary of the tests stemma-fleet.
const asFleet = "RUN_AS_FLEET"

func TestMain(m *testing.M) {
	if os.Getenv(asFleet) != "" {
		os.Exit(run(os.Args[1:], os.Stderr))
	}
	e2e.Main(m)
}

// fleet returns the command that runs stemma-fleet.
func fleet(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asFleet+"=1")
	return cmd
}

// rotating starts programs that end segments all the time, and call main.step a hundred times in each of their steps.
func rotating(t *testing.T, out string, programs, steps int) (wait func()) {
	t.Helper()
	exe := e2e.Build(t, "progress")
	var list []*exec.Cmd
	for range programs {
		cmd := e2e.Command(t, out, exe, fmt.Sprint("STEPS=", steps), "STEMMA_ROTATE=100ms")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		list = append(list, cmd)
	}
	return func() {
		for _, cmd := range list {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
	}
}

// collected returns the calls of main.step in a store, and how many records there are. There are no others, and
// nothing is missing.
func collected(t *testing.T, url string) (calls uint64, records int) {
	t.Helper()
	ctx := context.Background()
	b, err := bucket.Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	c := &fetch.Cache{Dir: t.TempDir(), Warn: func(err error) { t.Error(err) }}
	files, err := c.Fetch(ctx, b, new(bucket.Query))
	if err != nil {
		t.Fatal(err)
	}
	r, err := store.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Profiles) != len(files) {
		t.Errorf("%d records in the store, and %d of them add up", len(files), len(r.Profiles))
	}
	_, p, err := store.LoadSum(files)
	if err != nil {
		t.Fatal(err)
	}
	return e2e.Calls(cct.New(p.Profile), "main.step"), len(files)
}

// TestKilled kills the agent at random moments, fifty times, while programs run and end segments; two agents have the
// directory. All that the programs have counted is in the store, once, and no record is left here. A Pyroscope has all
// of it as well, once.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program; run it without -short")
	}
	const programs, steps, kills = 4, 150_000, 50
	out, bucketDir := t.TempDir(), t.TempDir()
	url := "file://" + bucketDir
	server := new(sinktest.Pyroscope)
	server.Start(t)
	args := []string{"collect", "-store", url, "-to=pyroscope=" + server.URL, "-every=1ms", "-delete", out}
	wait := rotating(t, out, programs, steps)
	other := fleet(t, args...)
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	for i := range kills {
		cmd := fleet(t, args...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if i == kills/2 {
			_ = other.Process.Kill()
			_ = other.Wait()
		}
		time.Sleep(20*time.Millisecond + rand.N(150*time.Millisecond))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	wait()
	for range 2 { // a segment whose being there decides something goes after the record that it is part of
		if text, err := fleet(t, append(args, "-once")...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	calls, records := collected(t, url)
	if want := uint64(programs * 100 * steps); calls != want {
		t.Errorf("%d calls in the store, want %d", calls, want)
	}
	pushed, twice := server.Profiles()
	if have := server.Sums()["stemma:calls:count main.step"]; have != int64(calls) || twice > 0 {
		t.Errorf("Pyroscope has %d calls, want %d; %d parts came twice", have, calls, twice)
	}
	if left := store.RecordDirs(out); len(left) > 0 {
		t.Errorf("left here are %q", left)
	}
	objects := 0
	err := filepath.WalkDir(bucketDir, func(path string, d os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".stemma") {
			objects++
		}
		return err
	})
	if err != nil || objects != records {
		t.Errorf("%d objects of %d records, %v", objects, records, err)
	}
	t.Logf("%d records of %d programs, %d calls; %d parts", records, programs, calls, len(pushed))
}
