package politeness

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// body is a response's body, whose end ends the attempt.
type body struct {
	io.ReadCloser
	attempt *attempt
	ended   atomic.Bool // the attempt, by what was read
}

// wrap returns resp's body such that its end frees the slot. What was written to
// before (101 Switching Protocols) still can be.
func (a *attempt) wrap(resp *http.Response) io.ReadCloser {
	b := &a.body
	b.ReadCloser, b.attempt = resp.Body, a
	if resp.StatusCode == http.StatusSwitchingProtocols {
		if w, ok := resp.Body.(io.Writer); ok {
			a.switched = true
			return &writableBody{b, w}
		}
	}
	return b
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.attempt.grant.reads.Add(1)
	if err != nil {
		if err != io.EOF {
			err = b.attempt.explain(err)
		}
		b.attempt.end(Outcome{})
		b.ended.Store(true)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	if !b.ended.Load() {
		b.attempt.end(Outcome{})
	}
	return err
}

// writableBody is the body of a 101: the connection itself.
type writableBody struct {
	*body
	io.Writer
}

// CloseWrite ends the writing alone, where the connection can do that.
func (b *writableBody) CloseWrite() error {
	if c, ok := b.ReadCloser.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("politeness: CloseWrite: %w", errors.ErrUnsupported)
}
