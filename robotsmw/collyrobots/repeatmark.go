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

// A repeatMark marks a request that failed, that repeats another request, that
// checkCached has changed, or that is the HEAD of a Visit. It replaces the
// request's Body. Request.Retry and Request.Do first rewind the body, so colly
// calls Seek before each repeat, and an error from Seek ends the repeat. If the
// repeat has to wait, beforeRequest waits in the goroutine of the repeat. The
// body that the mark replaced is restored before the repeat is sent.
type repeatMark struct {
	body io.Reader // the body that the request had; nil means none

	// Of a request that failed:
	err        error     // the error that OnError received
	failedAt   time.Time // when the request failed
	final      bool      // whether a repeat by the program fails with err
	willRepeat bool      // whether the extension repeats the request
	until      time.Time // when a repeat by the program may be sent; zero if immediately
	lost       bool      // whether the request is counted in Counts.Lost

	// Of a request that is a repeat, or that may be repeated:
	byExtension   bool   // whether the extension itself repeats the request
	wait          func() // waits until the repeat may be sent or is canceled; nil means no wait
	checksVisited bool   // whether colly checks redirects for visited URLs; a Retry skips this check
	hops          int    // number of times that the Limiter has refused it after a redirect
	repeats       int    // number of times that the extension has repeated it because of RetryThrottled
	bypassesCache bool   // whether colly must not serve the request from its cache directory
	precedesGet   bool   // whether it is the HEAD of a Visit with CheckHead: see isHeadOfVisit

	header http.Header // the header before checkCached changed it; nil if it did not
}

// isRefusal reports whether err means that the extension refused a request, so
// that it was not sent.
func isRefusal(err error) bool {
	_, isDelayed := errors.AsType[*politeness.DelayError](err)
	return isDelayed ||
		isAny(err, robotsmw.ErrDisallowed, robotsmw.ErrUnreachable, robotsmw.ErrAddressRefused, ErrBypassed)
}

// isLost reports whether a request that failed with err, which is not a
// *robotsmw.DisallowedError, should be counted in Counts.Lost. It returns false
// if the program, its options or colly refused or aborted the request.
func isLost(err error) bool {
	_, isVisited := errors.AsType[*colly.AlreadyVisitedError](err)
	return !isVisited && !isAny(err, colly.ErrAbortedBeforeRequest, colly.ErrAbortedAfterHeaders, colly.ErrForbiddenDomain,
		colly.ErrForbiddenURL, colly.ErrNoURLFiltersMatch, robotsmw.ErrAddressRefused)
}

// isAny reports whether err is one of the targets.
func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// repeatMarkFor returns the mark of a request. If the request has no mark, the
// result contains only its body.
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

// restore sets the body of a request to the one that colly would have set
// without the mark.
func (mark *repeatMark) restore(req *http.Request) {
	plain, _ := http.NewRequest(http.MethodPost, "http://host.invalid/", mark.body) // no error is possible
	req.Body = plain.Body
	req.GetBody = plain.GetBody
	req.ContentLength = plain.ContentLength
}

// restoreContext returns the context that the request would have without the
// mark. If the extension repeats a request, colly treats the repeat like a
// Retry of the program, and would follow its redirects to visited URLs.
func (mark *repeatMark) restoreContext(ctx context.Context) context.Context {
	if !mark.byExtension || !mark.checksVisited {
		return ctx
	}
	mark.checksVisited = false // the next Retry is the program's
	return context.WithValue(ctx, colly.CheckRevisitKey, true)
}

// uncountLost subtracts a failed request from Counts.Lost, because the request
// is repeated.
func (x *Extension) uncountLost(mark *repeatMark) {
	if mark.lost {
		mark.lost = false
		x.tally(&x.counts.Lost, -1)
	}
}
