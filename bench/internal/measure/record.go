package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Record is what a run has recorded.
type Record struct {
	Calls     uint64 `json:"calls"`
	Contexts  uint64 `json:"contexts"`
	Functions uint64 `json:"functions"`
	Truncated uint64 `json:"truncated"` // calls whose context had no room
	Bytes     int64  `json:"-"`         // on disk
}

// Record reads what a run has left in the live directories in out.
func (b *Bench) Record(out string) (Record, error) {
	live, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil {
		return Record{}, err
	}
	if len(live) == 0 {
		return Record{}, errors.New("report: the run has recorded nothing")
	}
	cmd := exec.Command(b.Stemma, append([]string{"report", "-json", "-top=1"}, live...)...)
	data, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return Record{}, fmt.Errorf("report: %w%s", err, tail(exit.Stderr))
		}
		return Record{}, fmt.Errorf("report: %w", err)
	}
	r, err := parseReport(data)
	if err != nil {
		return Record{}, err
	}
	r.Bytes, err = diskUse(out)
	return r, err
}

func parseReport(data []byte) (Record, error) {
	var report struct {
		Totals *Record `json:"totals"`
	}
	if err := json.Unmarshal(data, &report); err != nil {
		return Record{}, fmt.Errorf("report: %w", err)
	}
	if report.Totals == nil || report.Totals.Calls == 0 || report.Totals.Contexts == 0 {
		return Record{}, fmt.Errorf("report: no calls in %.200q", data)
	}
	return *report.Totals, nil
}

// diskUse returns how many bytes of disk the files below dir take. Live
// directories have sparse files, whose sizes mean nothing.
func diskUse(dir string) (int64, error) {
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
