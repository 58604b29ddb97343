package collyrobots

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
)

// readAheadAfter is the time after which an unread body is read ahead. Reading
// ahead prevents a deadlock: an OnResponseHeaders or redirect handler may be
// waiting for another page, which waits for the slot of this response.
const readAheadAfter = 100 * time.Millisecond

// maxReadAhead is the maximum number of bytes of a body that are read ahead. It
// is larger than colly's default MaxBodySize.
const maxReadAhead = 16 << 20

// A readAheadBody is a response's body. If the caller neither reads nor closes
// it within readAheadAfter, it is read into memory, which releases the slot of
// its LimitRule and its host.
type readAheadBody struct {
	io.ReadCloser
	timer     *time.Timer // starts reading ahead
	isStopped bool        // whether the timer was stopped before reading ahead started

	// Results of reading ahead.
	done  sync.WaitGroup // waits for the end of reading ahead
	ahead bytes.Buffer   // bytes that Read has not returned yet
	err   error          // the error that ended reading ahead; nil at maxReadAhead
}

// newReadAheadBody returns a body that starts reading ahead after
// readAheadAfter, unless it is read or closed first. If the body is longer than
// maxReadAhead, the remainder can be read until the context attempt ends, which
// closes the body.
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

// stopTimer stops the timer. It returns false if reading ahead has started.
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
