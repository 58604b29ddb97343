package collyrobots

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
)

// readAheadAfter is how long a response may go unread. After that, its body is
// read ahead: an OnResponseHeaders or redirect handler that is still running
// may itself be waiting for another page, which waits for the slot of this one.
const readAheadAfter = 100 * time.Millisecond

// maxReadAhead is how many bytes of a body are read ahead at most. It is more
// than colly's default MaxBodySize.
const maxReadAhead = 16 << 20

// readAheadBody is a response's body. Unless the caller soon begins to read it
// or closes it, it is read into memory, which frees the slot of its host.
type readAheadBody struct {
	io.ReadCloser
	timer     *time.Timer // begins to read ahead
	isStopped bool        // the timer was stopped before that

	// These fields are set by reading ahead.
	done  sync.WaitGroup // for the end of reading ahead
	ahead bytes.Buffer   // what has not been returned by Read yet
	err   error          // the error that ended reading ahead; nil at maxReadAhead
}

// newReadAheadBody returns a body that replaces that of a response. The
// response's attempt ends with the context.
func newReadAheadBody(body io.ReadCloser, attempt context.Context) *readAheadBody {
	b := &readAheadBody{ReadCloser: body}
	b.done.Add(1)
	b.timer = time.AfterFunc(readAheadAfter, func() {
		defer b.done.Done()
		n, err := io.CopyN(&b.ahead, body, maxReadAhead)
		b.err = err
		if n == maxReadAhead {
			context.AfterFunc(attempt, func() { body.Close() })
		}
	})
	return b
}

// stopTimer stops the timer. It returns false if reading ahead has begun.
func (b *readAheadBody) stopTimer() bool {
	if !b.isStopped {
		b.isStopped = b.timer.Stop()
	}
	return b.isStopped
}

// Read returns what was read ahead, and then the error that ended reading
// ahead. If nothing was read ahead, or the body is longer than maxReadAhead,
// Read reads the body itself.
func (b *readAheadBody) Read(p []byte) (int, error) {
	if b.stopTimer() {
		return b.ReadCloser.Read(p)
	}
	b.done.Wait()
	switch {
	case b.ahead.Len() > 0:
		return b.ahead.Read(p)
	case b.err != nil:
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
}

func (b *readAheadBody) Close() error {
	b.stopTimer()
	return b.ReadCloser.Close()
}
