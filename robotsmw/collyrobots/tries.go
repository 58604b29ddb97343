package collyrobots

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// The type "tries" remembers the latest requests that failed, because OnError
// handlers may repeat any request that fails. Request.Retry makes the same
// request again, with the same header map. If that request would be refused
// again for the same reason, the extension lets it fail and sends nothing. From
// then on, Request.Retry fails for the request.
type tries struct {
	decide func(context.Context, *url.URL) error
	count  *counters

	mu    sync.Mutex
	known map[tryKey]*try
	last  [maxTries]*try
	next  int
	n     atomic.Int32 // len(known)
}

// maxTries is how many failures are remembered. A Retry usually comes soon
// after its failure.
const maxTries = 256

type tryKey struct {
	header      uintptr // the header map's address; no other map gets it while the try has this map
	method, url string
}

type try struct {
	key    tryKey
	header http.Header
	err    error
	times  int  // how many times in a row nothing was sent
	lost   bool // counted in Counts.Lost
}

func keyOf(header http.Header, method string, u *url.URL) tryKey {
	if u.User != nil { // http.Client then sends a copy of the header
		return tryKey{0, method, u.String()}
	}
	return tryKey{reflect.ValueOf(header).Pointer(), method, u.String()}
}

func (t *tries) find(header http.Header, method string, u *url.URL) *try {
	return t.known[keyOf(header, method, u)]
}

// The method "failed" is called when a request that colly made has failed. The
// bool says whether the last hop of the request was sent.
func (t *tries) failed(root *http.Request, sent bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.find(root.Header, root.Method, root.URL)
	if e == nil {
		e = &try{key: keyOf(root.Header, root.Method, root.URL), header: root.Header}
		if t.known == nil {
			t.known = make(map[tryKey]*try)
		}
		t.forget(t.last[t.next])
		t.known[e.key], t.last[t.next] = e, e
		t.next = (t.next + 1) % maxTries
		t.n.Store(int32(len(t.known)))
	}
	e.err = err
	if !e.lost && !errors.Is(err, colly.ErrRobotsTxtBlocked) {
		e.lost = true
		t.count.lost.Add(1)
	}
	if e.times++; sent {
		e.times = 0
	}
	if e.times >= 3 {
		// Only a clone without the extension's callbacks gets here, because
		// endRetries does not run for it. Without its scheme, the request
		// cannot be repeated.
		root.URL.Scheme = ""
	}
}

// succeeded is called when a request has succeeded. It forgets that the request
// failed before.
func (t *tries) succeeded(root *http.Request) {
	if t.n.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(t.find(root.Header, root.Method, root.URL))
}

func (t *tries) forget(e *try) {
	if e != nil && t.known[e.key] == e {
		delete(t.known, e.key)
		t.n.Store(int32(len(t.known)))
	}
}

// The method "begins" is called before a request is sent. It returns the error
// with which the request would be refused again. It returns nil if the request
// has not been refused before or might succeed now.
func (t *tries) begins(req *http.Request) error {
	err := t.refuses(req.Context(), req.Header, req.Method, req.URL)
	if err != nil || t.n.Load() == 0 {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.find(req.Header, req.Method, req.URL); e != nil {
		t.isNotLost(e)
	}
	return nil
}

func (t *tries) refuses(ctx context.Context, header http.Header, method string, u *url.URL) error {
	if t.n.Load() == 0 || ctx.Err() != nil {
		return nil
	}
	t.mu.Lock()
	e := t.find(header, method, u)
	if e == nil {
		t.mu.Unlock()
		return nil
	}
	err := e.err
	t.mu.Unlock()
	var same error
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		same = t.decide(ctx, blocked.Decision.URL)
	} else if delay, ok := errors.AsType[*politeness.DelayError](err); !ok {
		return nil
	} else if time.Now().Before(delay.Until) {
		same = err
	}
	if same == nil {
		t.mu.Lock()
		e.times = 0
		t.mu.Unlock()
	}
	return same
}

// endRetries makes Request.Retry fail for a request that is about to be refused
// again.
func (t *tries) endRetries(ctx context.Context, r *colly.Request) {
	if t.n.Load() == 0 {
		return
	}
	refused := t.refuses(ctx, *r.Headers, r.Method, r.URL) != nil
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.find(*r.Headers, r.Method, r.URL); refused || e != nil && e.times >= 2 {
		r.Body = notAgain{} // affects only Retry: colly has already taken this request's body
	}
}

// notAgain is a body that cannot be sent twice. With it, Request.Retry returns
// colly.ErrRetryBodyUnseekable.
type notAgain struct{}

func (notAgain) Read([]byte) (int, error) { return 0, io.EOF }

// putBack notes that the extension itself will repeat a request that failed.
func (t *tries) putBack(r *colly.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.find(*r.Headers, r.Method, r.URL); e != nil {
		t.isNotLost(e)
	} else {
		t.count.lost.Add(-1) // the failure is no longer remembered
	}
}

func (t *tries) isNotLost(e *try) {
	if e.lost {
		e.lost = false
		t.count.lost.Add(-1)
	}
}
