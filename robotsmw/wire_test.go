package robotsmw

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// The tests in this file examine the bytes that are sent: a request must be
// sent as it was checked.

// A wire is a server that keeps the lines of each request. It serves a
// robots.txt that disallows /private/, and an empty page for every other path.
type wire struct {
	net.Listener
	mu       sync.Mutex
	requests [][]string // the lines of each request for a page
	robots   []string   // the Host of each request for robots.txt
}

func newWire(t *testing.T) (*wire, *http.Transport) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(conn)
		}
	}()
	// Every host name leads to this server.
	base := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}}
	t.Cleanup(func() {
		l.Close()
		base.CloseIdleConnections()
	})
	return w, base
}

func (w *wire) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		var lines []string
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if line = strings.TrimSpace(line); line == "" {
				break
			}
			lines = append(lines, line)
		}
		body := ""
		w.mu.Lock()
		if strings.HasPrefix(lines[0], "GET /robots.txt ") {
			body = someRules
			w.robots = append(w.robots, header(lines, "host")...)
		} else {
			w.requests = append(w.requests, lines)
		}
		w.mu.Unlock()
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
}

// sent returns the lines of the last request for a page, or nil if there was
// none.
func (w *wire) sent() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.requests) == 0 {
		return nil
	}
	return w.requests[len(w.requests)-1]
}

// header returns the values of all header lines with this name. Letter case
// does not matter.
func header(lines []string, name string) (values []string) {
	for _, l := range lines[1:] {
		if n, v, _ := strings.Cut(l, ": "); strings.EqualFold(n, name) {
			values = append(values, v)
		}
	}
	return values
}

