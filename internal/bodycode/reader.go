package bodycode

import (
	"bufio"
	"io"
)

// NewReader returns a buffered reader of r. After r has failed, each further
// read returns the error of r. A bufio.Reader alone would return the error only
// once, so an error that Peek has returned would be lost.
func NewReader(r io.Reader) *bufio.Reader { return bufio.NewReader(&stickyReader{r: r}) }

type stickyReader struct {
	r   io.Reader
	err error
}

func (s *stickyReader) Read(p []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	n, s.err = s.r.Read(p)
	return n, s.err
}
