package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// ask returns the result of Client.Ask for a server with this response.
func ask(answer *http.Response) (Answer, error) {
	c := Client{
		Base:    roundTripperFunc(func(*http.Request) (*http.Response, error) { return answer, nil }),
		Timeout: time.Minute,
	}
	ans, err := c.Ask(Question{
		Context: context.Background(),
		Expect:  func(*politeness.DelayError) {},
		URL:     &url.URL{Scheme: "http", Host: "a.example", Path: "/robots.txt"},
	})
	ans.Release()
	return ans, err
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// One content coding is decoded. More than one is an error, however the header
// lists them.
func TestManyCodings(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, "x")
	z.Close()
	for _, tt := range []struct {
		lines []string
		good  bool
	}{
		{[]string{"gzip"}, true},
		{[]string{" GZIP , identity,"}, true},
		{[]string{"identity", "x-gzip"}, true},
		{[]string{"gzip, gzip"}, false},
		{[]string{"gzip", "gzip"}, false},
		{[]string{"gzip, deflate"}, false},
		{[]string{"br, gzip"}, false},
		{[]string{"br"}, false},
	} {
		ans, err := ask(&http.Response{
			StatusCode: 200,
			Header:     http.Header{"Content-Encoding": tt.lines},
			Body:       io.NopCloser(bytes.NewReader(packed.Bytes())),
		})
		if (err == nil) != tt.good || tt.good && string(ans.Body) != "x" {
			t.Errorf("with the codings %q: got %q, %v, want the body %q: %t", tt.lines, ans.Body, err, "x", tt.good)
		}
	}
	for _, codings := range []string{"identity, identity, identity", "", ",,"} {
		ans, err := ask(&http.Response{
			StatusCode: 200,
			Header:     http.Header{"Content-Encoding": {codings}},
			Body:       io.NopCloser(strings.NewReader("x")),
		})
		if err != nil || string(ans.Body) != "x" {
			t.Errorf("with the codings %q: got %q, %v, want the body %q", codings, ans.Body, err, "x")
		}
	}
}

// TestNamesThatAreNoCodings checks that a name that is not a coding is ignored
// if the body is plain text. A body in an unknown coding is not read as text.
func TestNamesThatAreNoCodings(t *testing.T) {
	const rules = "User-agent: *\r\n\tDisallow: /\u00e4\f\n"
	for _, tt := range []struct {
		coding, body string
		good         bool
	}{
		{"utf-8", rules, true},
		{"none", rules, true},
		{"binary", rules, true},
		{"aws-chunked", rules, true},
		{"UTF-8", rules, true},
		{"utf-8", "User-agent: *\x00", false},
		{"utf-8", "\x1f\x8b\x08", false},
		{"lzma", "]\x00\x00", false},
		{"none", "x\x7f", false},
		{"utf-8, none", rules, false},
		{"br", rules, false},
		{"zstd", rules, false},
		{"compress", rules, false},
		{"dcb", rules, false},
		{"dcz", rules, false},
	} {
		ans, err := ask(&http.Response{
			StatusCode: 200,
			Header:     http.Header{"Content-Encoding": {tt.coding}},
			Body:       io.NopCloser(strings.NewReader(tt.body)),
		})
		if (err == nil) != tt.good || tt.good && string(ans.Body) != tt.body {
			t.Errorf("with the coding %q: got %q, %v, want the body %q: %t", tt.coding, ans.Body, err, tt.body, tt.good)
		}
	}
}

// A body whose Content-Encoding is wrong is read in its actual coding.
func TestBodiesWithAWrongLabel(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /\u00e4\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, rules)
	z.Close()
	const inUTF16 = "\xff\xfeU\x00s\x00"
	const marked = "\ufeff" + rules
	for _, tt := range []struct {
		name, coding, body string
		want               string // "" means an error
	}{
		{"plain text under gzip", "gzip", rules, rules},
		{"under x-gzip", "x-gzip", rules, rules},
		{"one byte under gzip", "gzip", "#", "#"},
		{"a byte order mark under gzip", "gzip", marked, marked},
		{"a page under gzip", "gzip", "<html>", "<html>"},
		{"binary data under gzip", "gzip", "\x00\x01", ""},
		{"another coding under gzip", "gzip", "\x78\x9c\x03\x00", ""},
		{"gzip broken off", "gzip", packed.String()[:20], ""},
		{"gzip", "gzip", packed.String(), rules},
		{"gzip and a newline", "gzip", packed.String() + "\n", rules},
		{"gzip and CRLF", "gzip", packed.String() + "\r\n", rules},
		{"gzip and zeros", "gzip", packed.String() + strings.Repeat("\x00", 512), rules},
		{"gzip and text", "gzip", packed.String() + "<!-- cached -->", rules},
		{
			name:   "two members and a newline",
			coding: "gzip",
			body:   packed.String() + packed.String() + "\n",
			want:   rules + rules,
		},
		{"gzip without a label", "", packed.String(), rules},
		{"gzip under identity", "identity", packed.String(), rules},
		{"gzip without a label, and a newline", "", packed.String() + "\n", rules},
		{"gzip without a label, broken off", "", packed.String()[:20], ""},
		{"the magic of gzip alone", "", "\x1f\x8b", ""},
		{"the first byte of gzip", "", "\x1f", "\x1f"},
		{"UTF-16 without a coding", "", inUTF16, inUTF16},
		{"UTF-16 in gzip", "gzip", compressText(inUTF16), inUTF16},
		{"UTF-16 without a byte order mark", "", "U\x00s\x00", "U\x00s\x00"},
		{"an empty body", "", "", ""},
	} {
		header := make(http.Header)
		if tt.coding != "" {
			header.Set("Content-Encoding", tt.coding)
		}
		ans, err := ask(&http.Response{
			StatusCode: 200,
			Header:     header,
			Body:       io.NopCloser(strings.NewReader(tt.body)),
		})
		isBad := tt.want == "" && tt.body != ""
		if (err != nil) != isBad || !isBad && string(ans.Body) != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, ans.Body, err, tt.want)
		}
	}
}

