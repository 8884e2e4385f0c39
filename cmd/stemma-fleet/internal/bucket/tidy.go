package bucket

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"time"
)

// unfinished is what a file of a store that is a directory is called until it becomes an object of a run: package
// fileblob writes the time behind that.
var unfinished = regexp.MustCompile(`^(whole|growing|[0-9]{6,})\.(json|[0-9a-f]{16}\.stemma)\.[0-9a-f]{1,16}\.tmp$`)

// unfinishedTime is how long ago an upload has begun that has certainly ended: an agent gives each its time.
const unfinishedTime = 24 * time.Hour

// Tidy removes what uploads of a host that were killed have left in a store that is a directory, and returns how many
// files that were. What may still become an object stays, and all that is called otherwise.
func (b *Bucket) Tidy(ctx context.Context, host string) (removed int, err error) {
	if b.dir == "" {
		return 0, nil
	}
	root, err := os.OpenRoot(b.dir) // what is below it may be links, and leads nowhere else
	if err != nil {
		return 0, err
	}
	defer root.Close()
	services, err := fs.ReadDir(root.FS(), ".")
	for _, service := range services {
		dir := path.Join(service.Name(), escape(host))
		runs, _ := fs.ReadDir(root.FS(), dir) // most services have nothing of this host
		for _, run := range runs {
			if err := ctx.Err(); err != nil {
				return removed, err
			}
			if run.IsDir() && runDigits.MatchString(run.Name()) {
				removed += tidy(root, path.Join(dir, run.Name()))
			}
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", b.dir, err)
	}
	return removed, err
}

// tidy is Tidy for one run.
func tidy(root *os.Root, dir string) (removed int) {
	files, _ := fs.ReadDir(root.FS(), dir)
	for _, f := range files {
		if !f.Type().IsRegular() || !unfinished.MatchString(f.Name()) {
			continue
		}
		info, err := f.Info()
		if err == nil && time.Since(info.ModTime()) > unfinishedTime && root.Remove(path.Join(dir, f.Name())) == nil {
			removed++
		}
	}
	return removed
}
