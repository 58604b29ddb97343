package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// longestLine is how many bytes a line may have, without its newline. A longer
// line counts as broken.
const longestLine = 1 << 20

var errLong = fmt.Errorf("the line is longer than %d bytes", longestLine)

type lineReader struct {
	from   io.Reader
	buf    []byte // buf[at:] was read but not yet returned
	at     int
	number int // the number of the line that was read last
	err    error
}

func newLineReader(from io.Reader) *lineReader {
	return &lineReader{from: from, buf: make([]byte, 0, 64<<10)}
}

// next returns a line without its LF or CR LF. The line is valid until the next
// call. If the line is too long, the error is errLong, and later lines can
// still be read. At the end of the stream, the error is io.EOF. If the stream
// cannot be read, the error is the Reader's.
func (l *lineReader) next() ([]byte, error) {
	for searched := 0; ; {
		if i := bytes.IndexByte(l.buf[l.at+searched:], '\n'); i >= 0 {
			line := l.buf[l.at : l.at+searched+i]
			l.at += searched + i + 1
			l.number++
			if len(line) > longestLine {
				return nil, errLong
			}
			return bytes.TrimSuffix(line, []byte("\r")), nil
		}
		searched = len(l.buf) - l.at
		switch {
		case searched > longestLine:
			l.number++
			return nil, l.skip()
		case l.err != nil && searched > 0 && errors.Is(l.err, io.EOF):
			l.number++
			line := l.buf[l.at:]
			l.at = len(l.buf)
			return line, nil
		case l.err != nil:
			return nil, l.err
		}
		l.fill()
	}
}

func (l *lineReader) fill() {
	if l.at > 0 {
		l.buf = l.buf[:copy(l.buf, l.buf[l.at:])]
		l.at = 0
	}
	if len(l.buf) == cap(l.buf) {
		l.buf = append(make([]byte, 0, 2*cap(l.buf)), l.buf...)
	}
	for range 100 { // a Reader may return no bytes and no error for a while
		n, err := l.from.Read(l.buf[len(l.buf):cap(l.buf)])
		l.buf = l.buf[:len(l.buf)+n]
		if n > 0 || err != nil {
			l.err = err
			return
		}
	}
	l.err = io.ErrNoProgress
}

func (l *lineReader) skip() error {
	for {
		if i := bytes.IndexByte(l.buf[l.at:], '\n'); i >= 0 {
			l.at += i + 1
			return errLong
		}
		l.at = len(l.buf)
		if l.err != nil {
			return errLong
		}
		l.fill()
	}
}
