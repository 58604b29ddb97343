package frontier

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/goodbots/courtesy/examples/internal/cli"
)

// A line is one line of the journal, an append-only file of JSON lines. The
// first line describes the crawl, and each further line is an event:
//
//	{"version":1,"crawl":{"start":["http://a.example/"],"scope":"","flags":{}}}
//	{"add":[{"url":"http://a.example/"}]}
//	{"add":[{"url":"http://a.example/1","from":"http://a.example/"}]}
//	{"done":"http://a.example/","next":"2026-11-21T12:00:01Z","interval":1}
//	{"put":"http://a.example/1","puts":1,"next":"2026-11-21T12:10:00Z"}
//	{"done":"http://a.example/2","free":true}
//	{"done":"http://a.example/3","refused":true,"next":"2026-11-21T12:10:01Z","interval":1}
//
// "add" queues pages, "done" finishes a page, and "put" puts a page back into
// the queue. The host is paused until "next". If a "put" line also has a "due",
// the page itself waits until "due". If a "done" line has "free", the page does
// not count toward the maximum. If it has "refused", the page counts toward the
// limit of refused pages of its host. When a page is handed out, no line is
// written: the page stays queued in the journal until it is done.
//
// Each further run adds a first line of its own, whose flags may differ.
type line struct {
	Version  int       `json:"version,omitempty"`
	Crawl    *About    `json:"crawl,omitempty"`
	Add      []*Page   `json:"add,omitempty"`
	Done     string    `json:"done,omitempty"`
	Free     bool      `json:"free,omitempty"`
	Refused  bool      `json:"refused,omitempty"`
	Put      string    `json:"put,omitempty"`
	Puts     int       `json:"puts,omitempty"`
	Due      time.Time `json:"due,omitzero"`
	Next     time.Time `json:"next,omitzero"`
	Interval float64   `json:"interval,omitempty"` // in seconds
}

const (
	journalName    = "journal.jsonl"
	journalVersion = 1

	// syncPeriod is the minimum time between two syncs of the journal to the
	// disk. A power failure may lose the lines that were written after the last
	// sync. The next run fetches the pages in these lines again. If the process
	// is killed but the system keeps running, the journal keeps all lines.
	syncPeriod = time.Second
)

// A journal is an open journal file in a directory that is locked for this
// process. It is not safe for concurrent use.
type journal struct {
	lock   *flock.Flock
	file   *os.File
	lines  *json.Encoder // writes to the file
	synced time.Time
}

// openJournal opens the journal in dir, and creates both if necessary.
func openJournal(dir string) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, err
	}
	if !ok {
		const format = "another process is crawling in %s; wait until it ends, or use another directory"
		return nil, fmt.Errorf(format, dir)
	}
	file, err := os.OpenFile(filepath.Join(dir, journalName), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return &journal{lock: lock, file: file, lines: cli.NewEncoder(file), synced: time.Now()}, nil
}

// read calls take with each line of the journal, up to the first damaged line.
// It cuts off the rest, and logs why. A killed process may leave an incomplete
// last line, and a power failure may damage several lines. The lines after a
// damaged line are not used, because they may mark a page as done although the
// links of the page are lost.
func (j *journal) read(take func(line) error, logger *slog.Logger) error {
	good, damage := readJournal(j.file, take)
	if damage != nil && !errors.Is(damage, ErrDamaged) {
		return damage
	}
	if damage == nil {
		damage = errors.New("the last line is incomplete")
	}
	info, err := j.file.Stat()
	if err != nil {
		return err
	}
	if lost := info.Size() - good; lost > 0 {
		logger.Warn("the end of the journal is damaged; the requests recorded there are repeated",
			"error", damage, "bytes", lost)
	}
	return j.file.Truncate(good)
}

// readJournal calls take with each line up to the first damaged line. It
// returns the error of that line, and the number of bytes of the lines before
// it.
func readJournal(r io.Reader, take func(line) error) (good int64, err error) {
	isFirst := true
	good, err = ReadLines(r, func(l line) error {
		isHeader := l.Version == journalVersion && l.Crawl != nil
		if isFirst && !isHeader {
			return errNoJournal
		}
		isFirst = false
		isEvent := l.Add != nil || l.Done != "" || l.Put != ""
		if l.Crawl == nil && !isEvent {
			return errOldJournal
		}
		return take(l)
	})
	if errors.Is(err, ErrDamaged) && good == 0 {
		return 0, errNoJournal
	}
	return good, err
}

var errNoJournal = errors.New(journalName + " is not the journal of a crawl, " +
	"or was written by another version of this program; use another directory")

// errOldJournal is the error for a line that this version cannot read. Earlier
// versions rewrote journals, with lines such as {"seen":[…]}.
var errOldJournal = errors.New("this crawl was started by an older version of this program; " +
	"start a new crawl in another directory")

// ReadAbout returns the description of the crawl in dir, with the flags of its
// last run. It returns nil if there is no crawl.
func ReadAbout(dir string) (about *About, err error) {
	file, err := os.Open(filepath.Join(dir, journalName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	_, err = readJournal(file, func(l line) error {
		about = cmp.Or(l.Crawl, about)
		return nil
	})
	if err != nil && !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	return about, nil
}

// append adds a line, and syncs the file unless the last sync was less than
// syncPeriod ago.
func (j *journal) append(l line) error {
	if err := j.lines.Encode(l); err != nil {
		return err
	}
	if time.Since(j.synced) < syncPeriod {
		return nil
	}
	j.synced = time.Now()
	return j.file.Sync()
}

func (j *journal) close() error {
	return errors.Join(j.file.Sync(), j.file.Close(), j.lock.Unlock())
}
