package main

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/goodbots/courtesy/examples/internal/terminal"
)

var surveyCommand = command{
	name:  "survey",
	usage: "[flags] DIR|LIST|ARCHIVE",
	short: "what many robots.txt files have in common",
	help: `
Survey reads all files of a directory and those below it, of a tar archive (.tar, .tar.gz or .tgz), or of a list, which
has a file's path a line ("-": standard input). It counts in how many there is what, how large they are, which problems
lint finds, and which robots they name.

  robotscheck survey -match 'robots/*.txt' corpus.tar.gz

Of a file, at most 1,000 problems and 1,000 robots count. A robot is shut out of a file if its rules there disallow "/".

Exit status: 0 all files were read, 2 one could not be read.

With -json, one object:
  files, octets
  have      [{"what", "files"}]: what files have, where lint's codes do not tell
  rules     [{"what", "rules", "files"}]: what rules have in their patterns
  sizes     [{"what", "median", "p90", "p99", "max"}]: octets, lines, groups, rules, rules of the largest group
  worst     in how many files the worst problem is an "error", "warning" or "info", or there is "none"
  problems  [{"code", "severity", "files", "times"}]
  robots    [{"name", "files", "shut_out"}], the names in small letters`,
	setup: func(flags *flag.FlagSet) func(context.Context, env, []string) (int, error) {
		match := flags.String("match", "", "read only the files of a DIR or ARCHIVE whose path in it matches this `pattern`, such as 'robots/*.txt'")
		top := flags.Int("top", 20, "how many robots to name")
		asJSON := flags.Bool("json", false, "print JSON, one object")
		return func(ctx context.Context, e env, args []string) (int, error) {
			switch _, err := path.Match(*match, ""); {
			case len(args) != 1:
				return 0, usagef("name one directory, list or archive")
			case *top < 0:
				return 0, usagef("-top %d: write 0 or more", *top)
			case err != nil:
				return 0, usagef("-match %q: %v", *match, err)
			}
			s := survey{stderr: e.stderr, live: terminal.Is(e.stderr)}
			total, err := s.run(ctx, func(each func(name string, open func() ([]byte, error)) error) error {
				return eachFile(e, args[0], *match, each)
			})
			if err != nil {
				return 0, err
			}
			switch {
			case total.files == 0 && s.failed == 0:
				return 0, fmt.Errorf("%s: there are no such files", args[0])
			case total.files == 0:
			case *asJSON:
				newJSON(e.stdout).Encode(total.result(*top))
			default:
				total.result(*top).print(e.stdout)
			}
			if s.failed > 0 {
				return 0, fmt.Errorf("%s could not be read", count(s.failed, "file"))
			}
			return exitOK, nil
		}
	},
}

// A survey reads files, several at a time.
type survey struct {
	stderr io.Writer
	live   bool // stderr is a terminal
	failed int  // files that could not be read
}

// run gives each file to one of the workers and returns the sum of what they found.
func (s *survey) run(ctx context.Context, eachFile func(func(name string, read func() ([]byte, error)) error) error) (*tally, error) {
	files := make(chan []byte)
	tallies := make([]*tally, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for i := range tallies {
		t := newTally()
		tallies[i] = t
		workers.Go(func() {
			for text := range files {
				t.add(text)
			}
		})
	}
	done, began, shown := 0, time.Now(), time.Time{}
	err := eachFile(func(name string, read func() ([]byte, error)) error {
		text, err := read()
		if err != nil {
			s.failed++
			fmt.Fprintf(s.stderr, "robotscheck survey: %v\n", err)
			return nil
		}
		select {
		case files <- text:
		case <-ctx.Done():
			return ctx.Err()
		}
		if done++; s.live && time.Since(shown) > 100*time.Millisecond {
			shown = time.Now()
			fmt.Fprintf(s.stderr, "%s  %s, %.0f a second\r", terminal.EraseLine, count(done, "file"), float64(done)/time.Since(began).Seconds())
		}
		return nil
	})
	close(files)
	workers.Wait()
	if s.live {
		fmt.Fprint(s.stderr, terminal.EraseLine)
	}
	if err != nil {
		return nil, err
	}
	total := newTally()
	for _, t := range tallies {
		total.merge(t)
	}
	return total, nil
}

// eachFile calls each for the files that an argument stands for, and with what reads them.
func eachFile(e env, arg, match string, each func(name string, read func() ([]byte, error)) error) error {
	matches := func(name string) bool {
		ok, _ := path.Match(match, name)
		return match == "" || ok
	}
	if arg != "-" {
		info, err := os.Stat(arg)
		if err != nil {
			return err
		}
		if info.IsDir() {
			return filepath.WalkDir(arg, func(file string, entry fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return each(file, func() ([]byte, error) { return nil, err })
				case !entry.Type().IsRegular():
					return nil
				}
				if name, err := filepath.Rel(arg, file); err != nil || !matches(filepath.ToSlash(name)) {
					return err
				}
				return each(file, func() ([]byte, error) { return os.ReadFile(file) })
			})
		}
	}
	in, err := openFile(e, arg)
	if err != nil {
		return err
	}
	defer in.Close()
	switch lower := strings.ToLower(arg); {
	case strings.HasSuffix(lower, ".tar"):
		return eachInArchive(arg, in, matches, each)
	case strings.HasSuffix(lower, ".tar.gz"), strings.HasSuffix(lower, ".tgz"):
		unpacked, err := gzip.NewReader(bufio.NewReader(in))
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		return eachInArchive(arg, unpacked, matches, each)
	}
	if match != "" {
		return usagef("-match is for a directory or an archive; %s is taken for a list", arg)
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if name := strings.TrimSpace(lines.Text()); name != "" {
			if err := each(name, func() ([]byte, error) { return os.ReadFile(name) }); err != nil {
				return err
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the list %s: %w", shownName(arg), err)
	}
	return nil
}

func eachInArchive(arg string, in io.Reader, matches func(string) bool, each func(name string, read func() ([]byte, error)) error) error {
	archive := tar.NewReader(in)
	for {
		h, err := archive.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", arg, err)
		case h.Typeflag != tar.TypeReg || !matches(path.Clean(h.Name)):
			continue
		}
		if err := each(h.Name, func() ([]byte, error) { return io.ReadAll(archive) }); err != nil {
			return err
		}
	}
}
