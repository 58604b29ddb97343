package politeness

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The books of a Budget are a file for each day in Budget.Dir. Each line says
// how many requests and bytes were reserved for a host. A line is written
// before what it reserves is used, so a process that is killed has never used
// more than its books say.

const (
	booksSuffix = ".budget"
	bookRetry   = 5 * time.Second // how soon after a failure the books are tried again
)

// An amount is a part of a Budget.
type amount struct{ requests, bytes int64 }

func (p amount) plus(q amount) amount {
	return amount{sum(p.requests, q.requests), sum(p.bytes, q.bytes)}
}

func sum(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// dayOf returns the day of t in UTC, counted from 1970.
func dayOf(t time.Time) int64 { return t.Unix() / 86400 }

func bookOf(dir string, day int64) string {
	return filepath.Join(dir, time.Unix(day*86400, 0).UTC().Format(time.DateOnly)+booksSuffix)
}

// readBook calls reserved for each line of the day's book. It also removes the
// books of the days before yesterday. It keeps yesterday's, because the clock
// may be set back.
func readBook(dir string, day int64, reserved func(host string, p amount)) error {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), booksSuffix)
		if of, err := time.Parse(time.DateOnly, name); ok && err == nil && dayOf(of) < day-1 {
			os.Remove(filepath.Join(dir, f.Name()))
		}
	}
	text, err := os.ReadFile(bookOf(dir, day))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range bytes.SplitSeq(text, []byte("\n")) {
		if host, p, ok := parseLine(string(line)); ok {
			reserved(host, p)
		}
	}
	return nil
}

// parseLine parses a line of a book. A line is malformed if its writer was
// interrupted: then nothing was used of what it should reserve.
func parseLine(line string) (host string, p amount, ok bool) {
	fields := strings.SplitN(line, " ", 3)
	if len(fields) != 3 {
		return "", amount{}, false
	}
	requests, err1 := strconv.ParseInt(fields[0], 10, 64)
	size, err2 := strconv.ParseInt(fields[1], 10, 64)
	host, err3 := strconv.Unquote(fields[2])
	ok = err1 == nil && err2 == nil && err3 == nil && requests >= 0 && size >= 0
	return host, amount{requests, size}, ok
}

// writeBook appends a line to the day's book. The line begins with a line
// break, because the line before it may lack its end.
func writeBook(dir string, day int64, host string, p amount) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(bookOf(dir, day), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(file, "\n%d %d %q", p.requests, p.bytes, host)
	return errors.Join(err, file.Close())
}
