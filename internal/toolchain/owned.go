package toolchain

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// The cache holds a compiler that runs with the rights of whoever builds, and sources
// that go into programs. So it must be out of reach of other users: what they can write
// to, or replace in a directory that they can write to, is not run.

// checkOwned reports the first part of an absolute path that somebody other than this user and root
// could have written. What is not there is nobody's.
// A link is followed: the way to it counts, and the way to where it leads.
func checkOwned(name string) error {
	real, err := filepath.EvalSymlinks(name)
	if err != nil && !isMissing(err) {
		return err
	}
	for _, path := range []string{name, real} {
		for dir := path; dir != ""; dir = parent(dir) {
			info, err := os.Stat(dir)
			if isMissing(err) || err == nil && dir != path && !info.IsDir() {
				continue // whoever goes on finds out
			}
			if err != nil {
				return err
			}
			if why := reachable(info, dir == path, os.Geteuid(), os.Getegid()); why != "" {
				return fmt.Errorf("cache: %s: %s, who could put a compiler of their own there; "+
					"make it yours alone (chown, chmod go-w), or set STEMMA_CACHE to a directory that is", dir, why)
			}
		}
	}
	return nil
}

// isMissing tells that nothing is at a path, or that none could lead there.
func isMissing(err error) bool { return os.IsNotExist(err) || errors.Is(err, syscall.ENOTDIR) }

// parent returns the directory that a path is in, or "" of the root.
func parent(path string) string {
	if dir := filepath.Dir(path); dir != path {
		return dir
	}
	return ""
}

// reachable returns who else can write to a file of the cache, or, unless it is the last
// part of its path, to a directory on the way there; "" for nobody.
// On the way, a sticky directory as /tmp lets nobody replace what is not theirs, and the
// user's own group may write, since many systems give each user a group.
func reachable(info fs.FileInfo, last bool, uid, gid int) string {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	mode := info.Mode()
	switch {
	case int(s.Uid) != uid && s.Uid != 0 && (last || !isUnmapped(s.Uid)):
		return fmt.Sprintf("it belongs to user %d", s.Uid)
	case !last && mode&fs.ModeSticky != 0:
		return ""
	case mode&0o002 != 0:
		return fmt.Sprintf("all users may write to it (%v)", mode)
	case mode&0o020 != 0 && (last || int(s.Gid) != gid && s.Gid != 0):
		return fmt.Sprintf("group %d may write to it (%v)", s.Gid, mode)
	}
	return ""
}

// isUnmapped reports whether a user ID stands for all those that this user namespace does
// not have: in a container without root the system's own directories belong to it.
func isUnmapped(uid uint32) bool {
	overflow, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil || strings.TrimSpace(string(overflow)) != fmt.Sprint(uid) {
		return false
	}
	users, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && strings.Join(strings.Fields(string(users)), " ") != "0 0 4294967295"
}

// CheckCache reports why the cache in dir must not be used: somebody else could have written to it.
func CheckCache(dir string) error { return checkOwned(dir) }
