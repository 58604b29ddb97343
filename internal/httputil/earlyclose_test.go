package httputil_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/internal/httputil"
)

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A watchedBody records whether its request was canceled when it was closed.
type watchedBody struct {
	io.Reader
	ctx     context.Context
	closed  bool
	atClose error // the error of ctx when the body was closed
}

func (b *watchedBody) Close() error {
	b.closed = true
	b.atClose = b.ctx.Err()
	return nil
}

func TestTransport_CancelsBeforeItClosesEarly(t *testing.T) {
	for name, test := range map[string]struct {
		reader   io.Reader
		read     int // how many bytes to read before Close
		canceled bool
	}{
		"closed unread":        {strings.NewReader("a page"), 0, false},
		"closed in the middle": {strings.NewReader("a page"), 3, false},
		"read to its end":      {strings.NewReader("a page"), 100, true},
		"broken off, and then closed": {
			reader:   io.MultiReader(strings.NewReader("a"), failing{}),
			read:     100,
			canceled: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			body := &watchedBody{Reader: test.reader}
			tr := &httputil.CancelingTransport{Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				body.ctx = r.Context()
				return &http.Response{StatusCode: 200, Request: r, Body: body}, nil
			})}
			req, _ := http.NewRequest("GET", "http://example.com/", nil)
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Request != req {
				t.Error("the Request of the response is not the request that the caller sent")
			}
			io.CopyN(io.Discard, resp.Body, int64(test.read))
			if canceled := body.ctx.Err() != nil; canceled != test.canceled {
				t.Errorf("before Close, the request is canceled: %v, want %v", canceled, test.canceled)
			}
			if err := resp.Body.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if !body.closed || body.atClose != context.Canceled {
				t.Errorf("the body was closed: %v, when the context's error was %v; want true, %v",
					body.closed, body.atClose, context.Canceled)
			}
			if err := req.Context().Err(); err != nil {
				t.Errorf("after Close, the caller's context has the error %v, want none", err)
			}
		})
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken off") }

// The body of a 101 is the connection, which the caller may write to for as
// long as it likes. Without a body, a request ends immediately.
func TestTransport_ResponsesThatAreNotWrapped(t *testing.T) {
	connection := &watchedBody{Reader: strings.NewReader("")}
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		resp     *http.Response
		err      error
		canceled bool
	}{
		"101":      {&http.Response{StatusCode: 101, Body: connection}, nil, false},
		"NoBody":   {&http.Response{StatusCode: 304, Body: http.NoBody}, nil, true},
		"no body":  {&http.Response{StatusCode: 304}, nil, true},
		"an error": {nil, broken, true},
		"nothing":  {nil, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			var ctx context.Context
			var body io.ReadCloser
			if test.resp != nil {
				body = test.resp.Body
			}
			tr := &httputil.CancelingTransport{Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				ctx = r.Context()
				return test.resp, test.err
			})}
			req, _ := http.NewRequest("GET", "http://example.com/", nil)
			resp, err := tr.RoundTrip(req)
			if resp != test.resp || err != test.err {
				t.Errorf("RoundTrip = %v, %v, want %v, %v", resp, err, test.resp, test.err)
			}
			if resp != nil && resp.Body != body {
				t.Errorf("the body is a %T, want the one of the response, a %T", resp.Body, body)
			}
			if canceled := ctx.Err() != nil; canceled != test.canceled {
				t.Errorf("after RoundTrip, the request is canceled: %v, want %v", canceled, test.canceled)
			}
		})
	}
}
