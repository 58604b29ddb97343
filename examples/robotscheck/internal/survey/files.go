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

// A visitFunc is called for each robots.txt, with its text or with the error
// that prevented reading it. If it returns an error, there are no further
// calls.
type visitFunc func(text []byte, err error) error

// A noFileError is the error for a response without a robots.txt. Its value is
// the status of the response, which is not 2xx.
type noFileError int

func (e noFileError) Error() string { return fmt.Sprintf("the response has status %d", int(e)) }

// eachFile calls f for the files in a directory or archive whose paths match
// the pattern, for the responses in a WARC file whose hosts match it, or for
// the files in a list, for which the pattern must be empty. An empty pattern
// matches everything.
func eachFile(e command.Env, arg, pattern string, f visitFunc) error {
	matches := func(name string) bool {
		ok, _ := path.Match(pattern, name)
		return pattern == "" || ok
	}
	if command.IsDirectory(arg) {
		return eachInDirectory(arg, matches, f)
	}
	in, err := e.Open(arg)
	if err != nil {
		return err
	}
	defer in.Close()
	switch {
	case isWARC(arg):
		return eachInWARC(arg, in, matches, f)
	case hasSuffix(arg, ".tar"):
		return eachInArchive(arg, in, matches, f)
	case hasSuffix(arg, ".tar.gz", ".tgz"):
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("%s is cut short or damaged at its beginning: %w", arg, err)
		}
		return eachInArchive(arg, unpacked, matches, f)
	}
	if pattern != "" {
		return command.Usagef("-match requires a directory or an archive; %s was read as a list of files",
			arg)
	}
	return eachInList(command.DisplayName(arg), in, f)
}

func eachInDirectory(dir string, matches func(string) bool, f visitFunc) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return f(nil, err)
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		if name, err := filepath.Rel(dir, file); err != nil || !matches(filepath.ToSlash(name)) {
			return err
		}
		if !isWARC(file) {
			return f(readFile(file))
		}
		in, err := os.Open(file)
		if err != nil {
			return f(nil, err)
		}
		defer in.Close()
		return eachInWARC(file, in, func(string) bool { return true }, f)
	})
}

// maxFileBytes is the number of bytes that are read of a file. A longer file is
// probably not a robots.txt.
const maxFileBytes = 16 << 20

// readBeginning reads at most maxFileBytes.
func readBeginning(in io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(in, maxFileBytes))
}

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readBeginning(file)
}

// maxTrials is the number of files of a list that are tried before eachInList
// gives up.
const maxTrials = 10

// eachInList reads the files that a list names. If none of the first files can
// be read, the input is probably not a list, and eachInList returns a single
// error, instead of reporting each line of the input as a missing file.
func eachInList(arg string, in io.Reader, f visitFunc) error {
	var missing []error // of the first files, until one can be read
	found := false
	lines := bufio.NewScanner(in)
	for len(missing) < maxTrials && lines.Scan() {
		name := strings.TrimSpace(lines.Text())
		if name == "" {
			continue
		}
		text, err := readFile(name)
		if err != nil && !found {
			missing = append(missing, err)
			continue
		}
		if !found {
			found = true
			if err := reportAll(missing, f); err != nil {
				return err
			}
			missing = nil
		}
		if err := f(text, err); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s was read as a list of files: %w", arg, err)
	}
	if len(missing) > 0 {
		first := command.Printable(missing[0].Error()) // file names may contain any bytes
		return fmt.Errorf("%s was read as a list of files, "+
			"but the first files in it cannot be read: %s; "+
			"specify a directory, an archive, or a file with one path per line", arg, first)
	}
	return nil
}

// reportAll calls f with each of the errors.
func reportAll(errs []error, f visitFunc) error {
	for _, err := range errs {
		if err := f(nil, err); err != nil {
			return err
		}
	}
	return nil
}

// eachInArchive reads the files of a tar archive. If the archive is cut short
// or damaged, it reads what is before that place, and returns an error.
func eachInArchive(arg string, in io.Reader, matches func(string) bool, f visitFunc) error {
	archive := tar.NewReader(io.MultiReader(in, truncated{}))
	place := "at its beginning"
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			err = checkEnd(in)
			if err == nil {
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("%s is cut short or damaged %s: %w", arg, place, err)
		}
		name := command.Printable(header.Name) // which may contain any bytes
		place = "after " + name
		if header.Typeflag != tar.TypeReg || !matches(path.Clean(header.Name)) {
			continue
		}
		text, err := readBeginning(archive)
		if err != nil {
			return fmt.Errorf("%s is cut short or damaged in %s: %w", arg, name, err)
		}
		if err := f(text, nil); err != nil {
			return err
		}
	}
}

// checkEnd reads the rest of an archive. If it is compressed, this verifies its
// checksum.
func checkEnd(in io.Reader) error {
	_, err := io.Copy(io.Discard, in)
	return err
}

// truncated is a reader that returns io.ErrUnexpectedEOF. Appended to an
// archive, it is read only if the archive has no end mark. Otherwise, package
// tar would regard an archive that ends between two files as complete.
type truncated struct{}

func (truncated) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func isWARC(name string) bool { return hasSuffix(name, ".warc", ".warc.gz", ".warc.zst", ".wacz") }

// hasSuffix reports whether a name ends with one of the suffixes. It ignores
// letter case.
func hasSuffix(name string, suffixes ...string) bool {
	name = strings.ToLower(name)
	for _, suffix := range suffixes {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// eachInWARC reads the responses for robots.txt in a WARC file, such as one of
// Common Crawl's robotstxt subset, or in the WARC files of a WACZ.
func eachInWARC(arg string, in io.Reader, matches func(host string) bool, f visitFunc) error {
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
		if err := eachRobotsTxt(m, matches, f); err != nil {
			return err
		}
	}
	return nil
}

func eachRobotsTxt(m archive.Member, matches func(host string) bool, f visitFunc) error {
	for resp, err := range audit.RobotsTxts(m.Reader) {
		var text []byte
		switch {
		case err != nil:
			err = fmt.Errorf("%s: %w", m.Name, err)
		case !matches(resp.Request.URL.Host):
			continue
		case resp.StatusCode/100 != 2:
			err = noFileError(resp.StatusCode)
		default:
			text, err = io.ReadAll(resp.Body)
		}
		if err := f(text, err); err != nil {
			return err
		}
	}
	return nil
}