func compressText(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

// TestEmptyBodiesInACoding checks that a response without a body is an empty
// file, whatever coding the header contains.
func TestEmptyBodiesInACoding(t *testing.T) {
	for _, coding := range []string{"gzip", "deflate", "br", "utf-8"} {
		for _, status := range []int{200, 204} {
			ans, err := ask(&http.Response{
				StatusCode: status,
				Header:     http.Header{"Content-Encoding": {coding}},
				Body:       http.NoBody,
			})
			if err != nil || len(ans.Body) > 0 {
				t.Errorf("status %d with the coding %q: got %q, %v, want an empty body", status, coding, ans.Body, err)
			}
		}
	}
}

// At most 4 MiB of a coded body are read, however few bytes they decode to. No
// more bytes are read after the time limit.
func TestCodedBodiesEnd(t *testing.T) {
	var member bytes.Buffer
	gzip.NewWriter(&member).Close()
	for _, tt := range []struct {
		coding      string
		begin, more []byte // begin is sent once, more repeatedly
	}{
		{"gzip", nil, member.Bytes()},                    // a gzip of empty members
		{"deflate", nil, []byte("\x00\x00\x00\xff\xff")}, // bare deflate data of empty blocks
		{"deflate", []byte("\x78\x9c"), []byte("\x00\x00\x00\xff\xff")},
	} {
		t.Run(fmt.Sprintf("%s of %q", tt.coding, tt.more), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, each := range []time.Duration{0, 100 * time.Millisecond} {
					body := &endless{next: tt.begin, more: tt.more, each: each}
					start := time.Now()
					ans, err := ask(&http.Response{StatusCode: 200, Header: http.Header{"Content-Encoding": {tt.coding}}, Body: body})
					if err == nil {
						t.Errorf("got a body of %d bytes and no error, want an error", len(ans.Body))
					}
					if each == 0 && body.read > 4<<20+1 {
						t.Errorf("%d bytes were read (error %v), want at most 4 MiB and a byte", body.read, err)
					}
					if took := time.Since(start); each > 0 && (took < time.Minute || took > time.Minute+each) {
						t.Errorf("reading took %v (error %v), want a minute", took, err)
					}
				}
			})
		})
	}
}

// An endless body repeats more forever, even after the context of its request
// has ended.
type endless struct {
	next, more []byte
	each       time.Duration // how long each Read takes
	read       int
}

func (e *endless) Read(p []byte) (n int, err error) {
	time.Sleep(e.each)
	p = p[:min(len(p), 4<<10)]
	for n < len(p) {
		if len(e.next) == 0 {
			e.next = e.more
		}
		copied := copy(p[n:], e.next)
		n, e.next = n+copied, e.next[copied:]
	}
	e.read += n
	return n, nil
}

func (e *endless) Close() error { return nil }

// A short body is read to its end, so that the connection can be reused.
func TestShortErrorBodiesAreDrained(t *testing.T) {
	body := &drained{Reader: strings.NewReader("not found")}
	if _, err := ask(&http.Response{StatusCode: 404, Header: http.Header{}, Body: body, ContentLength: 9}); err != nil {
		t.Error(err)
	}
	if !body.eof || !body.closed {
		t.Errorf("body read to the end: %t, closed: %t; want both", body.eof, body.closed)
	}
}

// The body of a 101 is the connection itself. Reading from it could block even
// after the context has ended, so the body is not read.
func TestConnectionSwitchedToAnotherProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, server := net.Pipe()
		defer server.Close()
		closed := &drained{Reader: conn}
		start := time.Now()
		time.AfterFunc(time.Hour, func() { server.Close() })
		ans, err := ask(&http.Response{StatusCode: 101, Header: http.Header{"Upgrade": {"x"}}, Body: closed})
		took := time.Since(start)
		isAnswered := err == nil && ans.Status == 101
		if !isAnswered || took > 0 || !closed.closed {
			t.Errorf("got status %v and error %v after %v, closed: %t; want 101 immediately, and closed",
				ans.Status, err, took, closed.closed)
		}
	})
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
