package bodycode

import (
	"bufio"
	"io"
)

// NewReader returns a buffered reader of r, which returns an error of r again
// and again. A bufio.Reader alone would return it only once, and thus lose it
// if Peek meets it.
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
