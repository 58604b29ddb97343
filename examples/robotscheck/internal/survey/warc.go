package survey

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
)

func isWARC(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".warc") || strings.HasSuffix(name, ".warc.gz")
}

func everyHost(string) bool { return true }

// A noFile is the status of an answer without a robots.txt: any status other
// than 2xx.
type noFile int

func (n noFile) Error() string { return fmt.Sprintf("the answer was a %d", int(n)) }

// eachInWARC reads a WARC file, such as one of Common Crawl's robotstxt subset.
// It calls each() for every answer to a request for robots.txt, if the host
// matches. For a record that cannot be read, it calls each() with a function
// that returns the error.
func eachInWARC(arg string, in io.Reader, matches func(host string) bool, each func(name string, read func() ([]byte, error)) error) error {
	archive, err := audit.NewWARCReader(in)
	if err != nil {
		return fmt.Errorf("%s: %w", arg, err)
	}
	broken := func(err error) error {
		return each(arg, func() ([]byte, error) { return nil, fmt.Errorf("%s: %w", arg, err) })
	}
	for {
		record, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var status int
		var text []byte
		ok := false
		if err == nil {
			if u, err := url.Parse(record.TargetURI); err != nil || !matches(u.Host) {
				continue
			}
			status, text, ok, err = record.RobotsTxt()
		}
		if _, isRecord := errors.AsType[*audit.WARCError](err); isRecord {
			if err := broken(err); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return broken(err) // nothing after the error can be read
		}
		if !ok {
			continue
		}
		err = each(record.TargetURI, func() ([]byte, error) {
			if status/100 != 2 {
				return nil, noFile(status)
			}
			return text, nil
		})
		if err != nil {
			return err
		}
	}
}

// eachInFile opens a file and passes it to read(). If the file cannot be
// opened, eachInFile instead calls each() with a function that returns the
// error.
func eachInFile(name string, read func(io.Reader) error, each func(name string, read func() ([]byte, error)) error) error {
	in, err := os.Open(name)
	if err == nil {
		defer in.Close()
		return read(in)
	}
	return each(name, func() ([]byte, error) { return nil, err })
}
