// Package fetch requests a robots.txt from a server: one Question and its
// decoded Answer. It detects responses of bot protection. Package load follows
// redirects and creates a record from the Answer.
//
// Package fetch limits what is read and kept of a response, because a server
// may be hostile.
package fetch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"time"

	"github.com/goodbots/courtesy/internal/httpstatus"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// maxErrorPageTime limits the time for reading the page of a 4xx. The page is
// read only to detect bot protection; apart from that, the status decides.
const maxErrorPageTime = 5 * time.Second

// A Client sends Questions to servers. It is safe for concurrent use.
type Client struct {
	Base      http.RoundTripper // cancels a request whose body is closed early
	UserAgent string
	Timeout   time.Duration // for each Question, without its wait for a slot
	Detect    Detect        // recognizes bot protection; nil means refusal.OfPage
	Logger    *slog.Logger  // logs panics in Base
}

// A timeoutError is the error of a Question that took longer than this
// duration.
type timeoutError time.Duration

func (e timeoutError) Error() string {
	return fmt.Sprintf("no whole robots.txt within %v", time.Duration(e))
}

// Is makes errors.Is return true with os.ErrDeadlineExceeded. It returns false
// for context.DeadlineExceeded, because no caller's context has ended.
func (e timeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// A Question is one request for a robots.txt.
type Question struct {
	Context context.Context // cancels the Question

	URL  *url.URL
	Host string // Host header; "" means the URL's own

	InTurn bool // the request waits in the queue of its host: another host redirects here

	// The validators of the known copy; "" means none.
	ETag         string
	LastModified string

	// Expect is called when the Question has to wait for a slot, and with nil
	// when it no longer waits.
	Expect func(*politeness.DelayError)

	// Holds, if not nil, is called when the Question begins, and whenever its
	// Answer takes more memory, with the number of bytes that the Answer takes
	// so far, including its header.
	Holds func(bytes int64)

	// Check, if not nil, is called before the request is sent if the Question
	// needs a slot. If Check returns an error, no request is sent, and Ask
	// returns the error. Check must not wait.
	Check func() error

	// Answered, if not nil, is called at the end with the response, the part of
	// the body that was read, and the error that Ask returns. The Body of the
	// response is empty. If there was no response, only its Request is set.
	Answered func(resp *http.Response, body []byte, err error)
}

// Ask sends one request and reads the necessary part of the response. The
// request contains no cookie, header or context value of a Checker's caller.
// Timeout is counted from the end of the wait for a slot, or from the start if
// there is no wait. If there is an error, the Answer contains what was read
// before it.
//
// The caller must call Answer.Release, even after an error. Until then, the
// response's body is open and the slot is occupied.
func (c *Client) Ask(q Question) (Answer, error) {
	ctx, cancel := context.WithCancelCause(q.Context)
	hasAnswer := false
	defer func() {
		if !hasAnswer { // Base or a callback has panicked, or has ended the goroutine
			cancel(nil)
		}
	}()
	timer := time.AfterFunc(c.Timeout, func() {
		cancel(timeoutError(c.Timeout))
	})
	defer timer.Stop()
	defer q.Expect(nil) // the Question no longer waits, even if it did not get a slot
	req := c.request(c.waitingContext(ctx, q, timer), q)
	ans := Answer{Conditional: q.ETag != "" || q.LastModified != ""}
	size := &answerSize{holds: q.Holds}
	size.set(0)
	resp, begin, err := c.send(req, timer, size)
	ans.release = func() {
		defer cancel(nil)
		if resp != nil {
			c.closeBody(req, resp)
		}
	}
	if resp != nil {
		ans.Status, ans.Header = resp.StatusCode, resp.Header
		if isSuccess(resp) {
			ans.Body = begin
		}
		if ans.Refusal = c.Detect.cause(resp, begin); ans.Refusal != "" {
			err = nil // it does not matter how the body of a refusal ends
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		switch {
		case err != nil:
			err = cause
		case q.Context.Err() != nil && ans.Refusal == "":
			err = cause // the body may have been cut before an indicator of bot protection
		}
	}
	if q.Answered != nil {
		answered := http.Response{}
		if resp != nil {
			answered = *resp
			answered.Body = http.NoBody
		}
		answered.Request = req
		q.Answered(&answered, begin, err)
	}
	hasAnswer = true
	return ans, err
}

// waitingContext returns the context with which a Question waits for its slot.
// The timer is stopped while the Question waits.
func (c *Client) waitingContext(ctx context.Context, q Question, timer *time.Timer) context.Context {
	trace := &politeness.Trace{
		Queued: func(until time.Time, why politeness.Reason) {
			timer.Stop()
			host, _ := politeness.HostKey(ctx, q.URL)
			q.Expect(&politeness.DelayError{Host: host, Until: until, Reason: why})
		},
		Granted: func(time.Time) {
			q.Expect(nil)
			timer.Reset(c.Timeout)
		},
	}
	delay := politeness.Exempt
	if q.InTurn {
		delay = politeness.ExemptInTurn
	}
	waiting := politeness.WithTrace(politeness.WithCrawlDelay(ctx, delay), trace)
	if q.Check == nil {
		return waiting
	}
	return politeness.WithCheck(waiting, func(context.Context) error { return q.Check() })
}

func (c *Client) request(ctx context.Context, q Question) *http.Request {
	req := &http.Request{
		Method:     http.MethodGet,
		URL:        q.URL,
		Host:       q.Host,
		Proto:      "HTTP/1.1",
		ProtoMajor: 1,
		ProtoMinor: 1,
		Header: http.Header{
			"User-Agent": {c.UserAgent},
			"Accept":     {"text/plain, */*;q=0.5"},
			// http.Transport would add this field itself, but would then also
			// decode the body, without a limit on the time that decoding takes.
			"Accept-Encoding": {"gzip"},
		},
	}
	if q.ETag != "" {
		req.Header.Set("If-None-Match", q.ETag)
	}
	if q.LastModified != "" {
		req.Header.Set("If-Modified-Since", q.LastModified)
	}
	return req.WithContext(ctx)
}

// send sends a request and reads the necessary part of the response's body,
// which is decoded if the status is 2xx, or 4xx except 429. The body remains
// open. A panic in Base or in the body is logged and returned as an error.
func (c *Client) send(
	req *http.Request, timer *time.Timer, size *answerSize,
) (resp *http.Response, begin []byte, err error) {
	hasEnded := false
	defer func() {
		if !hasEnded && resp != nil { // the body has panicked, or has ended the goroutine
			c.closeBody(req, resp)
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			c.logPanic(req, p)
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	resp, err = c.Base.RoundTrip(req)
	if err != nil {
		return nil, nil, err
	}
	if resp == nil {
		return nil, nil, errors.New("the transport returned neither a response nor an error")
	}
	if resp.Body == nil {
		resp.Body = http.NoBody
	}
	size.header = headerSize(resp.Header)
	size.set(0)
	switch status := resp.StatusCode; {
	case isSuccess(resp):
		// With one byte more than MaxSize, the parser notices a longer file.
		if begin, err = read(req.Context(), resp, robotstxt.MaxSize+1, size); err != nil {
			err = fmt.Errorf("reading robots.txt: %w", err)
		}
	case status >= 400 && status <= 499 && !httpstatus.IsThrottled(status):
		timer.Reset(min(c.Timeout, maxErrorPageTime))
		begin, _ = read(
			req.Context(),
			resp,
			refusal.Window,
			size,
		) // after an error, the bytes before it are enough
	case status >= 200 && resp.ContentLength >= 0 && resp.ContentLength <= 2<<10:
		// If a short body is read to its end, the connection can be reused. A
		// 1xx is not read: the body of a 101 is the connection itself, which
		// has no end and ignores the context.
		begin, _ = io.ReadAll(io.LimitReader(resp.Body, resp.ContentLength+1))
	}
	hasEnded = true
	return resp, begin, err
}

// closeBody closes the body of a response. A panic of the body is logged.
func (c *Client) closeBody(req *http.Request, resp *http.Response) {
	defer func() {
		if p := recover(); p != nil {
			c.logPanic(req, p)
		}
	}()
	resp.Body.Close()
}

func (c *Client) logPanic(req *http.Request, p any) {
	c.Logger.Error("robotsmw: panic while fetching robots.txt",
		"url", req.URL.String(), "panic", p, "stack", string(debug.Stack()))
}

// read returns the decoded body, truncated to the given number of bytes. If
// there is an error, it returns what was read before it.
func read(ctx context.Context, resp *http.Response, most int, size *answerSize) ([]byte, error) {
	body, err := decodedBody(ctx, resp)
	if err != nil {
		return nil, err
	}
	if _, isPlain := body.(*bufio.Reader); !isPlain {
		size.header += decoderSize
	}
	var text []byte
	for len(text) < most && err == nil {
		if len(text) == cap(text) {
			more := min(max(2*cap(text), 4<<10), most)
			size.set(more)
			text = append(make([]byte, 0, more), text...)
		}
		var n int
		n, err = body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
	}
	if err == io.EOF {
		err = nil
	}
	return text, err
}

// decoderSize is roughly how many bytes of memory a decoder takes.
const decoderSize = 48 << 10

// An answerSize reports how much memory an Answer takes.
type answerSize struct {
	header int // bytes of the header, and of a decoder
	holds  func(bytes int64)
}

// set reports the number of bytes that the body takes now.
func (s *answerSize) set(body int) {
	if s.holds != nil {
		s.holds(int64(s.header + body))
	}
}

// headerSize returns roughly how many bytes of memory a header takes.
func headerSize(h http.Header) int {
	size := 0
	for name, values := range h {
		size += 64 + len(name)
		for _, v := range values {
			size += 16 + len(v)
		}
	}
	return size
}
