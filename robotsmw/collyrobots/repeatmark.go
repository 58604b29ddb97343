package collyrobots

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// repeatMark marks a request that failed. It stands in the request's Body, in
// the place of the body that the request had. Request.Retry and Request.Do make
// colly rewind the body before all else, so repeatMark is notified of each
// repeat by Seek, which may end it. If the repeat has to wait, beforeRequest
// waits, in the repeat's own goroutine. When the repeat is sent, the guard
// gives it the body that it had.
type repeatMark struct {
	body       io.Reader   // the body that the request had; nil means none
	own        bool        // the extension itself repeats the request
	err        error       // what OnError received; nil if own
	at         time.Time   // when the request failed
	final      bool        // a rule or RefuseAddress refused the request, or the extension repeats it
	willRepeat bool        // the extension repeats the request
	until      time.Time   // until when each repeat would be refused; zero if a repeat may go at once
	wait       func()      // waits until then, or until the collector's Context ends; nil if own
	lost       bool        // the request is counted in Counts.Lost
	hops       int         // how many times the Limiter has refused it after a redirect
	checked    bool        // colly would check redirects for visited URLs; a Retry skips this
	repeats    int         // how many times the extension has repeated the request because of a 429 or 503
	header     http.Header // what the request had before checkCached changed it; nil if it did not
}

// isRefusal reports whether the extension has refused a request, so that it was
// not sent.
func isRefusal(err error) bool {
	_, delayed := errors.AsType[*politeness.DelayError](err)
	return delayed || errors.Is(err, robotsmw.ErrDisallowed) || errors.Is(err, robotsmw.ErrUnreachable) ||
		errors.Is(err, robotsmw.ErrAddressRefused) || errors.Is(err, ErrBypassed)
}

// isLost reports whether err means that a request got no answer. It does not if
// the program, its options or colly itself stopped the request or its redirect.
func isLost(err error) bool {
	own := []error{colly.ErrAbortedBeforeRequest, colly.ErrAbortedAfterHeaders, colly.ErrForbiddenDomain,
		colly.ErrForbiddenURL, colly.ErrNoURLFiltersMatch, robotsmw.ErrAddressRefused}
	_, visited := errors.AsType[*colly.AlreadyVisitedError](err)
	return !visited && !slices.ContainsFunc(own, func(e error) bool { return errors.Is(err, e) })
}

// repeatMarkFor returns the mark of a request. If the request has none, the
// result has only its body.
func repeatMarkFor(r *colly.Request) repeatMark {
	if b, ok := r.Body.(*repeatMark); ok {
		return *b
	}
	return repeatMark{body: r.Body}
}

func (b *repeatMark) Seek(offset int64, whence int) (int64, error) {
	if b.final {
		return 0, b.err
	}
	if !b.until.IsZero() && time.Since(b.at) < immediateRepeat {
		return 0, b.err
	}
	if s, ok := b.body.(io.Seeker); ok {
		return s.Seek(offset, whence)
	} else if b.body != nil {
		return 0, colly.ErrRetryBodyUnseekable
	}
	return 0, nil
}

func (b *repeatMark) Read(p []byte) (int, error) {
	if b.body == nil {
		return 0, io.EOF
	}
	return b.body.Read(p)
}

// Close exists so that http.NewRequest does not wrap the body.
func (b *repeatMark) Close() error { return nil }

// restore gives a request that colly made the body that it would have without
// the mark.
func (b *repeatMark) restore(req *http.Request) {
	plain, _ := http.NewRequest(http.MethodPost, "http://host.invalid/", b.body) // no error is possible
	req.Body, req.GetBody, req.ContentLength = plain.Body, plain.GetBody, plain.ContentLength
}

// restoreContext returns the context that the request would have without the
// mark. If the extension repeats it, colly takes it for a Retry of the
// program's, for which it does not check redirects for visited URLs.
func (b *repeatMark) restoreContext(ctx context.Context) context.Context {
	if !b.own || !b.checked {
		return ctx
	}
	b.checked = false // a Retry of the answer is the program's
	return context.WithValue(ctx, colly.CheckRevisitKey, true)
}

// uncountLost is called when a request that failed is repeated, because it is
// not lost yet.
func (x *Extension) uncountLost(b *repeatMark) {
	if b.lost {
		b.lost = false
		x.tally(&x.counts.Lost, -1)
	}
}
