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
	alarm   *time.Timer    // begins to read ahead, unless a Read or Close stops it first
	stopped bool           // the alarm was stopped
	done    sync.WaitGroup // for the end of reading ahead
	ahead   bytes.Buffer
	err     error // the error that a Read gets after what was read ahead
}

// newReadAheadBody returns a body that replaces that of a response. The
// response's attempt ends with the context.
func newReadAheadBody(body io.ReadCloser, attempt context.Context) *readAheadBody {
	b := &readAheadBody{ReadCloser: body}
	b.done.Add(1)
	b.alarm = time.AfterFunc(readAheadAfter, func() {
		defer b.done.Done()
		n, err := io.CopyN(&b.ahead, body, maxReadAhead)
		b.err = err
		if n == maxReadAhead {
			context.AfterFunc(attempt, func() { body.Close() })
		}
	})
	return b
}

// stopAlarm reports whether reading ahead has not begun. It will not begin
// after that.
func (b *readAheadBody) stopAlarm() bool {
	b.stopped = b.stopped || b.alarm.Stop()
	return b.stopped
}

func (b *readAheadBody) Read(p []byte) (int, error) {
	if !b.stopAlarm() {
		b.done.Wait()
		if b.ahead.Len() > 0 {
			return b.ahead.Read(p)
		}
		if b.err != nil {
			return 0, b.err
		}
	}
	return b.ReadCloser.Read(p)
}

func (b *readAheadBody) Close() error {
	b.stopAlarm()
	return b.ReadCloser.Close()
}
