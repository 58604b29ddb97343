package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// longestLine is how many bytes a line may have. A longer one counts as broken.
const longestLine = 1 << 20

var errLong = fmt.Errorf("the line is longer than %d bytes", longestLine)

type lineReader struct {
	in     *bufio.Reader
	long   []byte // a line that is longer than the buffer of in
	number int    // of the line that was read last
	offset int64  // of the next line
}

func (l *lineReader) reset(in io.Reader, number int) {
	l.in.Reset(in)
	l.number = number
}

// next returns a line without its LF or CR LF. The line is valid until the next
// call. If the line is too long, the error is errLong, and later lines can
// still be read. At the end of the stream, the error is io.EOF. If the stream
// cannot be read, the error is the Reader's.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	size := len(line)
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = append(l.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) {
			line, err = l.in.ReadSlice('\n')
			if size += len(line); size <= longestLine+2 {
				l.long = append(l.long, line...)
			}
		}
		line = l.long
	}
	if err != nil && (size == 0 || !errors.Is(err, io.EOF)) {
		return nil, err
	}
	l.number++
	l.offset += int64(size)
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if size > longestLine+2 || len(line) > longestLine {
		return nil, errLong
	}
	return line, nil
}