// The requests for a page and for its robots.txt have the same Host, however
// the URL spells it. Therefore the rules of one virtual host never decide about
// another.
func TestPageAndRobotsTxtAreAskedForWithOneHost(t *testing.T) {
	for _, tt := range []struct{ url, host, want string }{
		{"http://a.test/", "", "a.test"},
		{"http://A.Test/", "", "a.test"},
		{"http://a.test./", "", "a.test"},
		{"http://a.test:80/", "", "a.test"},
		{"http://a.test:080/", "", "a.test"},
		{"http://a.test:8080/", "", "a.test:8080"},
		{"http://ａ.test/", "", "a.test"},
		{"http://a\u00ad.test/", "", "a.test"},
		{"http://bücher.test/", "", "xn--bcher-kva.test"},
		{"http://foo_bar.test/", "", "foo_bar.test"},
		{"http://[0:0:0:0:0:0:0:1]/", "", "[::1]"},
		{"http://[::ffff:c000:201]/", "", "[::ffff:192.0.2.1]"},
		{"http://[fe80::1%25eth0]/", "", "[fe80::1]"}, // net/http does not send the zone
		{"http://a.test/", "b.test", "b.test"},
		{"http://a.test/", "ｂ.test:80", "b.test"},
		{"http://a.test/", "A.TEST", "a.test"},
	} {
		w, base := newWire(t)
		tr := newTestTransport(t, base)
		req, err := http.NewRequestWithContext(t.Context(), "GET", tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.host != "" {
			req.Host = tt.host
		}
		before, beforeURL := *req, *req.URL
		resp, err := tr.RoundTrip(req)
		if err != nil {
			t.Errorf("%s: got error %v, want none", tt.url, err)
			continue
		}
		resp.Body.Close()
		if page := header(w.sent(), "host"); !slices.Equal(page, []string{tt.want}) || !slices.Equal(w.robots, page) {
			t.Errorf("%s, Host %q: the page was requested with the Host %q, its robots.txt with %q; want %q", tt.url,
				tt.host, page, w.robots, tt.want)
		}
		if req.Host != before.Host || *req.URL != beforeURL || len(req.Header) != 0 {
			t.Errorf("%s: RoundTrip changed the request, want it unchanged", tt.url)
		}
	}
}

func TestSpellingsOfAnOriginShareItsRobotsTxt(t *testing.T) {
	w, base := newWire(t)
	c := newTestTransport(t, base).Checker()
	for _, u := range []string{"http://a.test/", "http://A.TEST/", "http://a.test:/", "http://a.test:80/", "http://a.test:080/", "http://a.test./", "http://ａ.test/", "http://a\u00ad.test/"} {
		decide(t, c, u)
	}
	if len(w.robots) != 1 {
		t.Errorf("robots.txt was requested with the Hosts %q, want one request", w.robots)
	}
	if n := c.Stats().Origins; n != 1 {
		t.Errorf("%d origins are in memory, want 1", n)
	}
}

// The Transport sends exactly one User-Agent, even if the caller writes the
// field's name in another letter case. The value is the request's own, or the
// Transport's if the request has none.
func TestOneUserAgentIsSent(t *testing.T) {
	const foreign, ours = "OtherBot/1.0", "ExampleBot/9"
	for _, tt := range []struct {
		name   string
		header http.Header
		want   string // "" means OtherBot/1.0, which is not sent if StrictIdentity is set
	}{
		{"none", nil, testAgent},
		{"its own", http.Header{"User-Agent": {ours}}, ours},
		{"its own in lower case", http.Header{"user-agent": {ours}}, ours},
		{"its own in capitals", http.Header{"USER-AGENT": {ours}}, ours},
		{"a foreign one", http.Header{"User-Agent": {foreign}}, ""},
		{"a foreign one in lower case", http.Header{"user-agent": {foreign}}, ""},
		{"a foreign one in other cases", http.Header{"uSeR-aGeNt": {foreign}, "Accept": {"*/*"}}, ""},
		{"a foreign one beside its own", http.Header{"User-Agent": {ours}, "user-agent": {foreign}}, ours},
		{"its own beside a foreign one", http.Header{"User-Agent": {foreign}, "user-agent": {ours}}, ""},
		{"two lines", http.Header{"User-Agent": {ours, foreign}}, ours},
		{"two lines in lower case", http.Header{"user-agent": {ours, foreign}}, ours},
		{"an empty one and another", http.Header{"User-Agent": {""}, "user-agent": {foreign}}, ""},
		{"an empty one in lower case", http.Header{"user-agent": {""}}, testAgent},
		{"no line", http.Header{"user-agent": {}, "User-Agent": nil}, testAgent},
	} {
		for _, strict := range []bool{false, true} {
			w, base := newWire(t)
			tr := newTestTransport(t, base, func(o *Options) { o.StrictIdentity = strict })
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://a.test/page", nil)
			req.Header = tt.header
			if req.Header == nil {
				req.Header = http.Header{}
			}
			before := req.Header.Clone()
			resp, err := tr.RoundTrip(req)
			want := tt.want
			switch {
			case want == "" && strict:
				if ie, ok := errors.AsType[*IdentityError](err); !ok || ie.userAgent != foreign || w.sent() != nil {
					t.Errorf("%s, strict: got error %v and sent %q, want an IdentityError and no request", tt.name,
						err, w.sent())
				}
				continue
			case want == "":
				want = foreign
			}
			if err != nil {
				t.Errorf("%s: got error %v, want none", tt.name, err)
				continue
			}
			resp.Body.Close()
			if got := header(w.sent(), "user-agent"); !slices.Equal(got, []string{want}) {
				t.Errorf("%s, strict %v: the User-Agents %q were sent, want only %q", tt.name, strict, got, want)
			}
			if fmt.Sprint(req.Header) != fmt.Sprint(before) {
				t.Errorf("%s: RoundTrip changed the caller's header, want it unchanged", tt.name)
			}
		}
	}
}

// The Transport does not send a Host that is in Request.Header. net/http drops
// this field only if its name is written "Host".
func TestOneHostIsSent(t *testing.T) {
	w, base := newWire(t)
	req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://a.test/page", nil)
	req.Header["host"] = []string{"b.test"}
	req.Header["Host"] = []string{"c.test"}
	req.Header["X-Test"] = []string{"kept"}
	req.Header.Set("User-Agent", testAgent)
	resp, err := newTestTransport(t, base).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := header(w.sent(), "host"); !slices.Equal(got, []string{"a.test"}) || len(header(w.sent(), "x-test")) != 1 {
		t.Errorf("the request %q was sent, want the Host a.test and one X-Test", w.sent())
	}
}

// A request with a target in absolute form is checked by the rules of the host
// in the target, or it is not sent.
func TestTargetThatNamesAnotherOrigin(t *testing.T) {
	for _, tt := range []struct {
		name string
		u    url.URL
		host string
		want string // the request line that is sent; "" means an error, and nothing is sent
	}{
		{name: "a path", u: url.URL{Path: "/x"}, want: "GET /x HTTP/1.1"},
		{name: "an opaque path", u: url.URL{Opaque: "/x%2Fy"}, want: "GET /x%2Fy HTTP/1.1"},
		{name: "its own", u: url.URL{Opaque: "//a.test/x"}, want: "GET http://a.test/x HTTP/1.1"},
		{name: "its own in full", u: url.URL{Opaque: "http://A.test:80/x", RawQuery: "q"},
			want: "GET http://A.test:80/x?q HTTP/1.1"},
		{name: "its Host's", u: url.URL{Opaque: "//b.test/x"}, host: "b.test", want: "GET http://b.test/x HTTP/1.1"},
		{name: "a path without a slash", u: url.URL{Path: "x"}, want: "GET /x HTTP/1.1"},
		{name: "another", u: url.URL{Opaque: "//b.test/x"}},
		{name: "another in full", u: url.URL{Opaque: "http://b.test/x"}},
		{name: "another in the path", u: url.URL{Path: "http://b.test/x"}},
		{name: "another scheme", u: url.URL{Opaque: "https://a.test/x"}},
		{name: "the URL's, where the Host is another", u: url.URL{Opaque: "//a.test/x"}, host: "b.test"},
		{name: "its own, disallowed", u: url.URL{Opaque: "//a.test/private/x"}},
		{name: "its own, disallowed by another name", u: url.URL{Opaque: "//a.test/x/..//private/x"}},
		{name: "its own path, disallowed by another name", u: url.URL{Path: "../private/x"}},
		{name: "its Host's, disallowed", u: url.URL{Opaque: "//b.test/private/x"}, host: "b.test"},
	} {
		w, base := newWire(t)
		tr := newTestTransport(t, base)
		tt.u.Scheme, tt.u.Host = "http", "a.test"
		body := &closeCounter{Reader: strings.NewReader("")}
		req := (&http.Request{Method: "GET", URL: &tt.u, Host: tt.host, Header: http.Header{},
			Body: body}).WithContext(t.Context())
		resp, err := tr.RoundTrip(req)
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		line := ""
		if sent := w.sent(); sent != nil {
			line = sent[0]
		}
		if line != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: the request line %q was sent, with error %v; want %q, or an error for \"\"", tt.name, line, err, tt.want)
		}
		if err != nil && body.closed != 1 {
			t.Errorf("%s: the body was closed %d times, want once", tt.name, body.closed)
		}
	}
}

