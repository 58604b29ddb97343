package survey

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// eachFile finds the files that an argument stands for. For every file that
// matches, it calls each() with the file's name and a function that reads the
// file. If the argument is a directory or an archive, match is a pattern for
// the paths of files. If the argument is a WARC file, match is a pattern for
// hosts. Any other argument is a list of file names, and match must be empty.
// If match is empty, every file matches.
func eachFile(e command.Env, arg, match string, each func(name string, read func() ([]byte, error)) error) error {
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
				if isWARC(file) {
					return eachInFile(file, func(in io.Reader) error { return eachInWARC(file, in, everyHost, each) }, each)
				}
				return each(file, func() ([]byte, error) { return readFile(file) })
			})
		}
	}
	in, err := e.Open(arg)
	if err != nil {
		return err
	}
	defer in.Close()
	switch lower := strings.ToLower(arg); {
	case isWARC(arg):
		return eachInWARC(arg, in, matches, each)
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
		return command.Usagef("-match is for a directory or an archive; %s is taken for a list", arg)
	}
	return eachInList(command.ShownName(arg), in, each)
}

// longestFile is how much of a file is read. What is longer may be no
// robots.txt, and of any size.
const longestFile = 16 << 20

func begin(in io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(in, longestFile)) }

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return begin(file)
}

// trials is how many files of a list are tried before eachInList gives up.
const trials = 10

// eachInList reads the files that a list names. If none of the first files can
// be read, the input is probably no list, and eachInList returns an error.
// Without this error, each line of the input would be reported as a missing
// file.
func eachInList(arg string, in io.Reader, each func(name string, read func() ([]byte, error)) error) error {
	type file struct {
		name string
		text []byte
		err  error
	}
	var waiting []file // the first files, until one of them can be read
	found := false
	lines := bufio.NewScanner(in)
	for len(waiting) < trials && lines.Scan() {
		name := strings.TrimSpace(lines.Text())
		if name == "" {
			continue
		}
		text, err := readFile(name)
		waiting = append(waiting, file{name, text, err})
		if found = found || err == nil; !found {
			continue
		}
		for _, f := range waiting {
			if err := each(f.name, func() ([]byte, error) { return f.text, f.err }); err != nil {
				return err
			}
		}
		waiting = waiting[:0]
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the list %s: %w", arg, err)
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%s is taken for a list, but the first files that it names cannot be read: %s; name a directory, an archive, or a file with one path a line",
			arg, command.Printable(waiting[0].err.Error())) // a file's name may have any bytes
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
		if err := each(h.Name, func() ([]byte, error) { return begin(archive) }); err != nil {
			return err
		}
	}
}
