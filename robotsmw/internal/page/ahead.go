package page

import (
	"context"
	"sync/atomic"
	"time"
)

// maxAhead limits the bytes that are read ahead, counted before decoding.
const maxAhead = 64 << 10

// An aheadBody is a Body whose beginning is read before the caller reads it.
// Its Read returns what was read ahead, and then the remainder.
type aheadBody struct {
	*Body
	data    []byte
	err     error          // the error that ended reading ahead; returned after data
	reading chan aheadRead // receives the result of a read that is not finished; nil if there is none
	closed  atomic.Bool
}

// An aheadRead is the result of a call of Body.Read.
type aheadRead struct {
	data []byte
	err  error
}

// readAhead reads b up to the end of the page's head, within limits of time and
// size. If the time limit or ctx ends during a read, the read continues until
// data arrives or the caller closes the body. The caller's next Read waits for
// the result of that read.
func readAhead(ctx context.Context, b *Body, limit time.Duration) *aheadBody {
	a := &aheadBody{Body: b}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for len(a.data) < maxAhead && a.err == nil && !b.headDone() {
		done := make(chan aheadRead, 1)
		p := make([]byte, min(4096, maxAhead-len(a.data)))
		go func() {
			n, err := b.Read(p)
			n = min(max(n, 0), len(p)) // a faulty body may return any number
			done <- aheadRead{p[:n], err}
		}()
		select {
		case r := <-done:
			a.data, a.err = append(a.data, r.data...), r.err
			continue
		case <-timer.C:
		case <-ctx.Done():
		}
		a.reading = done
		break
	}
	return a
}

// Close closes the body immediately. Data that was read ahead is discarded.
func (a *aheadBody) Close() error {
	a.closed.Store(true)
	return a.Body.Close()
}

func (a *aheadBody) Read(p []byte) (n int, err error) {
	if a.closed.Load() {
		return a.Body.Read(p)
	}
	if len(a.data) == 0 && a.reading != nil {
		r := <-a.reading
		a.data = r.data
		a.err = r.err
		a.reading = nil
	}
	if len(a.data) > 0 {
		n = copy(p, a.data)
		a.data = a.data[n:]
		return n, nil
	}
	if a.err != nil {
		return 0, a.err
	}
	return a.Body.Read(p)
}

// headDone reports whether the page's head has been read.
func (b *Body) headDone() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	// The body is decoded again only when it has grown by a quarter, because it
	// may arrive byte by byte.
	hasGrown := len(b.coded) >= b.decoded+b.decoded/4
	if b.decode != nil && hasGrown {
		b.scanCoded()
	}
	return b.scanner.HeadDone() || b.scanner.Done()
}
