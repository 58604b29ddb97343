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

// books are the directory of a Budget. Each day has a file in it, to which all
// processes append what they claim: a line with how many requests and bytes,
// by whom, and of which host. What a line gets is what those before it have
// left of the Budget, so every process that reads the file knows what each has,
// and nobody has to lock anything.
type books struct {
	dir string
	me  string // in the lines

	// Guarded by limiter.mu.
	claims  []string // hosts whose claims are to be written
	writing bool
	failing bool // it was told that they fail

	// Of the goroutine that writes.
	day int64
	as  string // who we were
	at  int64  // so far the file has been read
}

const (
	booksSuffix = ".budget"
	bookRetry   = 5 * time.Second // after a failure
)

// A purse is a part of a Budget.
type purse struct{ requests, bytes int64 }

func (p purse) plus(q purse) purse { return purse{sum(p.requests, q.requests), sum(p.bytes, q.bytes)} }

func sum(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// dayOf is the day that it is in UTC, since 1970.
func dayOf(t time.Time) int64 { return t.Unix() / 86400 }

func newBooks(dir string) *books { return &books{dir: dir, me: rand.Text()} }

func (b *books) path(day int64) string {
	return filepath.Join(b.dir, time.Unix(day*86400, 0).UTC().Format(time.DateOnly)+booksSuffix)
}

// write appends lines of ours to the file of the day, so that a loss of power
// does not lose them, and returns what it has that was not read yet.
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
	if n < b.at { // it is another one: somebody has cleared the directory
		b.at = 0
	}
	if n > 0 {
		var last [1]byte
		if _, err := file.ReadAt(last[:], n-1); err != nil {
			return nil, err
		}
		if last[0] != '\n' { // who wrote it was stopped in the midst
			lines = append([]byte{'\n'}, lines...)
		}
	}
	if _, err := file.Write(lines); err != nil { // at one stroke: others append, too
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

// tidy removes the files of days that are over by everybody's clock. What it
// cannot remove today is removed tomorrow.
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

// entriesOf reads lines. Those that are none say nothing.
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
