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

// unread are the responses whose body nobody has begun to read: for these,
// OnResponseHeaders or redirect handlers are running. Each has its host's slot.
// A handler that visits another page of that host waits for a slot that it
// holds itself. So a request that comes meanwhile has such bodies read for
// colly, into memory, which frees their slots.
type unread struct {
	shared bool // requests to different hosts may wait for each other

	mu   sync.Mutex
	held map[*heldBody]struct{}
	n    atomic.Int32 // len(held)
}

// maxAhead is how much of a body is read ahead: more than colly's MaxBodySize,
// if nobody has raised that.
const maxAhead = 16 << 20

// patience is how long a handler may take until others think that it waits for
// them.
const patience = 100 * time.Millisecond

// keep puts a response under watch until somebody reads it.
func (u *unread) keep(resp *http.Response) {
	if resp.Body == nil || resp.Body == http.NoBody {
		return
	}
	b := &heldBody{ReadCloser: resp.Body, url: resp.Request.URL, list: u}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held == nil {
		u.held = make(map[*heldBody]struct{})
	}
	u.held[b] = struct{}{}
	u.n.Add(1)
	resp.Body = b
}

// release reports whether the body was under watch. It no longer is.
func (u *unread) release(b *heldBody) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.held[b]; !ok {
		return false
	}
	delete(u.held, b)
	u.n.Add(-1)
	return true
}

// clear frees the slots that a request for the URL might wait for in vain.
func (u *unread) clear(target *url.URL, limited bool) {
	if u.n.Load() == 0 {
		return
	}
	host := hostOf(target)
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
	url   *url.URL
	list  *unread
	alarm sync.Once
	own   bool // the reader came first, so nothing is read ahead

	mu    sync.Mutex // held while readAhead reads
	ahead bytes.Buffer
	err   error // after that
}

// readAhead reads the body into memory, unless somebody else has begun to read.
func (b *heldBody) readAhead() {
	b.mu.Lock() // before release: a Read that comes next waits for the end
	defer b.mu.Unlock()
	if !b.list.release(b) {
		return
	}
	if n, err := io.CopyN(&b.ahead, b.ReadCloser, maxAhead); n < maxAhead {
		b.err = err
	}
}

func (b *heldBody) Read(p []byte) (int, error) {
	if b.own { // nearly always: it costs neither a lock nor a fence
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
