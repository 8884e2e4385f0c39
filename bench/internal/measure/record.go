package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Recorded is what a run has recorded. Only the tree of engine cct has counts of
// calls, and only engines with context IDs tell about their encoding; the
// fields that an engine does not fill are zero.
type Recorded struct {
	Engine    string
	Calls     uint64 // of a tree
	Contexts  uint64 // of a tree, or of samples
	Functions uint64
	Truncated uint64 // calls whose context had no room
	Encoding  *Encoding
	Bytes     int64 // on disk
}

// Encoding is what an engine with context IDs says about its call graph: the
// columns of table 1 of the DACCE paper.
type Encoding struct {
	Functions    uint64 // that were entered: nodes
	Edges        uint64
	Encoded      uint64
	BackEdges    uint64
	LeftOut      uint64
	MaxID        uint64
	Pushes       uint64 // onto ccStacks
	MeanDepth    float64
	MaxDepth     uint64
	Epoch        uint64
	Reencodings  uint64
	ReencodeTime time.Duration
	MaxPause     time.Duration
	Truncated    uint64
}

// Record reads what a run has left in the live directories in out.
func (b *Bench) Record(out string) (Recorded, error) {
	live, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil {
		return Recorded{}, err
	}
	if len(live) == 0 {
		return Recorded{}, errors.New("report: the run has recorded nothing")
	}
	cmd := exec.Command(b.Stemma, append([]string{"report", "-json"}, live...)...)
	data, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return Recorded{}, fmt.Errorf("report: %w%s", err, tail(exit.Stderr))
		}
		return Recorded{}, fmt.Errorf("report: %w", err)
	}
	r, err := parseReport(data)
	if err != nil {
		return Recorded{}, err
	}
	r.Bytes, err = DiskUse(out)
	return r, err
}

// parseReport reads what "stemma report -json" prints for any engine. Totals of
// a tree count calls; those of samples count their weights, which are no calls.
func parseReport(data []byte) (Recorded, error) {
	var report struct {
		Processes []struct{ Engine string }
		Metric    string
		Totals    *struct{ Calls, Contexts, Functions, Truncated uint64 }
		Engine    *Encoding
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return Recorded{}, fmt.Errorf("report: %w", err)
	}
	var r Recorded
	if len(report.Processes) > 0 {
		r.Engine = report.Processes[0].Engine
	}
	counts := report.Metric == "" || report.Metric == "calls"
	switch t := report.Totals; {
	case report.Engine != nil:
		r.Encoding, r.Functions, r.Truncated = report.Engine, report.Engine.Functions, report.Engine.Truncated
	case t == nil:
		return Recorded{}, fmt.Errorf("report: neither totals nor an engine in %.200q", data)
	case counts && (t.Calls == 0 || t.Contexts == 0):
		return Recorded{}, fmt.Errorf("report: no calls in %.200q", data)
	default:
		r.Contexts, r.Functions, r.Truncated = t.Contexts, t.Functions, t.Truncated
		if counts {
			r.Calls = t.Calls
		}
	}
	return r, nil
}

// DiskUse returns how many bytes of disk the files below dir take. Live
// directories have sparse files, whose sizes mean nothing.
func DiskUse(dir string) (int64, error) {
	total := int64(0)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return fmt.Errorf("%s: the size on disk is not known here", d.Name())
		}
		total += stat.Blocks * 512 // the unit of st_blocks, whatever the file system's
		return nil
	})
	return total, err
}
