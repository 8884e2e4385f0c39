package affected

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Repository is one of git's, and two versions of its files. It asks git for nothing but names and contents, by
// commands whose output no setting of the user's changes. What has changed in a file is found by comparing the
// versions, see file.
type Repository struct {
	dir, top   string // the working directory, and where the work tree begins
	env        []string
	base, next string // commits; next is "" for the files as they are
	// of files as they are
	known  map[string]bool // files that git knows, and new ones that it does not ignore
	links  []string        // submodules and other repositories, whose files git does not know
	goMod  []string        // files of that name
	goWork []string
}

// gitlink is the mode of a submodule.
const gitlink = "160000"

// Open finds the repository of the working directory, and the versions in a range as git diff takes it: base and the
// files as they are now, or base and another version. Without one behind the dots that is the files as they are.
func Open(versions string) (*Repository, error) {
	r := new(Repository)
	out, err := r.git("rev-parse", "--show-toplevel", "--absolute-git-dir")
	if err != nil {
		return nil, err
	}
	lines := strings.Split(out, "\n")
	if len(lines) < 2 {
		return nil, fmt.Errorf("git rev-parse: have %q, want two directories", out)
	}
	if r.dir, err = os.Getwd(); err != nil {
		return nil, err
	}
	r.dir, r.top = real(r.dir), real(lines[0])
	r.env = []string{"GIT_DIR=" + lines[1], "GIT_WORK_TREE=" + lines[0], "GIT_OPTIONAL_LOCKS=0"}
	if err := r.resolve(versions); err != nil {
		return nil, err
	}
	return r, r.listKnown()
}

// resolve sets the two versions.
func (r *Repository) resolve(versions string) (err error) {
	dots := ".."
	if strings.Contains(versions, "...") {
		dots = "..."
	}
	base, next, _ := strings.Cut(versions, dots)
	if r.base, err = r.commit(cmp.Or(base, "HEAD")); err != nil {
		return err
	}
	if next != "" {
		if r.next, err = r.commit(next); err != nil {
			return err
		}
	}
	if dots == "..." {
		out, err := r.git("merge-base", r.base, cmp.Or(r.next, "HEAD"))
		if err != nil {
			return err
		}
		r.base = strings.TrimSpace(out)
	}
	return nil
}

// commit returns the name of a version that no other argument can be taken for.
func (r *Repository) commit(version string) (string, error) {
	if strings.HasPrefix(version, "-") {
		return "", fmt.Errorf("%q is no version; want one, or a range, as git diff takes it", version)
	}
	out, err := r.git("rev-parse", "--verify", version+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("git knows no commit %s, or several; want one, or a range, as git diff takes it (%w)",
			version, err)
	}
	return strings.TrimSpace(out), nil
}

// git runs git at the top of the work tree and returns what it prints.
func (r *Repository) git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	if r.top != "" {
		cmd.Dir = r.top
		cmd.Env = append(cmd.Environ(), r.env...)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}

