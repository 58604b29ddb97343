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

// repeatMark marks a request that failed, that repeats another request, or that
// checkCached has changed. It is the request's Body, instead of the body that
// the request had. Request.Retry and Request.Do make colly rewind the body
// before all else, so that Seek is called before each repeat, and can end it
// with an error. If the repeat has to wait, beforeRequest waits, in the
// goroutine of the repeat. Before the repeat is sent, it gets back its body.
type repeatMark struct {
	body io.Reader // the body that the request had; nil means none

	// Of a request that failed:
	err        error     // what OnError received
	failedAt   time.Time // when the request failed
	final      bool      // a repeat by the program fails with err
	willRepeat bool      // the extension repeats the request
	until      time.Time // until when each repeat would be refused; zero if a repeat may go at once
	wait       func()    // waits until then, or until the collector's Context ends
	lost       bool      // the request is counted in Counts.Lost

	// Of a request that is a repeat, or that may be repeated:
	byExtension   bool // the extension itself repeats the request
	checksVisited bool // colly would check redirects for visited URLs; a Retry skips this
	hops          int  // how many times the Limiter has refused it after a redirect
	repeats       int  // how many times the extension has repeated the request because of a 429 or 503
	bypassesCache bool // colly must not answer the request from its cache directory

	header http.Header // what the request had before checkCached changed it; nil if it did not
}

// isRefusal reports whether the extension has refused a request, so that it was
// not sent.
func isRefusal(err error) bool {
	_, isDelayed := errors.AsType[*politeness.DelayError](err)
	return isDelayed ||
		isAny(err, robotsmw.ErrDisallowed, robotsmw.ErrUnreachable, robotsmw.ErrAddressRefused, ErrBypassed)
}

// isLost reports whether err means that a request got no response, and neither
// the program nor its options nor colly stopped the request or its redirect.
func isLost(err error) bool {
	_, isVisited := errors.AsType[*colly.AlreadyVisitedError](err)
	return !isVisited && !isAny(err, colly.ErrAbortedBeforeRequest, colly.ErrAbortedAfterHeaders, colly.ErrForbiddenDomain,
		colly.ErrForbiddenURL, colly.ErrNoURLFiltersMatch, robotsmw.ErrAddressRefused)
}

// isAny reports whether err is one of the targets.
func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// repeatMarkFor returns the mark of a request. If the request has none, the
// result has only its body.
func repeatMarkFor(r *colly.Request) repeatMark {
	if mark, ok := r.Body.(*repeatMark); ok {
		return *mark
	}
	return repeatMark{body: r.Body}
}

// Seek is called before a repeat. An error ends the repeat.
func (mark *repeatMark) Seek(offset int64, whence int) (int64, error) {
	if mark.final {
		return 0, mark.err
	}
	if !mark.until.IsZero() && time.Since(mark.failedAt) < immediateRepeat {
		return 0, mark.err
	}
	if s, ok := mark.body.(io.Seeker); ok {
		return s.Seek(offset, whence)
	} else if mark.body != nil {
		return 0, colly.ErrRetryBodyUnseekable
	}
	return 0, nil
}

func (mark *repeatMark) Read(p []byte) (int, error) {
	if mark.body == nil {
		return 0, io.EOF
	}
	return mark.body.Read(p)
}

// Close exists so that http.NewRequest does not wrap the body.
func (mark *repeatMark) Close() error { return nil }

// restore gives a request that colly made the body that it would have without
// the mark.
func (mark *repeatMark) restore(req *http.Request) {
	plain, _ := http.NewRequest(http.MethodPost, "http://host.invalid/", mark.body) // no error is possible
	req.Body = plain.Body
	req.GetBody = plain.GetBody
	req.ContentLength = plain.ContentLength
}

// restoreContext returns the context that the request would have without the
// mark. If the extension repeats a request, colly treats the repeat as a Retry
// of the program, whose redirects may lead to visited URLs.
func (mark *repeatMark) restoreContext(ctx context.Context) context.Context {
	if !mark.byExtension || !mark.checksVisited {
		return ctx
	}
	mark.checksVisited = false // the next Retry is the program's
	return context.WithValue(ctx, colly.CheckRevisitKey, true)
}

// uncountLost is called when a request that failed is repeated, because it is
// not lost yet.
func (x *Extension) uncountLost(mark *repeatMark) {
	if mark.lost {
		mark.lost = false
		x.tally(&x.counts.Lost, -1)
	}
}
