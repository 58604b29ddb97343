package collyrobots

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// The type "unread" has the responses whose body nobody has begun to read,
// because OnResponseHeaders or redirect handlers are still running for them.
// Each of these responses holds its host's slot. If its handler visits another
// page of the host, the new request waits for that slot. So when a new request
// comes, the extension reads the bodies into memory for colly. This frees the
// slots.
type unread struct {
	shared bool // whether requests to different hosts may wait for each other

	mu   sync.Mutex
	held map[*heldBody]struct{}
	n    atomic.Int32 // len(held)
}

// maxAhead is how many bytes of a body are read ahead at most. It is more than
// colly's default MaxBodySize.
const maxAhead = 16 << 20

// patience limits how long a response is held while requests to other hosts
// wait. After that time, the body is read ahead, because the handler of the
// response may itself be waiting for one of these requests.
const patience = 100 * time.Millisecond

// The method "keep" watches a response until somebody reads or closes its body,
// or until readAhead reads the body into memory. It wraps the body in b, which
// is a zero heldBody.
func (u *unread) keep(resp *http.Response, b *heldBody) {
	if resp.Body == nil || resp.Body == http.NoBody {
		return
	}
	b.ReadCloser, b.url, b.list = resp.Body, resp.Request.URL, u
	resp.Body = b
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held == nil {
		u.held = make(map[*heldBody]struct{})
	}
	u.held[b] = struct{}{}
	u.n.Store(int32(len(u.held)))
}

// release stops watching a body. It reports whether the body was watched.
func (u *unread) release(b *heldBody) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, ok := u.held[b]
	delete(u.held, b)
	u.n.Store(int32(len(u.held)))
	return ok
}

// The method "clear" is called before a request for the URL "target". It frees
// the slots that this request might otherwise never get.
func (u *unread) clear(target *url.URL, h *hub) {
	if u.n.Load() == 0 {
		return
	}
	host := hostOf(target)
	_, limited := h.ruleFor(target.Host)
	u.mu.Lock()
	defer u.mu.Unlock()
	for b := range u.held {
		switch {
		case b.url.Host == target.Host || hostOf(b.url) == host:
			go b.readAhead()
		case u.shared || limited:
			b.alarm.Do(func() { time.AfterFunc(patience, b.readAhead) })
		}
	}
}

func hostOf(u *url.URL) string {
	host, err := politeness.HostKey(context.Background(), u)
	if err != nil {
		return u.Host
	}
	return host
}

type heldBody struct {
	io.ReadCloser
	attempt context.Context // ends at the latest when the attempt may take no longer
	url     *url.URL
	list    *unread
	alarm   sync.Once
	own     bool // the reader came first, so nothing is read ahead

	mu    sync.Mutex // held while readAhead reads
	ahead bytes.Buffer
	err   error // the error that a Read gets after the data that was read ahead
}

// readAhead reads the body into memory, unless somebody has already begun to
// read it.
func (b *heldBody) readAhead() {
	// Lock before release() is called, so that a Read waits for the end of
	// readAhead.
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.list.release(b) {
		return
	}
	n, err := io.CopyN(&b.ahead, b.ReadCloser, maxAhead)
	if n < maxAhead {
		b.err = err
	} else {
		context.AfterFunc(b.attempt, func() { b.ReadCloser.Close() })
	}
}

func (b *heldBody) Read(p []byte) (int, error) {
	if b.own { // the usual case, which needs no lock
		return b.ReadCloser.Read(p)
	}
	if b.list.release(b) {
		b.own = true
		return b.ReadCloser.Read(p)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ahead.Len() > 0:
		return b.ahead.Read(p)
	case b.err != nil:
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
}

func (b *heldBody) Close() error {
	b.list.release(b)
	return b.ReadCloser.Close()
}
