package collyrobots

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// failedBody marks a request that failed. It stands in the request's Body, in
// the place of the body that the request had. Request.Retry and Request.Do make
// colly rewind the body before all else, so failedBody hears of each repeat.
// Seek then ends the repeat, lets it wait, or lets it go on. When a repeat is
// sent, the guard gives it the body that it had.
type failedBody struct {
	body    io.Reader // the body that the request had; nil means none
	own     bool      // the extension itself repeats the request
	err     error     // what OnError was told; nil if own
	at      time.Time // when the request failed
	final   bool      // a rule refused the request, so no repeat can succeed
	until   time.Time // until when each repeat would be refused; zero if a repeat may go at once
	wait    func(until time.Time) error
	lost    bool // the request is counted in Counts.Lost
	repeats int  // how many times the extension has repeated the request because of a 429 or 503
}

// newFailedBody marks a request that failed with err. The function wait is
// called before a repeat of a request that is not due yet.
func newFailedBody(r *colly.Request, err error, wait func(until time.Time) error) *failedBody {
	was := markOf(r)
	b := &failedBody{body: was.body, err: err, at: time.Now(), wait: wait, repeats: was.repeats}
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		b.final = !errors.Is(err, robotsmw.ErrUnreachable)
		b.until = cmp.Or(blocked.Decision.NextTry, b.at)
		return b
	}
	if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
		b.until = delay.Until
	}
	b.lost = isLost(err)
	return b
}

// isLost reports whether err means that a request got no answer. It does not if
// the program or colly itself stopped the request or its redirect.
func isLost(err error) bool {
	for _, own := range []error{colly.ErrAbortedBeforeRequest, colly.ErrAbortedAfterHeaders, colly.ErrForbiddenDomain,
		colly.ErrForbiddenURL, colly.ErrNoURLFiltersMatch} {
		if errors.Is(err, own) {
			return false
		}
	}
	_, visited := errors.AsType[*colly.AlreadyVisitedError](err)
	return !visited
}

// markOf returns the mark of a request. If the request has none, the result has
// only its body.
func markOf(r *colly.Request) failedBody {
	if b, ok := r.Body.(*failedBody); ok {
		return *b
	}
	return failedBody{body: r.Body}
}

func (b *failedBody) Seek(offset int64, whence int) (int64, error) {
	if b.final {
		return 0, b.err
	}
	if !b.until.IsZero() {
		if time.Since(b.at) < atOnce {
			return 0, b.err
		}
		if err := b.wait(b.until); err != nil {
			return 0, err
		}
	}
	if s, ok := b.body.(io.Seeker); ok {
		return s.Seek(offset, whence)
	} else if b.body != nil {
		return 0, colly.ErrRetryBodyUnseekable
	}
	return 0, nil
}

func (b *failedBody) Read(p []byte) (int, error) {
	if b.body == nil {
		return 0, io.EOF
	}
	return b.body.Read(p)
}

// Close exists so that http.NewRequest does not wrap the body.
func (b *failedBody) Close() error { return nil }

// restore gives a request that colly made the body that it would have without
// the mark.
func (b *failedBody) restore(req *http.Request) error {
	plain, err := http.NewRequest(req.Method, "http://host.invalid/", b.body)
	if err == nil {
		req.Body, req.GetBody, req.ContentLength = plain.Body, plain.GetBody, plain.ContentLength
	}
	return err
}
