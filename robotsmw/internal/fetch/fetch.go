// Package fetch asks a server for a robots.txt: one question, and its answer,
// decoded. It tells the site's answer from a wall's. It follows no redirect and
// knows no records: what the site's answer means is for package load to say.
//
// It keeps little of an answer, and reads little of it: a server may be
// hostile.
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

// longestLook is how long the page of an error may take, whose status decides
// if it has no mark of a wall.
const longestLook = 5 * time.Second

// A Client asks. It is safe for concurrent use.
type Client struct {
	Base      http.RoundTripper
	UserAgent string
	Timeout   time.Duration // of each question, without its wait for a slot
}

// A Question is one request for a robots.txt.
type Question struct {
	Context context.Context // nil: it is not given up

	URL  *url.URL
	Host string // to ask with; "": the URL's own

	// The validators of the copy at hand; "": none.
	ETag         string
	LastModified string

	// Expect is told when the question's slot is due, and the zero time when
	// it waits no more. Nil: nobody is.
	Expect func(until time.Time)

	// Granted is told when the question has its slot, if it had to ask for one.
	// An error takes the question back. Nil: nobody is.
	Granted func() error

	// Answered is told what the answer is made of: the response, whose Body is
	// closed, what was read of that, decoded but for the page of an error that
	// is not 4xx, and why there is no answer, or no whole one. Nil: nobody is.
	Answered func(resp *http.Response, body []byte, err error)
}

// Ask sends one request and reads its body if that is a robots.txt. The
// request is the same whoever asks: no cookie, no header of a caller's, no
// context of a caller's. Its time runs from the end of its wait for a slot.
// With an error, the Answer has what came before it.
func (c *Client) Ask(q Question) (ans Answer, err error) {
	parent := q.Context
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	timeout, expect := c.Timeout, q.Expect
	if expect == nil {
		expect = func(time.Time) {}
	}
	timer := time.AfterFunc(timeout, func() {
		cancel(fmt.Errorf("no whole robots.txt within %v", timeout))
	})
	defer timer.Stop()
	defer expect(time.Time{})
	ctx = politeness.WithCrawlDelay(ctx, politeness.Exempt)
	ctx = politeness.WithTrace(ctx, &politeness.Trace{
		Queued: func(until time.Time, _ politeness.Reason) { timer.Stop(); expect(until) },
		Granted: func(time.Time) {
			expect(time.Time{})
			if q.Granted != nil {
				if err := q.Granted(); err != nil {
					cancel(err)
				}
			}
			timer.Reset(timeout)
		},
	})
	req := (&http.Request{
		Method: http.MethodGet, URL: q.URL, Host: q.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"User-Agent": {c.UserAgent},
			"Accept":     {"text/plain, */*;q=0.5"},
			// As http.Transport asks by itself; but then it undoes the coding,
			// too, and takes for it what time it wants.
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
	var begin []byte // of the body, as far as it decides
	var short bytes.Buffer
	if q.Answered != nil {
		defer func() {
			told := &http.Response{Request: req}
			if resp != nil {
				*told = *resp
				told.Request = req
			}
			if begin == nil {
				begin = short.Bytes()
			}
			q.Answered(told, begin, err)
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
		// One byte more tells the parser that the file goes on.
		ans.Body, err = read(ctx, resp, robotstxt.MaxSize+1)
		begin = ans.Body
	case ans.Status >= 400 && ans.Status <= 499 && ans.Status != http.StatusTooManyRequests:
		timer.Reset(min(timeout, longestLook))
		begin, _ = read(ctx, resp, refusal.Window) // as much of the page as can be had
	case ans.Status >= 200 && resp.ContentLength >= 0 && resp.ContentLength <= 2<<10:
		// A short body read to its end leaves the connection to the pages. The
		// body of a 101 is the connection itself, which has no end and obeys no
		// context.
		io.CopyN(&short, resp.Body, resp.ContentLength+1)
	}
	ans.Refusal = refusalOf(resp, begin)
	if err != nil && ans.Refusal == "" {
		return ans, causeOf(ctx, fmt.Errorf("reading robots.txt: %w", err))
	}
	return ans, nil
}

// read reads most bytes of a decoded body at most. With an error, it returns
// what came before it.
func read(ctx context.Context, resp *http.Response, most int64) ([]byte, error) {
	body, err := decoded(ctx, resp)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(body, most))
}

// causeOf says why a request failed: our own time limit, if that was it.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}
