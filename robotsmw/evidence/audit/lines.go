package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/goodbots/courtesy/robotsmw/evidence/internal/chain"
)

// longestLine is how many bytes a line may have. A longer one counts as broken.
const longestLine = 1 << 20

var errLong = fmt.Errorf("the line is longer than %d bytes", longestLine)

type lineReader struct {
	in     *bufio.Reader
	number int   // of the line that was read last
	offset int64 // of the next line
}

// next returns a line without its LF or CR LF. The line is valid until the next
// call. If the line is too long, the error is errLong, and later lines can
// still be read. At the end of the stream, the error is io.EOF. If the stream
// cannot be read, the error is the Reader's.
func (l *lineReader) next() ([]byte, error) {
	line, size, err := chain.ReadLine(l.in, longestLine+2)
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
