package collyrobots

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
)

// patience is how long a response may go unread. After that, its body is read
// ahead: an OnResponseHeaders or redirect handler that is still running may
// itself be waiting for another page, which waits for the slot of this one.
const patience = 100 * time.Millisecond

// maxAhead is how many bytes of a body are read ahead at most. It is more than
// colly's default MaxBodySize.
const maxAhead = 16 << 20

// heldBody is a response's body. If nobody begins to read or closes it soon, it
// is read into memory, which frees the slot of its host.
type heldBody struct {
	io.ReadCloser
	alarm *time.Timer    // begins to read ahead, unless a Read or Close stops it first
	own   bool           // it was stopped
	done  sync.WaitGroup // for the end of reading ahead
	ahead bytes.Buffer
	err   error // the error that a Read gets after what was read ahead
}

// hold returns a body in place of that of a response. The response's attempt
// ends with the context.
func hold(body io.ReadCloser, attempt context.Context) *heldBody {
	b := &heldBody{ReadCloser: body}
	b.done.Add(1)
	b.alarm = time.AfterFunc(patience, func() {
		defer b.done.Done()
		var n int64
		if n, b.err = io.CopyN(&b.ahead, body, maxAhead); n == maxAhead {
			context.AfterFunc(attempt, func() { body.Close() })
		}
	})
	return b
}

// mine reports whether nothing is read ahead.
func (b *heldBody) mine() bool {
	b.own = b.own || b.alarm.Stop()
	return b.own
}

func (b *heldBody) Read(p []byte) (int, error) {
	if !b.mine() {
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

func (b *heldBody) Close() error {
	b.mine()
	return b.ReadCloser.Close()
}
