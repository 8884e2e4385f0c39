package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// FetchModule makes a copy of a version of a module in dir that may be changed, since its tests may write there, and
// its go.sum may lack what they need.
func FetchModule(path, version, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	cmd := exec.Command("go", "mod", "download", "-json", path+"@"+version)
	cmd.Dir = filepath.Dir(dir) // outside of any module
	out, err := cmd.Output()
	var info struct{ Dir, Error string }
	if e := json.Unmarshal(out, &info); e != nil || info.Dir == "" {
		return fmt.Errorf("go mod download %s@%s: %v %s", path, version, err, info.Error)
	}
	if err := os.CopyFS(dir, os.DirFS(info.Dir)); err != nil {
		return err
	}
	if err := makeWritable(dir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return nil
	}
	if err := inModule(dir, "go", "mod", "init", path); err != nil {
		return err
	}
	return inModule(dir, "go", "mod", "tidy")
}

// makeWritable lets the owner write to all that was copied from the module cache.
func makeWritable(dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()|0o200)
	})
}

func inModule(dir string, args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