// A host that is longer than any DNS name is rejected immediately, whether it
// is that of a URL, a Host header or a redirect. If the Transport did not
// reject the host of a redirect, http.Client would convert it, which takes half
// a minute.
func TestHostLongerThanAnyNameIsRefusedAtOnce(t *testing.T) {
	var letters strings.Builder
	for i := range 40_000 { // converting these takes half a minute
		letters.WriteRune(rune(0x4e00 + i*7919%20_000))
	}
	huge := letters.String()
	var web robotstest.Internet
	web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/to" {
			w.Header().Set("Location", "http://"+huge+"/")
			w.WriteHeader(http.StatusFound)
		}
	}))
	tr := newTestTransport(t, &web)
	client := &http.Client{Transport: tr}
	decide(t, tr.Checker(), "http://a.example/")
	for name, host := range map[string]string{
		"120 KB": huge, "4 MB": strings.Repeat("a", 4<<20), "254 bytes": strings.Repeat("a.", 126) + "aa",
		"a label of 64":  strings.Repeat("a", 64) + ".test",
		"a port of 4 MB": "a.test:" + strings.Repeat("9", 4<<20),
	} {
		u := &url.URL{Scheme: "http", Host: host, Path: "/"}
		start := time.Now()
		_, errCheck := tr.Checker().Check(t.Context(), u)
		_, errHost := tr.RoundTrip((&http.Request{Method: "GET", URL: mustURL(t, "http://a.example/"), Host: host,
			Header: http.Header{}}).WithContext(t.Context()))
		_, errTrip := tr.RoundTrip((&http.Request{Method: "GET", URL: u,
			Header: http.Header{}}).WithContext(t.Context()))
		if took := time.Since(start); took > 10*time.Second { // a refusal takes some µs; without the length check, it would take two minutes
			t.Errorf("%s: rejected after %v, want at most 10s", name, took)
		}
		for what, err := range map[string]error{"Check": errCheck, "RoundTrip with that Host": errHost, "RoundTrip": errTrip} {
			if err == nil || len(err.Error()) > 2048 {
				t.Errorf("%s: %s: got error %.300v, want one of at most 2048 bytes", name, what, err)
			}
		}
	}
	start := time.Now()
	if resp, err := client.Get("http://a.example/to"); err == nil {
		t.Errorf("the redirect to a long host returned a response with status %s, want an error", resp.Status)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("the redirect was rejected after %v, want at most 10s", took)
	}
	if n := tr.Checker().Stats().Origins; n != 1 {
		t.Errorf("%d origins are in memory, want only a.example", n)
	}
}
