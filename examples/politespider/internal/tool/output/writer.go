package output

import "io"

// A checkedWriter keeps the first error of w. When that error occurs, it calls
// failed.
type checkedWriter struct {
	w      io.Writer
	err    error
	failed func(error)
}

func (c *checkedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if err != nil && c.err == nil {
		c.err = err
		c.failed(err)
	}
	return n, err
}
