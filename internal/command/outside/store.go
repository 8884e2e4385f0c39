package outside

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stemma-go/stemma/internal/base"
	"github.com/stemma-go/stemma/internal/progress"
)

// A Store is a bucket with the records of a fleet, and which of them are asked for. The program stemma-fleet reads it.
type Store struct {
	url, since, until, service string

	warned map[string]bool // what the user was warned of: each question has the same answer
}

// StoreFlags are the flags of a store.
var StoreFlags = []string{"store", "since", "until", "service"}

// Declare declares the flags, for parsing and for help texts.
func (s *Store) Declare(fs *flag.FlagSet) {
	fs.StringVar(&s.url, "store", "", "read the records in the bucket at `URL`, where 'stemma collect' puts them")
	fs.StringVar(&s.since, "since", "",
		"with -store, records that ended after `TIME`: as long ago as 24h or 7d, or 2026-11-26T08:00:00Z")
	fs.StringVar(&s.until, "until", "", "with -store, records that began before `TIME`")
	fs.StringVar(&s.service, "service", "", "with -store, records of the service `NAME`")
}

// Given reports whether there is a store. The error is one of usage: a flag that does nothing without it.
func (s *Store) Given(command string) (bool, error) {
	if s.url == "" && s.since+s.until+s.service != "" {
		return false, base.Usagef("%s: -since, -until and -service choose records in a bucket; give it with -store",
			command)
	}
	return s.url != "", nil
}

// Paths returns the paths that a command is to read: those that it was given, or what was fetched from the store.
func (s *Store) Paths(e *base.Env, command string, paths []string) ([]string, error) {
	given, err := s.Given(command)
	if err != nil {
		return nil, err
	}
	if !given {
		return Local(e, paths)
	}
	if len(paths) > 0 {
		return nil, base.Usagef("%s: have %q and -store; give one of them", command, paths[0])
	}
	since, until, err := s.window(command)
	if err != nil {
		return nil, err
	}
	return s.some(e.Stderr, since, until)
}

// Parquet becomes stemma-fleet, which writes records as tables to a directory: those at paths, or those of the store.
func (s *Store) Parquet(e *base.Env, dir string, paths []string) error {
	given, err := s.Given("export")
	if err != nil {
		return err
	}
	if given && len(paths) > 0 {
		return base.Usagef("export: have %q and -store; give one of them", paths[0])
	}
	if paths, err = Local(e, paths); err != nil {
		return err
	}
	args := []string{"parquet", "-o=" + dir, "-store=" + s.url, "-since=" + s.since, "-until=" + s.until,
		"-service=" + s.service}
	return fleet.become(append(append(args, "--"), paths...))
}

// Windows returns what the store has of the time that is asked for, and of the same time before. A record that lies in
// both counts for the later one alone.
func (s *Store) Windows(e *base.Env, command string) (before, now []string, err error) {
	since, until, err := s.window(command)
	if err != nil {
		return nil, nil, err
	}
	if since.IsZero() {
		return nil, nil, base.Usagef("%s: want a base beside -store, or -since, which is compared with the same time "+
			"before", command)
	}
	if until.IsZero() {
		until = time.Now()
	}
	if now, err = s.some(e.Stderr, since, until); err != nil {
		return nil, nil, err
	}
	from := since.Add(since.Sub(until))
	before, err = s.fetch(e.Stderr, from, since)
	later := make(map[string]bool, len(now))
	for _, file := range now {
		later[file] = true
	}
	before = slices.DeleteFunc(before, func(file string) bool { return later[file] })
	if err == nil && len(before) == 0 {
		of, day := &Store{url: s.url, service: s.service}, time.DateTime
		err = fmt.Errorf("%s: no record from %s to %s, the same time before, to compare with; name a base beside "+
			"-store, or a shorter time by -since", of, from.UTC().Format(day), since.UTC().Format(day))
	}
	return before, now, err
}

// String names the store, and which records of it.
func (s *Store) String() string {
	text, _, _ := strings.Cut(base.WithoutCredentials(s.url), "?")
	for _, part := range [][2]string{{" of ", s.service}, {" since ", s.since}, {" until ", s.until}} {
		if part[1] != "" {
			text += part[0] + part[1]
		}
	}
	return text
}

// window returns the times that are asked for, zero for those that are not.
func (s *Store) window(command string) (since, until time.Time, err error) {
	now := time.Now()
	if since, err = Moment(s.since, now); err != nil {
		return since, until, base.Usagef("%s: -since=%s: %w", command, s.since, err)
	}
	if until, err = Moment(s.until, now); err != nil {
		return since, until, base.Usagef("%s: -until=%s: %w", command, s.until, err)
	}
	if !until.IsZero() && !until.After(since) {
		err = base.Usagef("%s: -until=%s is not after -since=%s", command, s.until, s.since)
	}
	return since, until, err
}

// Moment returns the time that a text stands for: so long before now, or as RFC 3339 has it; the zero time if it is
// empty.
func Moment(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, errors.New("no time; want one as 24h, 7d or 2026-11-26T08:00:00Z")
	}
	return t, nil
}

// some fetches the records of some time; that there are none is an error.
func (s *Store) some(stderr io.Writer, since, until time.Time) ([]string, error) {
	files, err := s.fetch(stderr, since, until)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no record; 'stemma collect' puts them there", s)
	}
	return files, err
}

// Runs fetches the records of some runs.
func (s *Store) Runs(stderr io.Writer, runs ...uint64) ([]string, error) {
	since, until, err := s.window("decode")
	if err != nil {
		return nil, err
	}
	var list []string
	for _, run := range runs {
		list = append(list, fmt.Sprintf("%016x", run))
	}
	return s.fetch(stderr, since, until, "-run="+strings.Join(list, ","))
}

// fetch returns the files of the store's records of some time.
func (s *Store) fetch(stderr io.Writer, since, until time.Time, more ...string) ([]string, error) {
	args := append([]string{"-store=" + s.url, "-service=" + s.service}, more...)
	for flag, t := range map[string]time.Time{"-since=": since, "-until=": until} {
		if !t.IsZero() {
			args = append(args, flag+t.UTC().Format(time.RFC3339Nano))
		}
	}
	files, warnings, err := fetch(stderr, "asking "+s.String(), args...)
	for line := range strings.Lines(warnings) {
		if s.warned[line] {
			continue
		}
		if s.warned == nil {
			s.warned = make(map[string]bool)
		}
		s.warned[line] = true
		_, _ = io.WriteString(stderr, line)
	}
	return files, err
}

// fetch runs stemma-fleet, and returns the files that it has fetched, and its warnings. What it does may take long.
func fetch(stderr io.Writer, what string, args ...string) (files []string, warnings string, err error) {
	path, err := fleet.find()
	if err != nil {
		return nil, "", err
	}
	cmd := exec.Command(path, append([]string{"fetch"}, args...)...)
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	over := progress.Within(stderr, what)
	err = cmd.Run()
	if over(); err != nil {
		text := strings.TrimPrefix(strings.TrimSpace(problems.String()), "stemma-fleet: ")
		if text = strings.TrimPrefix(text, "fetch: "); text != "" {
			return nil, "", errors.New(text)
		}
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	files = strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' })
	return files, problems.String(), nil
}
