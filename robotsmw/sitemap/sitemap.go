package sitemap

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"
	"unicode"

	"github.com/goodbots/courtesy/internal/bodycode"
)

// Read returns the entries of a sitemap, in order. The sequence ends with an
// error if r returns one, if the gzip data are malformed, or with
// [ErrTooManyURLs], [ErrTooLarge] or [ErrNotSitemap]. The Entry that is yielded
// with an error is zero. An empty file has no entries, and no error.
//
// Read reads r while the caller ranges over the sequence, so that the sequence
// can be used only once. It does not close r.
func Read(r io.Reader) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		text, err := openText(r)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		s := &scan{text: text, yield: yield}
		if isMarkup(text) {
			err = readMarkup(text, s.entry)
		} else {
			err = s.lines()
		}
		if err == errStopped {
			return
		}
		if err != nil && err != io.EOF {
			yield(Entry{}, err)
		}
	}
}

// errStopped means that the caller has left the loop.
var errStopped = errors.New("stopped")

// A scan is the state of one Read.
type scan struct {
	text    *bufio.Reader
	yield   func(Entry, error) bool
	entries int
}

// entry yields an entry. It returns errStopped if the caller has left the loop,
// and ErrTooManyURLs if there are too many entries.
func (s *scan) entry(e Entry) error {
	if s.entries == MaxURLs {
		return ErrTooManyURLs
	}
	s.entries++
	if !s.yield(e, nil) {
		return errStopped
	}
	return nil
}

// openText returns the text of a file, in UTF-8 or in a charset that includes
// ASCII.
func openText(r io.Reader) (*bufio.Reader, error) {
	text := bodycode.NewReader(&limitedReader{r, MaxBytes})
	for range maxLayers {
		if !bodycode.IsGzip(text) {
			break
		}
		z, err := bodycode.NewGzipReader(text)
		if err != nil {
			return nil, err
		}
		text = bodycode.NewReader(&limitedReader{z, MaxBytes})
	}
	return bufio.NewReaderSize(bodycode.NewTextReader(text), maxLine), nil
}

// A limitedReader is like io.LimitedReader, but returns ErrTooLarge if the
// source has more bytes than the limit.
type limitedReader struct {
	r    io.Reader
	left int // number of bytes until the limit
}

// Read reads one byte more than the limit in order to detect that the source is
// too large. It does not return this byte.
func (l *limitedReader) Read(p []byte) (int, error) {
	p = p[:min(len(p), l.left+1)]
	n, err := l.r.Read(p)
	if n > l.left {
		n = l.left
		err = ErrTooLarge
	}
	l.left -= n
	return n, err
}

// isMarkup reports whether a text is XML or HTML instead of lines. A warning of
// the program that wrote the file may precede the markup. isMarkup skips white
// space at the beginning.
func isMarkup(text *bufio.Reader) bool {
	for {
		c, _, err := text.ReadRune()
		if err != nil {
			return false
		}
		if c != '\ufeff' && !unicode.IsSpace(c) {
			break
		}
	}
	text.UnreadRune()
	const window = 4 << 10
	start, _ := text.Peek(window)
	if start[0] == '<' {
		return true
	}
	for _, tag := range []string{"<?xml", "<urlset", "<sitemapindex", "<rss", "<feed"} {
		if bytes.Contains(start, []byte(tag)) {
			return true
		}
	}
	return false
}

// lines yields the lines that are URLs. It ignores other lines, and lines that
// are longer than maxLine.
func (s *scan) lines() error {
	isRest := false // whether the next piece is the rest of a line that is too long
	for {
		line, err := s.text.ReadSlice('\n')
		isPart := err == bufio.ErrBufferFull
		isComplete := err == nil || err == io.EOF
		if !isComplete && !isPart {
			return err // the line may be truncated
		}
		if isComplete && !isRest {
			if err := s.line(line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return err
		}
		isRest = isPart
	}
}

// line yields a line if it is a URL.
func (s *scan) line(line []byte) error {
	loc := cleanLoc(line, "")
	if !isURL(loc) {
		return nil
	}
	return s.entry(Entry{Loc: loc})
}

func isURL(s string) bool {
	for _, scheme := range []string{"http://", "https://"} {
		if len(s) > len(scheme) && strings.EqualFold(s[:len(scheme)], scheme) {
			return true
		}
	}
	return false
}
