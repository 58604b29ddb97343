package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/goodbots/courtesy/robotsmw/evidence/internal/chain"
)

// maxLine is the maximum length of a line in bytes. A longer line is reported
// to Auditor.OnBroken.
const maxLine = 1 << 20

var errLong = fmt.Errorf("the line is longer than %d bytes", maxLine)

type lineReader struct {
	in     *bufio.Reader
	number int   // the number of the latest line, counted from 1
	offset int64 // the offset of the next line, in bytes
}

// next returns the next line without its LF or CR LF. It is valid until the
// next call. If the line is too long, the error is errLong, and later lines can
// still be read. At the end of the stream, the error is io.EOF. If the stream
// cannot be read, the error is that of the underlying reader.
func (l *lineReader) next() ([]byte, error) {
	line, size, err := chain.ReadLine(l.in, maxLine+2)
	if err != nil && (size == 0 || !errors.Is(err, io.EOF)) {
		return nil, err
	}
	l.number++
	l.offset += int64(size)
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	if size > maxLine+2 || len(line) > maxLine {
		return nil, errLong
	}
	return line, nil
}
