package robotsmw

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// The tests in this file check the contract of http.RoundTripper. Most use real
// sockets and a client that obeys robots.txt, delays requests and reads page
// directives.

func newLoopbackClient(t *testing.T, server *httptest.Server) *http.Client {
	t.Helper()
	base := server.Client().Transport.(*http.Transport).Clone()
	base.DisableCompression = true
	client, err := NewClient(Options{UserAgent: testAgent, Base: base,
		Limiter: &politeness.Limiter{Delay: -1, Concurrency: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		server.Close()
	})
	return client
}

func TestUpgradedConnectionWorks(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			return
		}
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		line, _ := rw.ReadString('\n')
		fmt.Fprintf(conn, "echo %s", line)
	}))
	client := newLoopbackClient(t, server)
	req, _ := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/socket", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		t.Fatalf("the body of a 101 is a %T, want an io.ReadWriteCloser", resp.Body)
	}
	fmt.Fprintln(conn, "hello")
	if line, err := bufio.NewReader(conn).ReadString('\n'); line != "echo hello\n" {
		t.Errorf("read %q (error %v), want \"echo hello\\n\"", line, err)
	}
	conn.Close()
	// conn.Close must have freed the host's slot, which this request needs.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, _ = http.NewRequestWithContext(ctx, "GET", server.URL+"/robots.txt", nil)
	resp, err = client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

func TestHTTP2(t *testing.T) {
	server := httptest.NewUnstartedServer(robots(someRules))
	server.EnableHTTP2 = true
	server.StartTLS()
	client := newLoopbackClient(t, server)
	resp, err := client.Get(server.URL + "/page")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.ProtoMajor != 2 {
		t.Errorf("the response's protocol is %s, want HTTP/2", resp.Proto)
	}
	if _, err := client.Get(server.URL + "/private/"); !errors.Is(err, ErrDisallowed) {
		t.Errorf("the request for /private/ returned error %v, want ErrDisallowed", err)
	}
}

func TestTrailersContentLengthAndDoubleClose(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/trailer":
			w.Header().Set("Trailer", "Checksum")
			io.WriteString(w, "<p>a page")
			w.Header().Set("Checksum", "42")
		case "/length":
			w.Header().Set("Content-Type", "text/html")
			w.Header().Set("Content-Length", "9")
			io.WriteString(w, "<p>a page")
		}
	}))
	client := newLoopbackClient(t, server)
	resp, err := client.Get(server.URL + "/trailer")
	if err != nil {
		t.Fatal(err)
	}
	if _, announced := resp.Trailer["Checksum"]; !announced {
		t.Error("resp.Trailer does not contain Checksum, want it before the body is read, because the server announces it")
	}
	io.Copy(io.Discard, resp.Body)
	for range 2 {
		if err := resp.Body.Close(); err != nil {
			t.Errorf("Close: got error %v, want none", err)
		}
	}
	if got := resp.Trailer.Get("Checksum"); got != "42" {
		t.Errorf("the trailer is %q, want \"42\"", got)
	}
	resp, err = client.Get(server.URL + "/length")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.ContentLength != 9 {
		t.Errorf("ContentLength is %d, want 9", resp.ContentLength)
	}
}

// If RoundTrip returns an error, for whatever reason, the request is unchanged
// and its body is closed.
func TestRefusedRequestIsLeftAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robots(someRules))
		web.Handle("down.example", status(503))
		web.Handle("slow.example", robotstest.Hang{})
		tr := newTestTransport(t, &web, func(o *Options) { o.StrictIdentity = true })
		for name, tt := range map[string]struct{ url, agent string }{
			"disallowed":  {"http://a.example/private/", ""},
			"unreachable": {"http://down.example/", ""},
			"timed out":   {"http://slow.example/", ""},
			"a stranger":  {"http://a.example/", "OtherBot/1.0"},
			"no host":     {"http:///x", ""},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			body := &closeCounter{Reader: strings.NewReader("a form")}
			req, _ := http.NewRequestWithContext(ctx, "POST", tt.url, body)
			if tt.agent != "" {
				req.Header.Set("User-Agent", tt.agent)
			}
			before := *req
			header := req.Header.Clone()
			resp, err := tr.RoundTrip(req)
			cancel()
			if err == nil || resp != nil {
				t.Errorf("%s: got response %v and error %v, want only an error", name, resp, err)
			}
			if body.closed != 1 {
				t.Errorf("%s: the body was closed %d times, want once", name, body.closed)
			}
			if req.URL != before.URL || req.Host != before.Host || fmt.Sprint(req.Header) != fmt.Sprint(header) {
				t.Errorf("%s: RoundTrip changed the request, want it unchanged", name)
			}
		}
		time.Sleep(time.Minute)
	})
}

// RoundTrip returns the *http.Response that Base has returned, not a copy.
func TestResponseIsHandedOn(t *testing.T) {
	given := &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}
	base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/robots.txt" {
			return &http.Response{StatusCode: 404, Header: http.Header{}, Body: http.NoBody}, nil
		}
		return given, nil
	})
	req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://a.example/", nil)
	got, err := newTestTransport(t, base).RoundTrip(req)
	if err != nil || got != given {
		t.Errorf("RoundTrip returned the response %p and error %v, want the response %p of Base and no error", got, err, given)
	}
}

// If robots.txt redirects to a private address, to a local file or to another
// scheme, the client does not follow the redirect.
func TestRedirectOfRobotsTxtToAPrivateAddress(t *testing.T) {
	loopbackAlone := func(a netip.Addr) error {
		if a.IsLoopback() {
			return nil
		}
		return PublicOnly(a)
	}
	for to, want := range map[string]Reason{
		"http://169.254.169.254/latest/meta-data/": Unreachable,
		"http://[fe80::1]/":                        Unreachable,
		"file:///etc/passwd":                       Unavailable,
		"gopher://127.0.0.1:70/":                   Unavailable,
	} {
		server := httptest.NewServer(http.RedirectHandler(to, http.StatusFound))
		tr := newTestTransport(t, nil, func(o *Options) {
			o.RefuseAddress = loopbackAlone
			o.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil }
		})
		d := decide(t, tr.Checker(), server.URL+"/")
		if d.Reason != want || want == Unreachable && !strings.Contains(d.Cause, "is not a public address") {
			t.Errorf("%s: got %v; want the reason %s", to, d, want)
		}
		tr.CloseIdleConnections()
		server.Close()
	}
}

// NewTransport returns an error if Options.Wrap is set, because its result is
// the robots transport itself.
func TestWrap_OfATransport(t *testing.T) {
	_, err := NewTransport(Options{UserAgent: "TestBot/1.0",
		Wrap: func(rt http.RoundTripper) http.RoundTripper { return rt }})
	if err == nil || !strings.Contains(err.Error(), "wrap the result of NewTransport") {
		t.Errorf("NewTransport returned error %v, want one that contains \"wrap the result of NewTransport\"", err)
	}
}
