package frontier

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// The type "line" is one line of the journal. The journal is a file of JSON
// lines. A run only appends to it. The first line describes the crawl, and each
// further line is an event:
//
//	{"version":1,"crawl":{"start":["http://a.example/"],"scope":"","flags":{}}}
//	{"add":[{"url":"http://a.example/"}]}
//	{"add":[{"url":"http://a.example/1","from":"http://a.example/"}]}
//	{"done":"http://a.example/","next":"2026-11-21T12:00:01Z","interval":1}
//	{"put":"http://a.example/1","puts":1,"next":"2026-11-21T12:10:00Z"}
//	{"done":"http://a.example/2","free":true}
//
// "add" queues pages, "done" finishes a page, and "put" puts a page back into
// the queue. The host rests until "next". If a "put" line also has a "due", the
// page itself waits until "due". If a "done" line has "free", the page does not
// count towards the maximum. When a page is handed out, no line is written: the
// page stays queued in the journal until it is done.
//
// OpenDirectory rewrites the journal with only what is still needed: the first
// line, the pages that are queued, and lines like these:
//
//	{"spent":1}
//	{"seen":["http://a.example/","http://a.example/2"]}
//	{"host":"a.example","next":"2026-11-21T12:10:00Z","interval":1}
//
// "spent" is how many pages count towards the maximum, and "seen" has the pages
// that are done. So a rewritten journal has each URL once, and at most one line
// for each host. A run adds a line each time that it finds URLs, finishes a
// page, or puts a page back.
type line struct {
	Version  int       `json:"version,omitempty"`
	Crawl    *About    `json:"crawl,omitempty"`
	Add      []entry   `json:"add,omitempty"`
	Done     string    `json:"done,omitempty"`
	Free     bool      `json:"free,omitempty"`
	Put      string    `json:"put,omitempty"`
	Puts     int       `json:"puts,omitempty"`
	Due      time.Time `json:"due,omitzero"`
	Seen     []string  `json:"seen,omitempty"`
	Spent    int       `json:"spent,omitempty"`
	Host     string    `json:"host,omitempty"`
	Next     time.Time `json:"next,omitzero"`
	Interval float64   `json:"interval,omitempty"` // in seconds
}

const (
	journalName    = "journal.jsonl"
	journalVersion = 1

	// syncPeriod is the least time between two syncs of the journal to the
	// disk. A power cut may lose the lines that were written after the last
	// sync. The next run fetches the pages in these lines again. If the process
	// is killed but the system keeps running, the journal keeps all lines.
	syncPeriod = time.Second

	// linesOf is the maximum number of URLs in a line of a rewritten journal.
	linesOf = 1000
)

// A journal is an open journal file, to which lines are appended. It is not
// safe for concurrent use.
type journal struct {
	file   *os.File
	synced time.Time
}

// readJournal calls take() with each line of the journal, up to the first
// damaged line. It drops the rest, and returns how many bytes it dropped.
// A killed process may leave an incomplete last line, and a power cut may
// damage several lines. The lines after a damaged line are not used, because
// they may say that a page is done although the links of the page are lost.
func readJournal(r io.Reader, take func(line) error) (dropped int64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return int64(len(text)), nil
		}
		if err != nil {
			return 0, err
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			if n == 1 {
				return 0, errNoJournal
			}
			rest, err := io.Copy(io.Discard, in)
			return int64(len(text)) + rest, err
		}
		if n == 1 && (l.Version != journalVersion || l.Crawl == nil) {
			return 0, errNoJournal
		}
		if err := take(l); err != nil {
			return 0, err
		}
	}
}

var errNoJournal = errors.New(journalName + " is not the journal of a crawl, or of another version of this program: name another directory")

// readDirectory reads the journal in dir. A missing journal is no error.
func readDirectory(dir string, take func(line) error) (dropped int64, err error) {
	file, err := os.Open(filepath.Join(dir, journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()
	return readJournal(file, take)
}

// ReadAbout returns the description of the crawl in dir, or nil if there is
// none.
func ReadAbout(dir string) (*About, error) {
	var about *About
	found := errors.New("found")
	_, err := readDirectory(dir, func(l line) error {
		about = l.Crawl
		return found
	})
	if err == nil || errors.Is(err, found) {
		return about, nil
	}
	return nil, err
}

// createJournal atomically replaces the journal in dir by a new one with these
// lines. It opens the new journal for appending.
func createJournal(dir string, lines func(yield func(line) bool)) (*journal, error) {
	name := filepath.Join(dir, journalName)
	temp := name + ".new"
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(file, 1<<16)
	enc := newEncoder(out)
	for l := range lines {
		if err = enc.Encode(l); err != nil {
			break
		}
	}
	err = errors.Join(err, out.Flush(), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(temp, name)
	}
	if err != nil {
		os.Remove(temp)
		return nil, err
	}
	syncDirectory(dir)
	file, err = os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{file: file, synced: time.Now()}, nil
}

// append() writes a line in a single write. If the process is killed, the file
// ends with the whole line or with its beginning.
func (j *journal) append(l line) error {
	var b bytes.Buffer
	if err := newEncoder(&b).Encode(l); err != nil {
		return err
	}
	if _, err := j.file.Write(b.Bytes()); err != nil {
		return err
	}
	if time.Since(j.synced) < syncPeriod {
		return nil
	}
	j.synced = time.Now()
	return j.file.Sync()
}

func (j *journal) close() error { return errors.Join(j.file.Sync(), j.file.Close()) }

func newEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // keeps the & in URLs readable
	return enc
}

// syncDirectory makes a rename survive a power cut, if the system supports
// that.
func syncDirectory(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
