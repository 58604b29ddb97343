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

	"github.com/goodbots/courtesy/examples/robotscheck/internal/archive"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

// A visit is called for every robots.txt, or with the reason why it cannot be
// read. If it returns an error, there are no further calls.
type visit func(text []byte, err error) error

// A noFile is the status of an answer without a robots.txt: any status other
// than 2xx.
type noFile int

func (n noFile) Error() string { return fmt.Sprintf("the response was a %d", int(n)) }

// eachFile finds the files that an argument stands for. If the argument is a
// directory or an archive, match is a pattern for the paths of files. If the
// argument is a WARC file, match is a pattern for hosts. Any other argument is
// a list of file names, and match must be empty. If match is empty, every file
// matches.
func eachFile(e command.Env, arg, match string, each visit) error {
	matches := func(name string) bool {
		ok, _ := path.Match(match, name)
		return match == "" || ok
	}
	if command.IsDirectory(arg) {
		return eachInDirectory(arg, matches, each)
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
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("%s is cut short or damaged at its beginning: %w", arg, err)
		}
		return eachInArchive(arg, unpacked, matches, each)
	}
	if match != "" {
		return command.Usagef("-match requires a directory or an archive; %s was read as a list of files", arg)
	}
	return eachInList(command.DisplayName(arg), in, each)
}

func eachInDirectory(dir string, matches func(string) bool, each visit) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return each(nil, err)
		case !entry.Type().IsRegular():
			return nil
		}
		if name, err := filepath.Rel(dir, file); err != nil || !matches(filepath.ToSlash(name)) {
			return err
		}
		if !isWARC(file) {
			return each(readFile(file))
		}
		in, err := os.Open(file)
		if err != nil {
			return each(nil, err)
		}
		defer in.Close()
		return eachInWARC(file, in, func(string) bool { return true }, each)
	})
}

// maxFileSize is how many bytes of a file are read. A longer file is probably
// not a robots.txt.
const maxFileSize = 16 << 20

func begin(in io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(in, maxFileSize)) }

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
func eachInList(arg string, in io.Reader, each visit) error {
	var missing []error // of the first files, until one can be read
	found := false
	lines := bufio.NewScanner(in)
	for len(missing) < trials && lines.Scan() {
		name := strings.TrimSpace(lines.Text())
		if name == "" {
			continue
		}
		text, err := readFile(name)
		if err != nil && !found {
			missing = append(missing, err)
			continue
		}
		found = true
		for _, err := range missing {
			if err := each(nil, err); err != nil {
				return err
			}
		}
		missing = nil
		if err := each(text, err); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s was read as a list of files: %w", arg, err)
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s was read as a list of files, but the first files in it cannot be read: %s; specify a directory, an archive, or a file with one path per line",
			arg, command.Printable(missing[0].Error())) // a file's name may have any bytes
	}
	return nil
}

// eachInArchive reads the files of a tar archive. If the archive is cut short
// or damaged, it reads what is before that place, and returns an error.
func eachInArchive(arg string, in io.Reader, matches func(string) bool, each visit) error {
	archive := tar.NewReader(io.MultiReader(in, cut{}))
	for place := "at its beginning"; ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			if _, err = io.Copy(io.Discard, in); err == nil { // of a compressed archive, this checks the sum
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("%s is cut short or damaged %s: %w", arg, place, err)
		}
		name := command.Printable(h.Name) // which may have any bytes
		place = "after " + name
		if h.Typeflag != tar.TypeReg || !matches(path.Clean(h.Name)) {
			continue
		}
		text, err := begin(archive)
		if err != nil {
			return fmt.Errorf("%s is cut short or damaged in %s: %w", arg, name, err)
		}
		if err := each(text, nil); err != nil {
			return err
		}
	}
}

// A cut is where an archive ends without its end mark. Package tar takes an
// archive that ends between two files for a complete one.
type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func isWARC(name string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{".warc", ".warc.gz", ".warc.zst", ".wacz"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// eachInWARC reads a WARC file, such as one of Common Crawl's robotstxt subset,
// or the WARC files in a WACZ: every answer to a request for robots.txt, if the
// host matches.
func eachInWARC(arg string, in io.Reader, matches func(host string) bool, each visit) error {
	members, err := archive.Open(arg, in)
	if err != nil {
		return err
	}
	defer func() {
		for _, m := range members {
			m.Close()
		}
	}()
	for _, m := range members {
		if err := eachRobotsTxt(m, matches, each); err != nil {
			return err
		}
	}
	return nil
}

func eachRobotsTxt(m archive.Member, matches func(host string) bool, each visit) error {
	for resp, err := range audit.RobotsTxts(m.Reader) {
		var text []byte
		switch {
		case err != nil:
			err = fmt.Errorf("%s: %w", m.Name, err)
		case !matches(resp.Request.URL.Host):
			continue
		case resp.StatusCode/100 != 2:
			err = noFile(resp.StatusCode)
		default:
			text, err = io.ReadAll(resp.Body)
		}
		if err := each(text, err); err != nil {
			return err
		}
	}
	return nil
}
