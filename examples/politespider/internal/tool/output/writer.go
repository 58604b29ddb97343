package output

import "io"

// A checkedWriter writes to w. At the first error, it stores the error in err
// and calls the function in the field "failed".
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
