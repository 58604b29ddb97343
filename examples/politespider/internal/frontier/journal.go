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

// A journal is a file of JSON lines, which is only ever appended to. The first
// line says what the crawl is of, each further one what happened:
//
//	{"version":1,"crawl":{"start":["http://a.example/"],"scope":"","flags":{}}}
//	{"add":[{"url":"http://a.example/"}]}                                             queued
//	{"add":[{"url":"http://a.example/1","from":"http://a.example/"}]}
//	{"done":"http://a.example/","next":"2026-11-21T12:00:01Z","interval":1}            done with, and when its host is free
//	{"put":"http://a.example/1","puts":1,"next":"2026-11-21T12:10:00Z"}
//	{"done":"http://a.example/2","free":true}                                         done with, and not counted
//
// A page that is put is one that its server has put off; with "due" it waits by
// itself until then. What was handed out leaves no line: a page is as good as
// queued until it is done with. Opening a journal writes it anew, with no more
// than is still of use:
//
//	{"seen":["http://a.example/","http://a.example/2"],"spent":1}                     done with
//	{"host":"a.example","next":"2026-11-21T12:10:00Z","interval":1}
//
// So its size is bounded by what the crawl is: each URL has at most one line
// when it is opened, and a run adds one for each that it finds, one for each
// that it does, and one each time that a server puts a page off.
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
	Interval float64   `json:"interval,omitempty"` // seconds
}

const (
	journalName    = "journal.jsonl"
	journalVersion = 1

	// syncPeriod is how much of a crawl a power cut may cost: pages that were
	// done with in that time are fetched again. Being killed costs nothing but
	// what is under way, because what was written stays written.
	syncPeriod = time.Second

	// linesOf is how many URLs a line of a rewritten journal holds at most.
	linesOf = 1000
)

// journal is the file, open for appending. It is not safe for concurrent use.
type journal struct {
	file   *os.File
	synced time.Time
}

// readJournal hands each line of the journal to take, and returns how many
// bytes at its end are of no use. A last line that was cut short is to be
// expected of a process that was killed; after a power cut there may be more of
// what was not synced yet. Nothing behind the first bad line is believed: it
// may say that a page is done whose links are lost.
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

// readDirectory reads the journal in a directory. Without one there is nothing
// to read.
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

// ReadAbout returns what the crawl in the directory is of; nil if there is
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

// createJournal replaces the journal in dir by one of these lines, at one
// stroke, and opens it.
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

// append writes a line: a single write, so that of a process that is killed
// there is the whole line, or a part at the end.
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
	enc.SetEscapeHTML(false) // URLs are full of &
	return enc
}

// syncDirectory makes a rename outlive a power cut, where the system can do
// that.
func syncDirectory(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
