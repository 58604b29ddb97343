// Package fetch asks a server for a robots.txt: one question and its decoded
// answer. It finds out whether the site or a bot wall has answered. Following
// redirects and making a record from the answer are left to package load.
//
// It reads and keeps little of an answer, because a server may be hostile.
package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// longestLook limits the time for reading the page of a 4xx. The page is read
// only for marks of a bot wall. If there are none, the status decides.
const longestLook = 5 * time.Second

// A Client asks servers. It is safe for concurrent use.
type Client struct {
	Base      http.RoundTripper
	UserAgent string
	Timeout   time.Duration // for each question, not counting its wait for a slot
}

// A Question is one request for a robots.txt.
type Question struct {
	Context context.Context // when it ends, the question ends too; nil means the question has no such limit

	URL  *url.URL
	Host string // Host header; "" means the URL's own

	Elsewhere bool // another host redirects here: the question waits its turn

	// The validators of the copy at hand; "" means none.
	ETag         string
	LastModified string

	// Expect is called when the question has to wait for a slot, and with nil
	// when it no longer waits. May be nil.
	Expect func(*politeness.DelayError)

	// Check is called when the question may start, if it had to ask for a slot.
	// After an error nothing is sent, and Ask returns the error. Check must not
	// wait. May be nil.
	Check func() error

	// Answered is called at the end. It gets the response, the part of the body
	// that was read, and the error that Ask returns. If Ask panics, the error
	// states the value of the panic. The response's Body is closed. Without an
	// answer, the response has only its Request. The part of the body is
	// decoded if the status is 2xx, or 4xx except 429. Otherwise it is as
	// received. May be nil.
	Answered func(resp *http.Response, body []byte, err error)
}

// Ask sends one request and reads as much of the answer as it needs. The
// request has no cookie, header or context value from the caller of a Checker.
// Timeout runs from the end of the wait for a slot, or from the start if there
// is no wait. If there is an error, the Answer has what came before the error.
func (c *Client) Ask(q Question) (ans Answer, err error) {
	parent := q.Context
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	timeout, expect := c.Timeout, q.Expect
	if expect == nil {
		expect = func(*politeness.DelayError) {}
	}
	timer := time.AfterFunc(timeout, func() {
		cancel(fmt.Errorf("no whole robots.txt within %v", timeout))
	})
	defer timer.Stop()
	defer expect(nil)
	if q.Elsewhere {
		ctx = politeness.WithCrawlDelay(ctx, politeness.ExemptInTurn)
	} else {
		ctx = politeness.WithCrawlDelay(ctx, politeness.Exempt)
	}
	ctx = politeness.WithTrace(ctx, &politeness.Trace{
		Queued: func(until time.Time, why politeness.Reason) {
			timer.Stop()
			host, _ := politeness.HostKey(ctx, q.URL)
			expect(&politeness.DelayError{Host: host, Until: until, Reason: why})
		},
		Granted: func(time.Time) { expect(nil); timer.Reset(timeout) },
	})
	if q.Check != nil {
		ctx = politeness.WithCheck(ctx, func(context.Context) error { return q.Check() })
	}
	req := (&http.Request{
		Method: http.MethodGet, URL: q.URL, Host: q.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"User-Agent": {c.UserAgent},
			"Accept":     {"text/plain, */*;q=0.5"},
			// http.Transport would send this by itself. But then it would also
			// decode the body, and nothing would limit the time for this.
			"Accept-Encoding": {"gzip"},
		},
	}).WithContext(ctx)
	if q.ETag != "" {
		req.Header.Set("If-None-Match", q.ETag)
		ans.Conditional = true
	}
	if q.LastModified != "" {
		req.Header.Set("If-Modified-Since", q.LastModified)
		ans.Conditional = true
	}

	var resp *http.Response
	var begin []byte // the beginning of the body, as far as needed
	var short bytes.Buffer
	if q.Answered != nil {
		defer func() {
			p := recover()
			if p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
			told := &http.Response{Request: req}
			if resp != nil {
				*told = *resp
				told.Request = req
			}
			if begin == nil {
				begin = short.Bytes()
			}
			q.Answered(told, begin, err)
			if p != nil {
				panic(p)
			}
		}()
	}
	resp, err = c.Base.RoundTrip(req)
	if err != nil {
		return ans, causeOf(ctx, err)
	}
	if resp == nil {
		return ans, errors.New("the transport returned neither a response nor an error")
	}
	ans.Status, ans.Header = resp.StatusCode, essence(resp.Header)
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	switch {
	case ans.Status >= 200 && ans.Status <= 299:
		// One byte more than MaxSize tells the parser that the file goes on.
		ans.Body, err = read(ctx, resp, robotstxt.MaxSize+1)
		begin = ans.Body
	case ans.Status >= 400 && ans.Status <= 499 && ans.Status != http.StatusTooManyRequests:
		timer.Reset(min(timeout, longestLook))
		begin, _ = read(ctx, resp, refusal.Window) // an error does not matter: the bytes before it are enough
	case ans.Status >= 200 && resp.ContentLength >= 0 && resp.ContentLength <= 2<<10:
		// If a short body is read to its end, the connection can be reused. A
		// 1xx is not read: the body of a 101 is the connection itself, which
		// has no end and ignores the context.
		io.CopyN(&short, resp.Body, resp.ContentLength+1)
	}
	ans.Refusal = refusalOf(resp, begin)
	if err != nil && ans.Refusal == "" {
		return ans, causeOf(ctx, fmt.Errorf("reading robots.txt: %w", err))
	}
	return ans, nil
}

// read returns the decoded body, cut to the given number of bytes. If there is
// an error, it returns what came before the error.
func read(ctx context.Context, resp *http.Response, most int64) ([]byte, error) {
	body, err := decodedBody(ctx, resp)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(body, most))
}

// causeOf returns why a request failed: the cause of ctx's end if ctx has
// ended, or else err.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
