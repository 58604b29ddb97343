package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/evidence/audit"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// maxFiles is the maximum number of robots.txt files in WARC files that are
// kept for the page.
const maxFiles = 100

// A history contains the robots.txt files of -robots. It also adds them to the
// Auditor.
type history struct {
	auditor  *audit.Auditor
	files    []*robotsFile // for the page, in the order of time
	hosts    int           // number of hosts that the files are for; 0 means every host
	doubtful []robots.Doubtful
}

var errNoHistory = errors.New("the directory contains no robots.txt")

// read reads a file, an archive or a directory. It returns an error if a file
// cannot be read, because the audit would use the wrong robots.txt, or none.
// The robots.txt files in a WARC file are not checked for doubts.
func (h *history) read(e command.Env, name string, r *reporter) error {
	if name == "" {
		return nil
	}
	if command.IsDirectory(name) {
		return h.readDirectory(name)
	}
	inputs, closeAll, err := openAll(e, []string{name}, r.addBytes)
	defer closeAll()
	if err != nil {
		return err
	}
	in := bufio.NewReader(inputs[0].Reader)
	isInWACZ := inputs[0].Name != command.DisplayName(name)
	if isInWACZ || isWARC(in) {
		inputs[0].Reader = in
		if err := h.readArchives(inputs, r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(in, robotstxt.MaxSize+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", command.DisplayName(name), err)
	}
	h.add(command.DisplayName(name), time.Time{}, text, true)
	return nil
}

// isWARC reports whether the input is a WARC file, which may be compressed with
// gzip.
func isWARC(in *bufio.Reader) bool {
	begin, _ := in.Peek(len("WARC/"))
	isGzip := strings.HasPrefix(string(begin), "\x1f\x8b")
	return isGzip || string(begin) == "WARC/"
}

// add adds a file that is in force from the given time on. mayBeTruncated
// reports whether text may be only the beginning of a long file.
func (h *history) add(name string, from time.Time, text []byte, mayBeTruncated bool) {
	h.auditor.AddRobotsTxt("", from, http.StatusOK, text)
	h.files = append(h.files, newRobotsFile(name, text))
	if doubt := robots.Doubt(text, mayBeTruncated); doubt != "" {
		h.doubtful = append(h.doubtful, robots.Doubtful{Source: name, Doubt: doubt})
	}
}

// readArchives reads the robots.txt files in WARC files.
func (h *history) readArchives(inputs []audit.Input, r *reporter) error {
	hosts := make(map[string]bool)
	for _, in := range inputs {
		if err := h.readArchive(in, hosts, r); err != nil {
			return err
		}
	}
	if len(hosts) == 0 {
		return errNoHistory
	}
	h.hosts = len(hosts)
	return nil
}

// readArchive reads the robots.txt files in a WARC file. It adds the hosts
// whose robots.txt is then known to hosts.
func (h *history) readArchive(in audit.Input, hosts map[string]bool, r *reporter) error {
	for resp, err := range audit.RobotsTxts(in.Reader) {
		if resp == nil {
			return err
		}
		if err != nil {
			r.printf("%s: %v", in.Name, err)
			continue
		}
		h.addResponse(resp)
		if determinesRules(resp.StatusCode) {
			hosts[strings.ToLower(resp.Request.URL.Host)] = true
		}
	}
	return nil
}

// addResponse adds a response for robots.txt in a WARC file.
func (h *history) addResponse(resp *http.Response) {
	from, _ := time.Parse(time.RFC3339Nano, resp.Header.Get("Warc-Date"))
	text, _ := io.ReadAll(resp.Body) // the body is in memory, so there is no error
	if resp.StatusCode/100 == 3 {
		text = []byte(resp.Header.Get("Location"))
	}
	url := resp.Request.URL.String()
	h.auditor.AddRobotsTxt(url, from, resp.StatusCode, text)
	if resp.StatusCode/100 == 2 && len(h.files) < maxFiles {
		h.files = append(h.files, newRobotsFile(url, text))
	}
}

// determinesRules reports whether the rules of a site follow from a response
// for robots.txt with this status.
func determinesRules(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusNotModified:
		return false
	}
	return status/100 != 5
}

// readDirectory reads the *.txt files of a directory. The name of each file is
// the time at which the file came into force.
func (h *history) readDirectory(dir string) error {
	const example = "such as 2026-11-20T10:00:00Z.txt"
	names, err := fs.Glob(os.DirFS(dir), "*.txt")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("%s: %w; name each file after the time from which it was in force, %s",
			dir, errNoHistory, example)
	}
	for _, name := range names {
		file := filepath.Join(dir, name)
		from, err := parseTime(strings.TrimSuffix(name, ".txt"))
		if err != nil {
			return fmt.Errorf("%s: name the file after the time from which it was in force, %s",
				file, example)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		h.add(file, from, text, false)
	}
	return nil
}

var timeLayouts = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05",
	"2006-01-02T15:04",
	time.DateOnly,
	"20060102T150405Z0700", // for file systems that do not allow colons in names
}

// parseTime parses a time in a flag or in the name of a file. Without a zone,
// the time is UTC.
func parseTime(value string) (time.Time, error) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, value); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New("must be a time such as 2026-11-20 or 2026-11-20T10:00:00Z")
}