// words runs git and returns what it prints, which NULs end.
func (r *Repository) words(args ...string) ([]string, error) {
	out, err := r.git(args...)
	if err != nil || out == "" {
		return nil, err
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"), nil
}

// A file is one that may have changed.
type file struct {
	name             string // relative to the top, with slashes
	oldMode, newMode string // "" if there is none
	old, new         string // its contents, by git's name; new is "" for the file as it is
}

// files returns the files that differ. Of files as they are these are also those that git does not know, and those at
// whose contents it does not look.
func (r *Repository) files() ([]file, error) {
	args := []string{"diff-index", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none", r.base, "--"}
	if r.next != "" {
		args = []string{"diff-tree", "-r", "-z", "--no-abbrev", "--no-renames", r.base, r.next, "--"}
	}
	words, err := r.words(args...)
	if err != nil {
		return nil, err
	}
	var list []file
	for i := 0; i+1 < len(words); i += 2 {
		f := strings.Fields(strings.TrimPrefix(words[i], ":"))
		if len(f) != 5 {
			return nil, fmt.Errorf("git %s: %q, want two modes, two names and a letter", args[0], words[i])
		}
		list = append(list, file{name: words[i+1], oldMode: f[0], newMode: f[1], old: f[2], new: f[3]})
	}
	if r.next == "" {
		for i := range list {
			list[i].new = ""
		}
		more, err := r.unseen()
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	slices.SortStableFunc(list, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return slices.CompactFunc(list, func(a, b file) bool { return a.name == b.name }), nil
}

// unseen returns the files that git does not know, and those whose changes it was told not to look for. What is no
// change after all is found when the contents are compared.
func (r *Repository) unseen() ([]file, error) {
	names, err := r.words("ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return nil, err
	}
	var list []file
	for _, name := range names {
		mode := ""
		if strings.HasSuffix(name, "/") { // a repository
			mode = gitlink
		}
		list = append(list, file{name: strings.TrimSuffix(name, "/"), newMode: mode})
	}
	tagged, err := r.words("ls-files", "-z", "-v")
	if err != nil {
		return nil, err
	}
	for _, word := range tagged {
		// A small letter: assumed to be unchanged. S: not to be looked at in the work tree.
		tag, name, _ := strings.Cut(word, " ")
		if tag == "S" && !r.exists(name) || tag != "S" && tag >= "A" && tag <= "Z" {
			continue // not there on purpose, or known
		}
		f := file{name: name, oldMode: "100644"}
		if out, err := r.git("rev-parse", "--verify", "-q", r.base+":"+name); err == nil {
			f.old = strings.TrimSpace(out)
		}
		list = append(list, f)
	}
	return list, nil
}

func (r *Repository) exists(name string) bool {
	_, err := os.Lstat(r.path(name))
	return err == nil
}

// path returns the absolute path of a file.
func (r *Repository) path(name string) string { return filepath.Join(r.top, filepath.FromSlash(name)) }

// listKnown sets what git knows of the files as they are.
func (r *Repository) listKnown() error {
	r.known = make(map[string]bool)
	staged, err := r.words("ls-files", "-z", "--stage")
	if err != nil {
		return err
	}
	others, err := r.words("ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for _, word := range staged {
		info, name, _ := strings.Cut(word, "\t")
		if strings.HasPrefix(info, gitlink) {
			r.links = append(r.links, name)
		}
		others = append(others, name)
	}
	for _, name := range others {
		if link, ok := strings.CutSuffix(name, "/"); ok {
			r.links = append(r.links, link)
		}
		r.known[name] = true
		switch path.Base(name) {
		case "go.mod":
			r.goMod = append(r.goMod, name)
		case "go.work":
			r.goWork = append(r.goWork, name)
		}
	}
	return nil
}

// modules returns the files go.mod of modules that have tests: those in directories that go leaves out are data.
func (r *Repository) modules() (list []string) {
	for _, name := range r.goMod {
		vendored := slices.Contains(strings.Split(name, "/"), "vendor")
		if !vendored && !isHidden(path.Dir(name)) && r.exists(name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// ignored returns the files in the repository that modules are built from and that git ignores, so that nobody knows
// whether they have changed.
func (r *Repository) ignored(modules []*Module) (list []file) {
	if r.next != "" {
		return nil
	}
	for _, m := range modules {
		for _, p := range m.Packages {
			if p.Standard || isCached(p) {
				continue // its files never change
			}
			for _, name := range slices.Concat(p.compiled(), p.embedded()) {
				rel, err := filepath.Rel(r.top, filepath.Join(p.Dir, name))
				if err == nil && filepath.IsLocal(rel) && !r.knows(filepath.ToSlash(rel)) {
					list = append(list, file{name: filepath.ToSlash(rel), newMode: "ignored"})
				}
			}
		}
	}
	return list
}

// knows reports whether git would tell of a change of a file.
func (r *Repository) knows(name string) bool {
	return r.known[name] || slices.ContainsFunc(r.links, func(link string) bool {
		return strings.HasPrefix(name, link+"/")
	})
}

// texts returns what the two versions of a file have, nil for a version that is not there.
func (r *Repository) texts(f file) (old, now []byte, err error) {
	if f.old != "" && strings.Trim(f.old, "0") != "" {
		if old, err = r.blob(f.old); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case r.next == "":
		if now, err = os.ReadFile(r.path(f.name)); os.IsNotExist(err) {
			now, err = nil, nil
		}
	case strings.Trim(f.new, "0") != "":
		now, err = r.blob(f.new)
	}
	return old, now, err
}

// blob returns contents by git's name, never nil.
func (r *Repository) blob(name string) ([]byte, error) {
	out, err := r.git("cat-file", "blob", name)
	return append([]byte{}, out...), err
}
