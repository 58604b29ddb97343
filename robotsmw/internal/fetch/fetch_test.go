package fetch

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// ask asks a server that answers so.
func ask(answer *http.Response) (Answer, error) {
	c := Client{Base: roundTripperFunc(func(*http.Request) (*http.Response, error) { return answer, nil }), Timeout: time.Minute}
	return c.Ask(Question{URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/robots.txt"}})
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// More codings than anybody uses are refused.
func TestManyCodings(t *testing.T) {
	for codings, good := range map[string]bool{"identity, identity, identity": true, "identity, identity, identity, identity": false} {
		ans, err := ask(&http.Response{StatusCode: 200, Header: http.Header{"Content-Encoding": {codings}}, Body: io.NopCloser(strings.NewReader("x"))})
		if (err == nil) != good || good && string(ans.Body) != "x" {
			t.Errorf("%s: %q, %v", codings, ans.Body, err)
		}
	}
}

// A short body is read to its end, so that the connection serves the pages too.
func TestShortErrorBodiesAreDrained(t *testing.T) {
	body := &drained{Reader: strings.NewReader("not found")}
	if _, err := ask(&http.Response{StatusCode: 404, Header: http.Header{}, Body: body, ContentLength: 9}); err != nil {
		t.Error(err)
	}
	if !body.eof || !body.closed {
		t.Errorf("%+v", body)
	}
}

type drained struct {
	io.Reader
	eof, closed bool
}

func (d *drained) Read(p []byte) (int, error) {
	n, err := d.Reader.Read(p)
	d.eof = d.eof || err == io.EOF
	return n, err
}
func (d *drained) Close() error { d.closed = true; return nil }
