package politeness

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// books keep the count of a Budget in a directory, in one file for each day.
// All processes append their claims to the file of the day, one line for each
// claim. The line says how many requests and bytes are claimed, by which
// process and for which host. The claims are served in the order of their
// lines, until the Budget is used up. So every process can compute from the
// file how much each process has got, and no lock is needed.
type books struct {
	dir string
	me  string // how this process signs its lines; guarded by Limiter.mu

	// The next fields are guarded by Limiter.mu.
	claims  []string // hosts with a claim to write
	writing bool
	failing bool // the previous write failed, and the log says so

	// The next fields belong to the goroutine that writes.
	day int64
	as  string // how this process signed at the previous write
	at  int64  // how many bytes of the file have been read
}

const (
	booksSuffix = ".budget"
	bookRetry   = 5 * time.Second // how soon after a failed write a host may claim again
)

// A purse is an amount of a Budget.
type purse struct{ requests, bytes int64 }

func (p purse) plus(q purse) purse { return purse{sum(p.requests, q.requests), sum(p.bytes, q.bytes)} }

func sum(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// dayOf returns the day of t in UTC, counted from 1970.
func dayOf(t time.Time) int64 { return t.Unix() / 86400 }

func newBooks(dir string) *books { return &books{dir: dir, me: rand.Text()} }

func (b *books) path(day int64) string {
	return filepath.Join(b.dir, time.Unix(day*86400, 0).UTC().Format(time.DateOnly)+booksSuffix)
}

// write appends this process's lines to the day's file and syncs the file, so
// that a power failure does not lose them. It returns the entries that were
// added since the previous successful call, including those it has just
// written. But on a new day, or if the argument "me" has changed, it returns
// all entries of the file.
func (b *books) write(day int64, me string, lines []byte) (_ []entry, err error) {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, err
	}
	if b.day != day || b.as != me {
		b.day, b.as, b.at = day, me, 0
		b.tidy(day)
	}
	file, err := os.OpenFile(b.path(day), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	n := info.Size()
	if n < b.at { // a new file: somebody has cleared the directory
		b.at = 0
	}
	if n > 0 {
		var last [1]byte
		if _, err := file.ReadAt(last[:], n-1); err != nil {
			return nil, err
		}
		if last[0] != '\n' { // the writer of the last line was interrupted
			lines = append([]byte{'\n'}, lines...)
		}
	}
	if _, err := file.Write(lines); err != nil { // one Write, so that lines of other processes cannot come in between
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.NewSectionReader(file, b.at, 1<<62))
	if err != nil {
		return nil, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	b.at += int64(len(text))
	return entriesOf(text), nil
}

// tidy removes the files of all days before yesterday. The argument is today's
// number. tidy keeps yesterday's file, because the clock of another process may
// be behind. If a file cannot be removed, the next day's tidy tries again.
func (b *books) tidy(day int64) {
	files, _ := os.ReadDir(b.dir)
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), booksSuffix)
		if of, err := time.Parse(time.DateOnly, name); ok && err == nil && dayOf(of) < day-1 {
			os.Remove(filepath.Join(b.dir, f.Name()))
		}
	}
}

// An entry is a line of the books.
type entry struct {
	claim    purse
	by, host string
}

// entriesOf parses lines. It skips malformed ones.
func entriesOf(text []byte) (entries []entry) {
	for line := range bytes.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(string(line), "\n"), " ", 4)
		if len(fields) != 4 {
			continue
		}
		requests, err1 := strconv.ParseInt(fields[0], 10, 64)
		size, err2 := strconv.ParseInt(fields[1], 10, 64)
		host, err3 := strconv.Unquote(fields[3])
		if err1 == nil && err2 == nil && err3 == nil && requests >= 0 && size >= 0 {
			entries = append(entries, entry{purse{requests, size}, fields[2], host})
		}
	}
	return entries
}
